// Implementation of dynamic_library.h by dlopen.
#include "gpu/dynamic_library.h"

#include <dlfcn.h>

namespace fw::gpu {

Result<DynamicLibrary> DynamicLibrary::open(const std::vector<std::string>& names) {
    std::string message = "no name given";
    for (const std::string& n : names) {
        dlerror();
        if (void* handle = dlopen(n.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            DynamicLibrary out;
            out.name_ = n;
            out.handle_ = handle;
            return out;
        }
        if (const char* e = dlerror()) message = e;
    }
    return Error{ErrorKind::Device, message, {}, {}};
}

void* DynamicLibrary::find(const char* symbol) const { return handle_ ? dlsym(handle_, symbol) : nullptr; }

}  // namespace fw::gpu
