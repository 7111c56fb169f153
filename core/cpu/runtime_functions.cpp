// libm behind the lane-by-lane calls. The float32 forms compute in double: they are the rare paths (angles beyond 71476, fmod), and exact
// remainders need libm anyway.
#include "core/cpu/runtime_functions.h"

#include <cmath>

namespace fw::cpu {
namespace {

template <class T, double (*F)(double)> void unary(T* out, const T* a, const T*, int64_t lanes) {
    for (int64_t i = 0; i < lanes; ++i) out[i] = T(F(double(a[i])));
}
template <class T, double (*F)(double, double)> void binary(T* out, const T* a, const T* b, int64_t lanes) {
    for (int64_t i = 0; i < lanes; ++i) out[i] = T(F(double(a[i]), double(b[i])));
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <class T, double (*F)(double)> void* unaryAddress() { return reinterpret_cast<void*>(&unary<T, F>); }
template <class T, double (*F)(double, double)> void* binaryAddress() { return reinterpret_cast<void*>(&binary<T, F>); }

}  // namespace

const std::vector<RuntimeFunction>& runtimeFunctions() {
    static const std::vector<RuntimeFunction> table = {
        {"fw_lanes_sin", unaryAddress<float, std::sin>()},
        {"fw_lanes_cos", unaryAddress<float, std::cos>()},
        {"fw_lanes_tan", unaryAddress<float, std::tan>()},
        {"fw_lanes_fmod", binaryAddress<float, std::fmod>()},
        {"fw_lanes_exp_f64", unaryAddress<double, std::exp>()},
        {"fw_lanes_exp2_f64", unaryAddress<double, std::exp2>()},
        {"fw_lanes_expm1_f64", unaryAddress<double, std::expm1>()},
        {"fw_lanes_log_f64", unaryAddress<double, std::log>()},
        {"fw_lanes_log1p_f64", unaryAddress<double, std::log1p>()},
        {"fw_lanes_log2_f64", unaryAddress<double, std::log2>()},
        {"fw_lanes_log10_f64", unaryAddress<double, std::log10>()},
        {"fw_lanes_sin_f64", unaryAddress<double, std::sin>()},
        {"fw_lanes_cos_f64", unaryAddress<double, std::cos>()},
        {"fw_lanes_tan_f64", unaryAddress<double, std::tan>()},
        {"fw_lanes_tanh_f64", unaryAddress<double, std::tanh>()},
        {"fw_lanes_sigmoid_f64", unaryAddress<double, sigmoid>()},
        {"fw_lanes_erf_f64", unaryAddress<double, std::erf>()},
        {"fw_lanes_atan_f64", unaryAddress<double, std::atan>()},
        {"fw_lanes_pow_f64", binaryAddress<double, std::pow>()},
        {"fw_lanes_fmod_f64", binaryAddress<double, std::fmod>()},
    };
    return table;
}

}  // namespace fw::cpu
