// Looks kernels up: own kernel, then a pointwise row, then derived forms. "add_" is "add" written back into its first argument; "view_copy"
// is "view" followed by a copy; "slice_scatter" writes into the slice of a copy. So a new op gets these forms for free.
#include "core/reference/reference_table.h"

#include <set>

#include <fmt/format.h>

#include "core/reference/reference_pointwise.h"

namespace fw {
namespace reference {

namespace {

const KernelTable& kernels() {
    static const KernelTable table = [] {
        KernelTable t;
        addElementwiseKernels(t);
        addViewKernels(t);
        addLayoutKernels(t);
        addCreateKernels(t);
        addReduceKernels(t);
        addScanKernels(t);
        addSortKernels(t);
        addStatisticsKernels(t);
        addMatmulKernels(t);
        addConvKernels(t);
        addPoolKernels(t);
        addUpsampleKernels(t);
        addIndexKernels(t);
        addEmbeddingKernels(t);
        addNormKernels(t);
        addAttentionKernels(t);
        addRnnKernels(t);
        addRandomKernels(t);
        addLossKernels(t);
        addComplexKernels(t);
        addFftKernels(t);
        addBackwardKernels(t);
        return t;
    }();
    return table;
}

struct Name { std::string space, base, overload; };
Name split(std::string_view target) {
    size_t first = target.find('.'), last = target.rfind('.');
    if (first == std::string_view::npos || first == last) return {std::string(target), {}, {}};
    return {std::string(target.substr(0, first)), std::string(target.substr(first + 1, last - first - 1)), std::string(target.substr(last + 1))};
}
std::string join(const Name& n) { return n.space + "." + n.base + "." + n.overload; }
bool isInPlace(const std::string& base) { return base.size() > 1 && base.ends_with('_') && !base.ends_with("__"); }

const std::map<std::string, std::string, std::less<>>& sameOps() {
    static const std::map<std::string, std::string, std::less<>> names = {
        {"divide", "div"}, {"true_divide", "div"}, {"multiply", "mul"}, {"subtract", "sub"}, {"absolute", "abs"}, {"negative", "neg"},
        {"arccos", "acos"}, {"arcsin", "asin"}, {"arctan", "atan"}, {"arccosh", "acosh"}, {"arcsinh", "asinh"}, {"arctanh", "atanh"},
        {"arctan2", "atan2"}, {"greater", "gt"}, {"greater_equal", "ge"}, {"less", "lt"}, {"less_equal", "le"}, {"not_equal", "ne"},
        {"clip", "clamp"}, {"fix", "trunc"}, {"__and__", "bitwise_and"}, {"__or__", "bitwise_or"}, {"__xor__", "bitwise_xor"},
        {"__lshift__", "bitwise_left_shift"}, {"__rshift__", "bitwise_right_shift"}, {"special_exp2", "exp2"}, {"special_expm1", "expm1"},
        {"special_expit", "sigmoid"}, {"special_erf", "erf"}, {"special_erfc", "erfc"}, {"special_erfinv", "erfinv"}, {"special_log1p", "log1p"},
        {"special_logit", "logit"}, {"special_sinc", "sinc"}, {"special_round", "round"}, {"special_digamma", "digamma"}, {"special_psi", "digamma"},
        {"special_gammaln", "lgamma"}, {"special_i0", "i0"}, {"special_xlogy", "xlogy"}, {"special_gammainc", "igamma"}, {"special_gammaincc", "igammac"},
        {"special_logsumexp", "logsumexp"}, {"special_multigammaln", "mvlgamma"}, {"polygamma", "special_polygamma"}, {"swapaxes", "transpose"},
        {"swapdims", "transpose"}, {"moveaxis", "movedim"}, {"concat", "cat"}, {"concatenate", "cat"}, {"row_stack", "vstack"}, {"_unsafe_view", "view"},
        {"_unsafe_index", "index"}, {"_unsafe_index_put", "index_put"}, {"_reshape_alias", "as_strided"}, {"_adaptive_avg_pool2d", "adaptive_avg_pool2d"},
        {"_adaptive_avg_pool3d", "adaptive_avg_pool3d"}, {"special_softmax", "softmax"}, {"special_log_softmax", "log_softmax"}, {"ger", "outer"}};
    return names;
}

/// Whole targets whose overload differs from the one that computes the same.
const std::map<std::string, std::string, std::less<>>& sameTargets() {
    static const std::map<std::string, std::string, std::less<>> targets = {
        {"aten.swapaxes.default", "aten.transpose.int"}, {"aten.swapdims.default", "aten.transpose.int"}, {"aten.pow_.Tensor", "aten.pow.Tensor_Tensor"},
        {"aten.pow_.Scalar", "aten.pow.Tensor_Scalar"}, {"aten.floor_divide_.Tensor", "aten.floor_divide.default"},
        {"aten.float_power_.Tensor", "aten.float_power.Tensor_Tensor"}, {"aten.float_power_.Scalar", "aten.float_power.Tensor_Scalar"},
        {"aten.ldexp_.default", "aten.ldexp.Tensor"}, {"aten.special_softmax.default", "aten.softmax.int"}, {"aten.special_log_softmax.default", "aten.log_softmax.int"},
        {"aten.special_xlogy.default", "aten.xlogy.Tensor"}, {"aten.special_xlogy.other_scalar", "aten.xlogy.Tensor"}, {"aten.special_xlogy.self_scalar", "aten.xlogy.Tensor"},
        {"prims.where.default", "aten.where.self"}, {"prims.pow.default", "aten.pow.Tensor_Tensor"}, {"prims.shift_left.default", "aten.bitwise_left_shift.Tensor"},
        {"prims.shift_right_arithmetic.default", "aten.bitwise_right_shift.Tensor"}, {"prims.bitwise_not.default", "aten.bitwise_not.default"},
        {"prims.transpose.default", "aten.permute.default"}, {"prims.squeeze.default", "aten.squeeze.dims"}, {"prims.view_of.default", "aten.alias.default"},
        {"prims.amax.default", "aten.amax.default"}, {"prims.amin.default", "aten.amin.default"}, {"prims.conj.default", "aten.conj.default"},
        {"prims.real.default", "aten.real.default"}, {"prims.imag.default", "aten.imag.default"}, {"prims.nextafter.default", "aten.nextafter.default"},
        {"prims.frexp.default", "aten.frexp.Tensor"}, {"prims.erf_inv.default", "aten.erfinv.default"}, {"prims.bessel_i0.default", "aten.i0.default"},
        {"prims.bessel_i0e.default", "aten.special_i0e.default"}, {"prims.bessel_i1.default", "aten.special_i1.default"}, {"prims.bessel_i1e.default", "aten.special_i1e.default"},
        {"prims.bessel_j0.default", "aten.special_bessel_j0.default"}, {"prims.bessel_j1.default", "aten.special_bessel_j1.default"},
        {"prims.erfcx.default", "aten.special_erfcx.default"}, {"prims.ndtri.default", "aten.special_ndtri.default"}, {"prims.zeta.default", "aten.special_zeta.default"},
        {"prims.spherical_bessel_j0.default", "aten.special_spherical_bessel_j0.default"}, {"prims.scalar_tensor.default", "aten.scalar_tensor.default"}};
    return targets;
}

/// Overloads that differ only in which operands are numbers share the row of the tensor form: "x_scalar", "n_scalar", "Scalar_Tensor" ...
std::string overTensors(const Name& n) {
    static const std::set<std::string> mixed = {"n_scalar", "x_scalar", "other_scalar", "self_scalar", "Scalar_Tensor", "Tensor_Scalar"};
    if (!mixed.count(n.overload)) return {};
    for (const char* overload : {"default", "Tensor"}) {
        std::string target = n.space + "." + n.base + "." + overload;
        if (hasPointwise(target)) return target;
    }
    return {};
}

/// prims share ATen's names: prims.sin.default is aten.sin.default, prims.add.default is aten.add.Tensor.
std::string fromPrims(const Name& n) {
    for (const char* overload : {"default", "Tensor", "self"}) {
        std::string target = "aten." + n.base + "." + overload;
        if (hasPointwise(target)) return target;
    }
    return join(n);
}

OpKernel functionalKernel(std::string_view target) {
    if (auto found = kernels().find(target); found != kernels().end()) return found->second;
    return hasPointwise(target) ? pointwiseKernel : nullptr;
}

/// Runs another op's kernel with a node that carries its name, so that kernels which look at the target see their own.
Result<void> callAs(const std::string& target, OpCall& call, std::vector<RtValue> args) {
    OpKernel kernel = functionalKernel(target);
    if (!kernel) return unsupported(fmt::format("no implementation of {}", target));
    Node node = call.node;
    node.target = target;
    node.outputs.clear();
    OpCall inner{node, std::move(args), {}};
    FW_TRY_VOID(kernel(inner));
    call.outputs = std::move(inner.outputs);
    return {};
}

Result<void> inPlaceKernel(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY_VOID(callAs(functionalTarget(call.node.target), call, call.args));
    const Tensor* result = call.outputs.empty() ? nullptr : call.outputs[0].get<Tensor>();
    if (!result) return badCall(call, "gave no tensor");
    FW_TRY_VOID(copyInto(call, self, *result));
    call.outputs[0] = self;
    return {};
}

std::string withoutSuffix(std::string_view target, std::string_view suffix) {
    Name n = split(target);
    n.base.resize(n.base.size() - suffix.size());
    return join(n);
}

Result<void> copyKernel(OpCall& call) {
    FW_TRY_VOID(callAs(withoutSuffix(call.node.target, "_copy"), call, call.args));
    for (RtValue& v : call.outputs)
        if (auto* t = v.get<Tensor>()) {
            FW_TRY(own, castTo(*t, t->dtype()));
            v = own;
        }
    return {};
}

Result<void> scatterKernel(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(src, call.tensor(1));
    FW_TRY(copy, newOutput(call, 0, self.dtype(), self.sizes()));
    FW_TRY_VOID(copyInto(call, copy, self));
    std::vector<RtValue> args = {copy};
    args.insert(args.end(), call.args.begin() + 2, call.args.end());
    std::string target = withoutSuffix(call.node.target, "_scatter");
    for (const char* overload : {"int", "Tensor", "default"}) {
        Name n = split(target);
        n.overload = overload;
        if (functionalKernel(join(n))) target = join(n);
    }
    FW_TRY_VOID(callAs(target, call, args));
    Tensor* view = call.outputs.empty() ? nullptr : call.outputs[0].get<Tensor>();
    if (!view) return badCall(call, "gave no view");
    if (view->sizes() != src.sizes()) return badCall(call, fmt::format("{} does not fit into {}", src.describe(), view->describe()));
    FW_TRY_VOID(copyInto(call, *view, src));
    call.outputs.clear();
    return give(call, copy);
}

Result<void> renamedKernel(OpCall& call) { return callAs(functionalTarget(call.node.target), call, call.args); }

}  // namespace

std::string functionalTarget(std::string_view target) {
    if (auto same = sameTargets().find(target); same != sameTargets().end()) return same->second;
    Name n = split(target);
    if (n.base.empty() || hasPointwise(target)) return std::string(target);
    if (std::string tensors = overTensors(n); !tensors.empty()) return tensors;
    if (isInPlace(n.base)) n.base.pop_back();
    if (n.space == "prims") return fromPrims(n);
    if (auto same = sameOps().find(n.base); same != sameOps().end()) n.base = same->second;
    return join(n);
}

}  // namespace reference

OpKernel referenceKernel(std::string_view target) {
    using namespace reference;
    if (OpKernel own = functionalKernel(target)) return own;
    Name n = split(target);
    if (n.base.empty()) return nullptr;
    std::string functional = functionalTarget(target);
    if (functionalKernel(functional)) return isInPlace(n.base) ? inPlaceKernel : renamedKernel;
    if (n.base.ends_with("_copy") && functionalKernel(withoutSuffix(target, "_copy"))) return copyKernel;
    static const std::set<std::string> scattered = {"select_scatter", "slice_scatter", "diagonal_scatter", "as_strided_scatter"};
    if (n.space == "aten" && scattered.count(n.base)) return scatterKernel;
    return nullptr;
}

}  // namespace fw
