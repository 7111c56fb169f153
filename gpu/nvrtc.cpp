// Implementation of nvrtc.h. The eight functions used are declared here: there may be no toolkit where we are built.
#include "gpu/nvrtc.h"

#include <cstdlib>
#include <mutex>
#include <sstream>

#include <fmt/format.h>

#include "gpu/dynamic_library.h"

namespace fw::gpu {
namespace {

using Program = struct NvrtcProgram*;
using Status = int;  // 0 is success

struct Nvrtc {
    Status (*version)(int*, int*) = nullptr;
    Status (*create)(Program*, const char* source, const char* name, int headers, const char* const* texts, const char* const* names) = nullptr;
    Status (*compile)(Program, int count, const char* const* options) = nullptr;
    Status (*logSize)(Program, size_t*) = nullptr;
    Status (*log)(Program, char*) = nullptr;
    Status (*ptxSize)(Program, size_t*) = nullptr;
    Status (*ptx)(Program, char*) = nullptr;
    Status (*cubinSize)(Program, size_t*) = nullptr;
    Status (*cubin)(Program, char*) = nullptr;
    Status (*destroy)(Program*) = nullptr;
    const char* (*errorText)(Status) = nullptr;
};

Result<Nvrtc> load() {
    std::vector<std::string> names;
    for (const char* version : {"13", "12"}) names.push_back(fmt::format("libnvrtc.so.{}", version));
    names.push_back("libnvrtc.so");
    // The toolkit does not always tell the loader where it is.
    std::vector<std::string> roots;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* v = std::getenv(variable); v && *v) roots.push_back(v);
    roots.push_back("/usr/local/cuda");
    for (const std::string& root : roots)
        for (const char* folder : {"lib64", "lib"}) names.push_back(fmt::format("{}/{}/libnvrtc.so", root, folder));
    auto library = DynamicLibrary::open(names);
    if (!library.ok())
        return Error{ErrorKind::Device, "NVRTC is not here (libnvrtc.so.13 or .12): install the CUDA toolkit's nvrtc, or set CUDA_HOME; CUDA C++ can be written and exported without it", {}, {library.error().message}};
    Nvrtc n;
    FW_TRY_VOID(library->get(n.version, "nvrtcVersion"));
    FW_TRY_VOID(library->get(n.create, "nvrtcCreateProgram"));
    FW_TRY_VOID(library->get(n.compile, "nvrtcCompileProgram"));
    FW_TRY_VOID(library->get(n.logSize, "nvrtcGetProgramLogSize"));
    FW_TRY_VOID(library->get(n.log, "nvrtcGetProgramLog"));
    FW_TRY_VOID(library->get(n.ptxSize, "nvrtcGetPTXSize"));
    FW_TRY_VOID(library->get(n.ptx, "nvrtcGetPTX"));
    FW_TRY_VOID(library->get(n.cubinSize, "nvrtcGetCUBINSize"));
    FW_TRY_VOID(library->get(n.cubin, "nvrtcGetCUBIN"));
    FW_TRY_VOID(library->get(n.destroy, "nvrtcDestroyProgram"));
    FW_TRY_VOID(library->get(n.errorText, "nvrtcGetErrorString"));
    return n;
}

const Result<Nvrtc>& nvrtc() {
    static const Result<Nvrtc> loaded = load();
    return loaded;
}

template <class Size, class Read> std::string read(Program p, Size size, Read get) {
    size_t n = 0;
    if (size(p, &n) != 0 || n == 0) return {};
    std::string s(n, '\0');
    if (get(p, s.data()) != 0) return {};
    return s;
}
std::string withoutEnd(std::string s) {
    while (!s.empty() && s.back() == '\0') s.pop_back();
    return s;
}

/// The number in front of a phrase: "Used 32 registers" -> 32 for " registers".
int64_t numberBefore(const std::string& line, const std::string& phrase) {
    size_t at = line.find(phrase);
    if (at == std::string::npos) return 0;
    size_t start = at;
    while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
    return start == at ? 0 : std::strtoll(line.substr(start, std::min<size_t>(at - start, 18)).c_str(), nullptr, 10);
}

}  // namespace

std::vector<KernelResources> parsePtxasLog(const std::string& log) {
    std::vector<KernelResources> out;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
        if (size_t at = line.find("Compiling entry function '"); at != std::string::npos) {
            size_t start = at + 26, end = line.find('\'', start);
            out.push_back({});
            if (end != std::string::npos) out.back().name = line.substr(start, end - start);
        }
        if (out.empty()) continue;
        KernelResources& r = out.back();
        if (line.find("bytes stack frame") != std::string::npos) {
            r.stackBytes = numberBefore(line, " bytes stack frame");
            r.spillStores = numberBefore(line, " bytes spill stores");
            r.spillLoads = numberBefore(line, " bytes spill loads");
        }
        if (line.find(" registers") != std::string::npos && line.find("Used ") != std::string::npos) {
            r.registers = int(numberBefore(line, " registers"));
            r.barriers = int(numberBefore(line, " barriers"));
            r.sharedBytes = numberBefore(line, " bytes smem");
        }
    }
    return out;
}

Result<std::string> nvrtcVersion() {
    if (!nvrtc().ok()) return Error(nvrtc().error());
    int major = 0, minor = 0;
    nvrtc()->version(&major, &minor);
    return fmt::format("{}.{}", major, minor);
}

Result<CudaBinary> compileCuda(const std::string& source, const std::string& fileName, const std::string& arch) {
    if (!nvrtc().ok()) return Error(nvrtc().error());
    const Nvrtc& n = *nvrtc();
    Program program = nullptr;
    if (Status s = n.create(&program, source.c_str(), fileName.c_str(), 0, nullptr, nullptr); s != 0)
        return Error{ErrorKind::Device, fmt::format("NVRTC refused {}: {}", fileName, n.errorText(s)), {}, {}};
    const std::string target = "-arch=" + arch;
    auto compile = [&](bool verbose) {
        std::vector<const char*> options = {target.c_str(), "--fmad=false", "-default-device"};
        if (verbose) options.push_back("--ptxas-options=-v");
        return n.compile(program, int(options.size()), options.data());
    };
    CudaBinary out;
    out.arch = arch;
    Status status = compile(true);
    // With -v the log leaves out why ptxas refused.
    if (status != 0) status = compile(false);
    out.log = withoutEnd(read(program, n.logSize, n.log));
    if (status == 0) {
        out.ptx = withoutEnd(read(program, n.ptxSize, n.ptx));
        std::string binary = read(program, n.cubinSize, n.cubin);
        out.cubin.assign(binary.begin(), binary.end());
    }
    n.destroy(&program);
    if (status != 0) return Error{ErrorKind::Device, fmt::format("NVRTC refused {} for {}: {}", fileName, arch, n.errorText(status)), {}, {out.log}};
    out.kernels = parsePtxasLog(out.log);
    std::istringstream lines(out.log);
    for (std::string line; std::getline(lines, line);)
        if (line.find("warning") != std::string::npos) out.warnings.push_back(line);
    return out;
}

}  // namespace fw::gpu
