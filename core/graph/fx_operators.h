// Which target an operator sign of FX text stands for. Read by the parser and the printer.
#pragma once
#include <array>
#include <string_view>

namespace fw {

struct FxOperator { std::string_view sign, target; };

constexpr std::array<FxOperator, 19> fxBinaryOperators{{
    {"==", "_operator.eq"}, {"!=", "_operator.ne"}, {"<", "_operator.lt"}, {"<=", "_operator.le"}, {">", "_operator.gt"}, {">=", "_operator.ge"},
    {"+", "_operator.add"}, {"-", "_operator.sub"}, {"*", "_operator.mul"}, {"/", "_operator.truediv"}, {"//", "_operator.floordiv"},
    {"%", "_operator.mod"}, {"**", "_operator.pow"}, {"<<", "_operator.lshift"}, {">>", "_operator.rshift"},
    {"&", "_operator.and_"}, {"|", "_operator.or_"}, {"^", "_operator.xor"}, {"@", "_operator.matmul"},
}};
constexpr std::array<FxOperator, 3> fxUnaryOperators{{{"-", "_operator.neg"}, {"+", "_operator.pos"}, {"~", "_operator.invert"}}};
/// `x += y;  iadd = x`. Longest sign first, so that the first match is the right one.
constexpr std::array<FxOperator, 13> fxInPlaceOperators{{
    {"//=", "_operator.ifloordiv"}, {"**=", "_operator.ipow"}, {"<<=", "_operator.ilshift"}, {">>=", "_operator.irshift"},
    {"+=", "_operator.iadd"}, {"-=", "_operator.isub"}, {"*=", "_operator.imul"}, {"/=", "_operator.itruediv"}, {"%=", "_operator.imod"},
    {"@=", "_operator.imatmul"}, {"&=", "_operator.iand"}, {"|=", "_operator.ior"}, {"^=", "_operator.ixor"},
}};

template <size_t N>
constexpr std::string_view targetOfSign(const std::array<FxOperator, N>& table, std::string_view sign) {
    for (const FxOperator& op : table) if (op.sign == sign) return op.target;
    return {};
}
template <size_t N>
constexpr std::string_view signOfTarget(const std::array<FxOperator, N>& table, std::string_view target) {
    for (const FxOperator& op : table) if (op.target == target) return op.sign;
    return {};
}

// How targets that are not operators are spelled in the Graph IR.
constexpr std::string_view methodPrefix = "method.";  ///< x.view(...)       <-> "method.view"
constexpr std::string_view modulePrefix = "module.";  ///< self.layers.0(x)  <-> "module.layers.0"
constexpr std::string_view pythonPrefix = "python.";  ///< mylib.fn(x), a dotted global outside torch <-> "python.mylib.fn"
constexpr std::string_view opsPrefix = "torch.ops.";  ///< left away in targets

}  // namespace fw
