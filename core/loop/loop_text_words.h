// Internal to core/loop: the words of the text form that printer and parser share, so that they cannot drift apart.
#pragma once
#include <array>
#include <string_view>

#include "core/loop/program.h"

namespace fw::looptext {

constexpr std::array<std::string_view, 6> loopMaps = {"serial", "parallel", "vector", "unroll", "grid", "thread"};
constexpr std::array<std::string_view, 5> storeModes = {"", "atomic_add", "atomic_max", "atomic_min", "atomic_mul"};
constexpr std::array<std::string_view, 5> bufferKinds = {"input", "constant", "intermediate", "output", "scratch"};
constexpr std::array<std::string_view, 2> libraryKinds = {"matmul", "convolution"};
constexpr std::array<std::string_view, 8> outputKinds = {"user", "loss", "buffer_mutation", "parameter_mutation", "user_input_mutation", "gradient_to_parameter", "gradient_to_user_input", "token"};
constexpr std::array<std::string_view, 4> outputShapes = {"single", "tuple", "list", "nothing"};
constexpr std::array<std::string_view, 3> symKinds = {"int", "float", "bool"};

/// The loop is named r<n> exactly when it carries a reduction; the text says so only where a pass broke the rule.
inline bool namedAsReduction(std::string_view var) { return !var.empty() && var[0] == 'r'; }

/// A number that reads back to the same bits; "inf", "-inf", "nan".
std::string printDouble(double);
/// "text" with \" \\ \n escaped.
std::string quote(std::string_view);
/// Arguments of an extern call's node: v12, True, 3, 0.5, "text", f32, [..], (..), expr(..) ...
std::string printArgument(const Argument&);
std::string printType(const ValueType&);
/// "[a, b]"
std::string printExprs(const std::vector<Expr>&);
/// Row-major strides; the text leaves them out when a buffer has just these.
std::vector<Expr> rowMajor(const std::vector<Expr>& sizes);

}  // namespace fw::looptext
