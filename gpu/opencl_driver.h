// An OpenCL device behind a few calls: buffers over host memory, programs cached by text, launches, errors with the build log. libOpenCL is loaded when
// first asked for. Facts about drivers, PoCL's above all, are in reference gpu.md section 7.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace fw::gpu {

struct OpenClApi;

/// Device memory that mirrors a piece of host memory (which must outlive it): no copy on devices that share memory with the host.
class OpenClBuffer {
public:
    OpenClBuffer(const OpenClApi& api, void* memory, size_t bytes) : api_(&api), memory_(memory), bytes_(bytes) {}
    ~OpenClBuffer();
    OpenClBuffer(const OpenClBuffer&) = delete;
    OpenClBuffer& operator=(const OpenClBuffer&) = delete;
    void* handle() const { return memory_; }
    size_t bytes() const { return bytes_; }

private:
    const OpenClApi* api_;
    void* memory_;
    size_t bytes_;
};

/// A built program; kernels are found by name and kept.
class OpenClProgram;

struct OpenClArgument {
    const OpenClBuffer* buffer = nullptr;  ///< or, when null,
    int64_t number = 0;
};

class OpenClDevice {
public:
    /// The device of this process: the first whose name contains FW_OPENCL_DEVICE when that is set, else the first GPU, else the first of any kind.
    /// Device error, with what to install, when there is none.
    static Result<OpenClDevice*> get();

    const std::string& name() const { return name_; }
    int64_t localBytes() const { return localBytes_; }
    int64_t largestBlock() const { return largestBlock_; }
    bool hasDouble() const { return hasDouble_; }

    Result<std::unique_ptr<OpenClBuffer>> mirror(void* host, size_t bytes, bool readOnly);
    /// From the cache when the same text was built before. The error holds the compiler's log.
    Result<std::shared_ptr<OpenClProgram>> build(const std::string& source);
    /// In order; returns before it is done. `blocks` may be 0: nothing happens.
    Result<void> launch(OpenClProgram&, const std::string& kernel, const std::vector<OpenClArgument>&, int64_t blocks, int threads);
    /// Lets the host read (and write) the mirrored memory after everything launched so far; give it back before the next launch.
    Result<void> take(const OpenClBuffer&, bool toWrite);
    Result<void> giveBack(const OpenClBuffer&);
    Result<void> finish();

private:
    OpenClDevice() = default;
    static Result<std::unique_ptr<OpenClDevice>> open();

    const OpenClApi* api_ = nullptr;
    std::string name_;
    int64_t localBytes_ = 0, largestBlock_ = 0;
    bool hasDouble_ = false, exactDivision_ = false;
    void* device_ = nullptr;
    void* context_ = nullptr;
    void* queue_ = nullptr;
    struct Taken { const OpenClBuffer* buffer; void* address; };
    std::vector<Taken> taken_;
};

}  // namespace fw::gpu
