// Arguments of a graph node: the argument union of torch.export, and what FX text can spell.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/expr/expr.h"
#include "core/tensor/dtype.h"

namespace fw {

/// Stable through all steps of a session: a value that keeps its meaning keeps its id. 0 is "no value".
using ValueId = uint32_t;
/// Stable id of a node. 0 is "no node".
using NodeId = uint32_t;

struct Device {
    std::string type = "cpu";
    int index = -1;  ///< -1: none
    friend bool operator==(const Device&, const Device&) = default;
    std::string str() const { return index < 0 ? type : type + ":" + std::to_string(index); }
};

enum class Layout : uint8_t { Strided, SparseCoo, SparseCsr, SparseCsc, SparseBsr, SparseBsc, Mkldnn, Unknown };
enum class MemoryFormat : uint8_t { Unknown, Contiguous, ChannelsLast, ChannelsLast3d, Preserve };

struct None { friend bool operator==(None, None) = default; };
struct ValueRef { ValueId id = 0; friend bool operator==(ValueRef, ValueRef) = default; };
/// A nested graph by its name in Graph::subgraphs.
struct SubgraphRef { std::string name; friend bool operator==(const SubgraphRef&, const SubgraphRef&) = default; };
/// An operator or custom object used as a value ("torch.ops.mylib.mut.default").
struct OperatorRef { std::string target; friend bool operator==(const OperatorRef&, const OperatorRef&) = default; };
struct Complex { double re = 0, im = 0; friend bool operator==(const Complex&, const Complex&) = default; };
/// slice(a, b, c) and Ellipsis of Dynamo-level text; attribute-like enum text kept verbatim.
struct Verbatim { std::string text; friend bool operator==(const Verbatim&, const Verbatim&) = default; };

struct Argument;
/// A list or tuple. With `call` it is call(items...) of a plain constructor that FX text can hold around values: "slice", "torch.Size", a named
/// tuple; `keys` then is empty or holds one keyword per item ("" for positional). call "{}" is a dict, `keys` its string keys.
struct ArgList {
    std::vector<Argument> items;
    bool tuple = false;
    std::vector<std::string> keys = {};
    std::string call = {};
};

/// bool before int64 on purpose: True is not 1 in FX text. Expr holds a symbolic int written inline (rare; usually a ValueRef to a Sym value).
struct Argument {
    std::variant<None, ValueRef, bool, int64_t, double, Expr, std::string, DType, Layout, MemoryFormat, Device,
                 Complex, SubgraphRef, OperatorRef, Verbatim, ArgList> v;

    Argument() = default;
    template <class T, class = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Argument>>>
    Argument(T&& value) : v(std::forward<T>(value)) {}
    template <class T> bool is() const { return std::holds_alternative<T>(v); }
    template <class T> const T* get() const { return std::get_if<T>(&v); }
    template <class T> T* get() { return std::get_if<T>(&v); }
    bool isNone() const { return is<None>(); }
    ValueId valueId() const { auto* r = get<ValueRef>(); return r ? r->id : 0; }
};
bool operator==(const Argument&, const Argument&);
inline bool operator!=(const Argument& a, const Argument& b) { return !(a == b); }
bool operator==(const ArgList&, const ArgList&);

/// Calls f(id) for every value referred to, nested lists included, in order.
void forEachValue(const Argument&, const std::function<void(ValueId)>& f);
/// Replaces value ids; `map(id)` returns the new id (may be the same).
Argument mapValues(const Argument&, const std::function<ValueId(ValueId)>& map);

Argument listOfInts(const std::vector<int64_t>&);
Argument listOfValues(const std::vector<ValueId>&);

}  // namespace fw
