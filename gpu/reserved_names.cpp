// The words, in one set for both dialects, so that a kernel has the same names in both.
#include "gpu/reserved_names.h"

#include <cctype>
#include <set>
#include <string_view>

namespace fw::gpu {

bool isReservedName(const std::string& s) {
    static const std::set<std::string_view> words = {
        // C and C++
        "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else", "enum",
        "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "main", "mutable", "namespace", "new", "noexcept", "not", "nullptr", "operator", "or",
        "private", "protected", "public", "register", "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typeid",
        "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor", "compl", "bitand", "bitor", "concept", "requires", "co_await", "co_return", "co_yield", "wchar_t",
        // OpenCL C
        "kernel", "global", "local", "constant", "private", "generic", "read_only", "write_only", "read_write", "pipe", "half", "uchar", "ushort", "uint", "ulong", "size_t", "ptrdiff_t", "intptr_t",
        "uintptr_t", "event_t", "sampler_t", "barrier", "as_float", "as_int", "as_uint", "as_double", "as_long", "get_global_id", "get_local_id", "get_group_id", "INFINITY", "NAN",
        // CUDA
        "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "assert", "printf",
        // ours
        "lane", "block", "position", "half_", "kernel_name"};
    if (words.count(s)) return true;
    // Values v3, accumulators a3, shared arrays shared_a3, flat loop counters t_i3. Names that start with two underscores belong to the languages.
    if (s.rfind("shared_a", 0) == 0 || s.rfind("t_", 0) == 0 || s.rfind("__", 0) == 0) return true;
    if (s.size() < 2 || (s[0] != 'v' && s[0] != 'a')) return false;
    for (size_t k = 1; k < s.size(); ++k)
        if (!std::isdigit(static_cast<unsigned char>(s[k]))) return false;
    return true;
}

}  // namespace fw::gpu
