// Implementation of opencl_driver.h over the C interface, every function looked up at run time.
#include "gpu/opencl_driver.h"

#include <cstdlib>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "gpu/dynamic_library.h"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#define FW_HAS_OPENCL_HEADERS 1
#endif

namespace fw::gpu {
namespace {
constexpr const char* noDevice = "no OpenCL device here: install a driver such as pocl-opencl-icd";
}

#ifdef FW_HAS_OPENCL_HEADERS

#define FW_OPENCL_FUNCTIONS(X)                                                                                                                   \
    X(clGetPlatformIDs) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clCreateCommandQueue) X(clCreateBuffer) X(clReleaseMemObject)      \
    X(clCreateProgramWithSource) X(clBuildProgram) X(clGetProgramBuildInfo) X(clReleaseProgram) X(clCreateKernel) X(clReleaseKernel)                 \
    X(clSetKernelArg) X(clEnqueueNDRangeKernel) X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject) X(clFinish)

// The 1.2 functions serve every driver; headers call one of them deprecated.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct OpenClApi {
#define X(name) decltype(&::name) name = nullptr;
    FW_OPENCL_FUNCTIONS(X)
#undef X
};
#pragma GCC diagnostic pop

namespace {

Result<OpenClApi> loadApi() {
    auto library = DynamicLibrary::open({"libOpenCL.so.1", "libOpenCL.so"});
    if (!library.ok()) return Error{ErrorKind::Device, noDevice, {}, {library.error().message}};
    OpenClApi api;
#define X(name) FW_TRY_VOID(library->get(api.name, #name));
    FW_OPENCL_FUNCTIONS(X)
#undef X
    return api;
}

Error failed(const std::string& what, cl_int code) {
    static const std::map<cl_int, const char*> names = {
        {-1, "device not found"}, {-4, "memory could not be allocated"}, {-5, "out of resources"}, {-6, "out of host memory"}, {-11, "the program does not compile"}, {-30, "invalid value"},
        {-38, "invalid buffer"}, {-45, "the program is not built"}, {-46, "no kernel of that name"}, {-48, "invalid kernel"}, {-49, "invalid argument index"}, {-50, "invalid argument"},
        {-51, "wrong argument size"}, {-52, "an argument is not set"}, {-54, "this block size is not possible"}, {-61, "the buffer is too large"}, {-1001, "no driver is installed"}};
    auto it = names.find(code);
    return {ErrorKind::Device, fmt::format("OpenCL: {}: {} ({})", what, it == names.end() ? "failed" : it->second, code), {}, {}};
}

std::string deviceText(const OpenClApi& api, cl_device_id id, cl_device_info what) {
    size_t n = 0;
    if (api.clGetDeviceInfo(id, what, 0, nullptr, &n) != CL_SUCCESS || n == 0 || n > (1 << 20)) return {};
    std::string s(n, '\0');
    if (api.clGetDeviceInfo(id, what, n, s.data(), nullptr) != CL_SUCCESS) return {};
    while (!s.empty() && s.back() == '\0') s.pop_back();
    return s;
}
template <class T> T deviceNumber(const OpenClApi& api, cl_device_id id, cl_device_info what) {
    T v{};
    if (api.clGetDeviceInfo(id, what, sizeof v, &v, nullptr) != CL_SUCCESS) return T{};
    return v;
}

struct Candidate { cl_device_id id; std::string name; bool gpu; };

std::vector<Candidate> devices(const OpenClApi& api) {
    std::vector<Candidate> out;
    cl_uint count = 0;
    if (api.clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return out;
    std::vector<cl_platform_id> platforms(std::min<cl_uint>(count, 64));
    if (api.clGetPlatformIDs(cl_uint(platforms.size()), platforms.data(), nullptr) != CL_SUCCESS) return out;
    for (cl_platform_id p : platforms) {
        cl_uint n = 0;
        if (api.clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS || n == 0) continue;
        std::vector<cl_device_id> ids(std::min<cl_uint>(n, 64));
        if (api.clGetDeviceIDs(p, CL_DEVICE_TYPE_ALL, cl_uint(ids.size()), ids.data(), nullptr) != CL_SUCCESS) continue;
        for (cl_device_id id : ids) {
            if (!deviceNumber<cl_bool>(api, id, CL_DEVICE_AVAILABLE) || !deviceNumber<cl_bool>(api, id, CL_DEVICE_COMPILER_AVAILABLE)) continue;
            out.push_back({id, deviceText(api, id, CL_DEVICE_NAME), (deviceNumber<cl_device_type>(api, id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) != 0});
        }
    }
    return out;
}

cl_mem memoryOf(const OpenClBuffer& b) { return static_cast<cl_mem>(b.handle()); }

}  // namespace

OpenClBuffer::~OpenClBuffer() { api_->clReleaseMemObject(static_cast<cl_mem>(memory_)); }

class OpenClProgram {
public:
    OpenClProgram(const OpenClApi& api, cl_program program) : api_(api), program_(program) {}
    ~OpenClProgram() {
        for (auto& [name, kernel] : kernels_) api_.clReleaseKernel(kernel);
        api_.clReleaseProgram(program_);
    }
    OpenClProgram(const OpenClProgram&) = delete;
    OpenClProgram& operator=(const OpenClProgram&) = delete;
    Result<cl_kernel> kernel(const std::string& name) {
        auto it = kernels_.find(name);
        if (it != kernels_.end()) return it->second;
        cl_int code = 0;
        cl_kernel k = api_.clCreateKernel(program_, name.c_str(), &code);
        if (code != CL_SUCCESS) return failed("kernel " + name, code);
        kernels_[name] = k;
        return k;
    }

private:
    const OpenClApi& api_;
    cl_program program_;
    std::map<std::string, cl_kernel> kernels_;
};

Result<std::unique_ptr<OpenClDevice>> OpenClDevice::open() {
    static const Result<OpenClApi> api = loadApi();
    if (!api.ok()) return Error(api.error());
    std::vector<Candidate> found = devices(*api);
    const char* wanted = std::getenv("FW_OPENCL_DEVICE");
    const Candidate* best = nullptr;
    for (const Candidate& c : found) {
        if (wanted && *wanted) {
            if (!best && c.name.find(wanted) != std::string::npos) best = &c;
        } else if (!best || (c.gpu && !best->gpu)) best = &c;
    }
    if (!best) return Error{ErrorKind::Device, wanted && *wanted && !found.empty() ? fmt::format("no OpenCL device is called {} (FW_OPENCL_DEVICE); there is {}", wanted, found[0].name) : noDevice, {}, {}};
    std::unique_ptr<OpenClDevice> d(new OpenClDevice);
    d->api_ = &*api;
    d->device_ = best->id;
    d->name_ = best->name;
    d->localBytes_ = int64_t(deviceNumber<cl_ulong>(*api, best->id, CL_DEVICE_LOCAL_MEM_SIZE));
    d->largestBlock_ = int64_t(deviceNumber<size_t>(*api, best->id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
    d->hasDouble_ = deviceNumber<cl_device_fp_config>(*api, best->id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
    d->exactDivision_ = (deviceNumber<cl_device_fp_config>(*api, best->id, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    cl_int code = 0;
    cl_context context = api->clCreateContext(nullptr, 1, &best->id, nullptr, nullptr, &code);
    if (code != CL_SUCCESS) return failed("context on " + best->name, code);
    d->context_ = context;
    cl_command_queue queue = api->clCreateCommandQueue(context, best->id, 0, &code);
    if (code != CL_SUCCESS) return failed("queue on " + best->name, code);
    d->queue_ = queue;
    return d;
}

Result<OpenClDevice*> OpenClDevice::get() {
    // Never closed: drivers keep threads that outlive static destructors badly.
    static const auto* opened = new Result<std::unique_ptr<OpenClDevice>>(open());
    if (!opened->ok()) return Error(opened->error());
    return (*opened)->get();
}

Result<std::unique_ptr<OpenClBuffer>> OpenClDevice::mirror(void* host, size_t bytes, bool readOnly) {
    cl_int code = 0;
    cl_mem m = api_->clCreateBuffer(static_cast<cl_context>(context_), (readOnly ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE) | CL_MEM_USE_HOST_PTR, bytes, host, &code);
    if (code != CL_SUCCESS) return failed(fmt::format("a buffer of {} bytes on {}", bytes, name_), code);
    return std::make_unique<OpenClBuffer>(*api_, m, bytes);
}

Result<std::shared_ptr<OpenClProgram>> OpenClDevice::build(const std::string& source) {
    static std::mutex mutex;
    static auto* cache = new std::map<std::string, std::shared_ptr<OpenClProgram>>;
    std::lock_guard<std::mutex> lock(mutex);
    if (auto it = cache->find(source); it != cache->end()) return it->second;
    cl_int code = 0;
    const char* text = source.c_str();
    size_t length = source.size();
    cl_program p = api_->clCreateProgramWithSource(static_cast<cl_context>(context_), 1, &text, &length, &code);
    if (code != CL_SUCCESS) return failed("program", code);
    auto program = std::make_shared<OpenClProgram>(*api_, p);
    cl_device_id device = static_cast<cl_device_id>(device_);
    code = api_->clBuildProgram(p, 1, &device, exactDivision_ ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt" : "-cl-std=CL1.2", nullptr, nullptr);
    if (code != CL_SUCCESS) {
        Error e = failed("building kernels for " + name_, code);
        size_t n = 0;
        if (api_->clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &n) == CL_SUCCESS && n > 0 && n < (64u << 20)) {
            std::string log(n, '\0');
            api_->clGetProgramBuildInfo(p, device, CL_PROGRAM_BUILD_LOG, n, log.data(), nullptr);
            while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
            e.trail.push_back(std::move(log));
        }
        return e;
    }
    (*cache)[source] = program;
    return program;
}

Result<void> OpenClDevice::launch(OpenClProgram& program, const std::string& name, const std::vector<OpenClArgument>& arguments, int64_t blocks, int threads) {
    if (blocks <= 0) return {};
    if (threads > largestBlock_) return Error{ErrorKind::Device, fmt::format("kernel {} wants {} threads a block, {} has at most {}", name, threads, name_, largestBlock_), {}, {}};
    FW_TRY(kernel, program.kernel(name));
    for (size_t i = 0; i < arguments.size(); ++i) {
        const OpenClArgument& a = arguments[i];
        cl_mem memory = a.buffer ? memoryOf(*a.buffer) : nullptr;
        cl_long number = a.number;
        cl_int code = a.buffer ? api_->clSetKernelArg(kernel, cl_uint(i), sizeof memory, &memory) : api_->clSetKernelArg(kernel, cl_uint(i), sizeof number, &number);
        if (code != CL_SUCCESS) return failed(fmt::format("argument {} of kernel {}", i, name), code);
    }
    size_t local = size_t(threads), global = size_t(blocks) * local;
    cl_int code = api_->clEnqueueNDRangeKernel(static_cast<cl_command_queue>(queue_), kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return failed("kernel " + name, code);
    return {};
}

Result<void> OpenClDevice::take(const OpenClBuffer& b, bool toWrite) {
    cl_int code = 0;
    void* p = api_->clEnqueueMapBuffer(static_cast<cl_command_queue>(queue_), memoryOf(b), CL_TRUE, CL_MAP_READ | (toWrite ? CL_MAP_WRITE : 0), 0, b.bytes(), 0, nullptr, nullptr, &code);
    if (code != CL_SUCCESS) return failed("reading a buffer", code);
    taken_.push_back({&b, p});
    return {};
}

Result<void> OpenClDevice::giveBack(const OpenClBuffer& b) {
    for (size_t i = 0; i < taken_.size(); ++i) {
        if (taken_[i].buffer != &b) continue;
        cl_int code = api_->clEnqueueUnmapMemObject(static_cast<cl_command_queue>(queue_), memoryOf(b), taken_[i].address, 0, nullptr, nullptr);
        taken_.erase(taken_.begin() + std::ptrdiff_t(i));
        if (code != CL_SUCCESS) return failed("returning a buffer", code);
        return {};
    }
    return {};
}

Result<void> OpenClDevice::finish() {
    if (cl_int code = api_->clFinish(static_cast<cl_command_queue>(queue_)); code != CL_SUCCESS) return failed("waiting for " + name_, code);
    return {};
}

#else  // built without the OpenCL headers: everything else works

struct OpenClApi {};
class OpenClProgram {};
OpenClBuffer::~OpenClBuffer() = default;
namespace { Error notBuilt() { return {ErrorKind::Device, "this build has no OpenCL: install opencl-headers and build again", {}, {}}; } }
Result<OpenClDevice*> OpenClDevice::get() { return notBuilt(); }
Result<std::unique_ptr<OpenClBuffer>> OpenClDevice::mirror(void*, size_t, bool) { return notBuilt(); }
Result<std::shared_ptr<OpenClProgram>> OpenClDevice::build(const std::string&) { return notBuilt(); }
Result<void> OpenClDevice::launch(OpenClProgram&, const std::string&, const std::vector<OpenClArgument>&, int64_t, int) { return notBuilt(); }
Result<void> OpenClDevice::take(const OpenClBuffer&, bool) { return notBuilt(); }
Result<void> OpenClDevice::giveBack(const OpenClBuffer&) { return notBuilt(); }
Result<void> OpenClDevice::finish() { return notBuilt(); }

#endif

}  // namespace fw::gpu
