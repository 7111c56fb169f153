// Read-modify-write of one element. Where the language has it, that; else a loop of compare and swap on the word that holds the element.
#include <fmt/format.h>

#include "gpu/prelude.h"

namespace fw::gpu {
namespace {

/// `a` combined with `v`, both of the arithmetic type.
std::string combination(const std::string& mode, DType t) {
    if (mode == "add") return isBool(t) ? "a | v" : "a + v";
    if (mode == "mul") return isBool(t) ? "a & v" : "a * v";
    return mode == "max" ? "fw_maximum(a, v)" : "fw_minimum(a, v)";
}

/// The language's own, when it has one that means the same.
std::string builtin(GpuDialect d, const std::string& mode, DType t) {
    bool cuda = d == GpuDialect::Cuda, integer = t == DType::I32 || t == DType::U32;
    std::string word = typeName(d, DType::U64);
    if (mode == "mul" || (!integer && mode != "add")) return {};
    if (integer) {
        if (!cuda) return fmt::format("atomic_{}(p, v)", mode);
        return fmt::format("atomic{}{}(p, v)", char(std::toupper(mode[0])), mode.substr(1));
    }
    if (!cuda) return t == DType::I64 || t == DType::U64 ? "atom_add(p, v)" : "";
    if (t == DType::F32 || t == DType::F64 || t == DType::U64) return "atomicAdd(p, v)";
    return t == DType::I64 ? fmt::format("atomicAdd(({}*)p, ({})v)", word, word) : "";
}

}  // namespace

std::optional<std::string> atomicFunction(GpuDialect d, const std::string& mode, DType t) {
    if (mode != "add" && mode != "mul" && mode != "max" && mode != "min") return std::nullopt;
    if (isComplex(t) || t >= DType::F8E4M3FN) return std::nullopt;
    bool cuda = d == GpuDialect::Cuda, half = isLowPrecision(t);
    DType arithmetic = half ? DType::F32 : t;
    std::string memory = memoryTypeName(d, t), value = typeName(d, t), wide = typeName(d, arithmetic);
    // Signatures take the memory's type; f16 and bf16 share one, so those names carry their tag.
    std::string name = half ? fmt::format("fw_atomic_{}_{}", mode, tag(t)) : "fw_atomic_" + mode;
    std::string pointer = cuda ? memory + "* p" : "volatile __global " + memory + "* p";
    std::string head = fmt::format("{} void {}({}, {} v) {{", functionQualifier(d), name, pointer, half ? "float" : value);
    std::string extension;
    if (!cuda && itemSize(t) == 8) extension = "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n";
    if (std::string call = builtin(d, mode, t); !call.empty()) return extension + head + " " + call + "; }";

    bool narrow = itemSize(t) < 4;
    DType wordType = itemSize(t) == 8 ? DType::U64 : DType::U32;
    std::string word = typeName(d, wordType), swap = cuda ? "atomicCAS" : itemSize(t) == 8 ? "atom_cmpxchg" : "atomic_cmpxchg";
    std::string wordPointer = cuda ? word + "*" : "volatile __global " + word + "*";
    std::string s = extension + head + "\n";
    std::string old, fresh = half ? fmt::format("fw_f32_to_{}(next)", tag(t)) : "next";
    if (narrow) {
        // The element is a part of an aligned word; the rest of the word is put back as it was.
        s += fmt::format("    {} word = ({})((size_t)p & ~(size_t)3);\n    int shift = (int)((size_t)p & 3) * 8;\n    {} mask = {}u << shift;\n", wordPointer, wordPointer, word, itemSize(t) == 1 ? "0xff" : "0xffff");
        std::string part = fmt::format("({})(expected >> shift)", memory);
        old = half ? fmt::format("fw_{}_to_f32({})", tag(t), part) : isBool(t) ? part + " != 0" : part;
        fresh = fmt::format("(expected & ~mask) | (({})({}){} << shift)", word, memory, fresh);
    } else {
        s += fmt::format("    {} word = ({})p;\n", wordPointer, wordPointer);
        old = bitcast(d, wordType, t, "expected");
        fresh = bitcast(d, t, wordType, fresh);
    }
    s += fmt::format("    {} seen = *word, expected;\n    do {{\n        expected = seen;\n        {} a = {};\n        {} next = ({})({});\n        seen = {}(word, expected, {});\n    }} while (seen != expected);\n}}",
                     word, wide, old, wide, wide, combination(mode, t), swap, fresh);
    return s;
}

}  // namespace fw::gpu
