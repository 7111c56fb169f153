// Calling a template with the C++ type of a tensor's elements.
#pragma once
#include <cstdint>

#include "core/tensor/dtype.h"

namespace fw::eager {

/// Calls f(T{}) with the arithmetic type: ints, bool (as uint8_t), f32, f64. False for halves and everything else.
template <class F> bool withArithmeticType(DType t, F f) {
    switch (t) {
        case DType::Bool:
        case DType::U8: f(uint8_t{}); return true;
        case DType::I8: f(int8_t{}); return true;
        case DType::I16: f(int16_t{}); return true;
        case DType::I32: f(int32_t{}); return true;
        case DType::I64: f(int64_t{}); return true;
        case DType::F32: f(float{}); return true;
        case DType::F64: f(double{}); return true;
        default: return false;
    }
}

struct Bytes16 { uint64_t low, high; };
/// Calls f(T{}) with a type of the element's size, to move elements without looking at them.
template <class F> void withSizedType(int bytes, F f) {
    switch (bytes) {
        case 1: f(uint8_t{}); break;
        case 2: f(uint16_t{}); break;
        case 4: f(uint32_t{}); break;
        case 8: f(uint64_t{}); break;
        default: f(Bytes16{}); break;
    }
}

}  // namespace fw::eager
