// A shared library found at run time: gpu/ links no vendor library, so the programs start where none is installed.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"

namespace fw::gpu {

class DynamicLibrary {
public:
    /// Tries the names in order; the loader's message of the last one on failure. Stays loaded until the process ends: vendor libraries keep threads and exit handlers.
    static Result<DynamicLibrary> open(const std::vector<std::string>& names);
    /// Fills `function`; Device error naming the symbol when it is missing.
    template <class F> Result<void> get(F& function, const char* symbol) const {
        void* p = find(symbol);
        if (!p) return Error{ErrorKind::Device, name_ + " has no function " + symbol, {}, {}};
        function = reinterpret_cast<F>(p);
        return {};
    }
    const std::string& name() const { return name_; }

private:
    void* find(const char* symbol) const;
    std::string name_;
    void* handle_ = nullptr;
};

}  // namespace fw::gpu
