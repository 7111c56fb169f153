// canonicalize - remove what changes nothing and say the rest in one way.
// Why: a removed view or copy is a launch, a buffer or an index expression less, and later passes meet one form of each thing.
//   before:  a = expand(x, [2, 3]);  b = permute(permute(a, [1, 0]), [1, 0]);  c = b + 0    x: f32[2, 3]
//   after:   x stands for a, b and c
// The rules are a table below: each looks at one node and gives the value that replaces its result, or makes a simpler node.
// A rule fires only when dtype, sizes and, where someone may depend on it, strides stay the same.
// Leaves alone: copies that are the graph's outputs and would then be its inputs (the caller may write to them).
// Cost: one walk; each rule is constant work.
#include <algorithm>

#include "core/graph/graph_builder.h"
#include "passes/graph/graph_passes.h"
#include "passes/graph/subgraph_walk.h"

namespace fw {
namespace {

constexpr std::string_view kStep = "canonicalize";

struct Site {
    GraphBuilder& builder;
    const Node& node;
    const TensorType* out;  ///< type of the (first) result, null when it is not a tensor

    Argument arg(std::string_view name) const { return argOrDefault(node, name); }
    ValueId operand(size_t i = 0) const { return i < node.args.size() ? builder.resolve(node.args[i].value.valueId()) : 0; }
    const TensorType* type(ValueId v) const { return v ? builder.tensor(v) : nullptr; }
    bool sameShape(ValueId v) const {
        const TensorType* t = type(v);
        return t && out && t->dtype == out->dtype && t->sizes == out->sizes && t->device == out->device;
    }
    /// Equal strides wherever a stride means something.
    bool sameLayout(ValueId v) const {
        const TensorType* t = type(v);
        if (!sameShape(v)) return false;
        const auto a = t->strides.empty() ? contiguousStrides(t->sizes) : t->strides, b = out->strides.empty() ? contiguousStrides(out->sizes) : out->strides;
        for (size_t i = 0; i < t->sizes.size(); ++i)
            if (!t->sizes[i].isConst(1) && a[i] != b[i]) return false;
        return true;
    }
    const Node* producer(ValueId v, std::string_view target) const {
        const Node* n = v ? builder.producer(v) : nullptr;
        return n && n->target == target && !n->args.empty() ? n : nullptr;
    }
};

/// What a rule does: replaces the result by a value, or gives a new call for the same result.
struct Rewrite {
    ValueId value = 0;
    std::string target;
    std::vector<Argument> args;
    std::vector<NamedArgument> keywords;
    std::string why;
};
using Rule = std::optional<Rewrite> (*)(const Site&);
std::optional<Rewrite> becomes(ValueId v, std::string why) { return Rewrite{v, {}, {}, {}, std::move(why)}; }

/// The value itself, or a copy of it in the result's layout where that differs: a view further down may need that layout.
std::optional<Rewrite> isValue(const Site& s, ValueId v, std::string why) {
    if (s.sameLayout(v)) return becomes(v, std::move(why));
    if (!s.sameShape(v) || !isContiguous(*s.out, s.builder.graph().symbols)) return std::nullopt;
    return Rewrite{0, "aten.clone.default", {ValueRef{v}}, {{"memory_format", MemoryFormat::Contiguous, true}}, std::move(why)};
}

bool isNumber(const Argument& a, double wanted) {
    if (auto* i = a.get<int64_t>()) return double(*i) == wanted;
    if (auto* d = a.get<double>()) return *d == wanted;
    return false;
}

// x + 0, x - 0 (with any alpha). -0.0 + 0 is 0.0: the sign of zero is the one bit that may change, as everywhere in compilers.
std::optional<Rewrite> addZero(const Site& s) {
    const ValueId x = s.operand();
    if (!isNumber(s.arg("other"), 0)) return std::nullopt;
    return isValue(s, x, "adding 0 changes nothing");
}
std::optional<Rewrite> mulOne(const Site& s) {
    const ValueId x = s.operand();
    if (!isNumber(s.arg("other"), 1)) return std::nullopt;
    return isValue(s, x, "multiplying or dividing by 1 changes nothing");
}
std::optional<Rewrite> powOne(const Site& s) {
    const ValueId x = s.operand();
    if (!isNumber(s.arg("exponent"), 1)) return std::nullopt;
    return isValue(s, x, "the first power changes nothing");
}
std::optional<Rewrite> sameAlias(const Site& s) {
    const ValueId x = s.operand();
    if (!s.type(x)) return std::nullopt;
    return becomes(x, "an alias is the value itself");
}
std::optional<Rewrite> needlessClone(const Site& s) {
    const ValueId x = s.operand();
    if (!s.sameLayout(x)) return std::nullopt;
    return becomes(x, "the copy has the layout of its operand");
}
std::optional<Rewrite> needlessCast(const Site& s) {
    const ValueId x = s.operand();
    if (s.sameLayout(x)) return becomes(x, "the value has this dtype and layout already");
    // Up and back down is exact.
    const Node* up = s.producer(x, "aten._to_copy.default");
    if (!up || !s.out) return std::nullopt;
    const ValueId first = s.builder.resolve(up->args.at(0).value.valueId());
    const TensorType *from = s.type(first), *wide = s.type(x);
    if (!from || !wide || !s.sameLayout(first)) return std::nullopt;
    const bool widening = isFloat(wide->dtype) && isFloat(from->dtype) && itemSize(wide->dtype) > itemSize(from->dtype) && !(from->dtype == DType::BF16 && wide->dtype == DType::F16);
    if (!widening) return std::nullopt;
    return becomes(first, "widening and narrowing again gives the same number");
}
std::optional<Rewrite> sameView(const Site& s) {
    const ValueId x = s.operand();
    if (!s.sameLayout(x) || s.type(x)->offset != s.out->offset) return std::nullopt;
    return becomes(x, "the view shows its operand unchanged");
}
std::optional<Rewrite> identityPermute(const Site& s) {
    const ValueId x = s.operand();
    const Argument dims = s.arg("dims");
    const ArgList* list = dims.get<ArgList>();
    const TensorType* t = s.type(x);
    if (!list || !t || list->items.size() != t->sizes.size()) return std::nullopt;
    const int64_t rank = int64_t(t->sizes.size());
    std::vector<int64_t> order;
    for (const Argument& a : list->items) {
        auto* d = a.get<int64_t>();
        if (!d || *d < -rank || *d >= rank) return std::nullopt;
        order.push_back(*d < 0 ? *d + rank : *d);
    }
    bool identity = true;
    for (int64_t i = 0; i < rank; ++i) identity &= order[size_t(i)] == i;
    if (identity) return becomes(x, "the permutation changes nothing");
    const Node* before = s.producer(x, "aten.permute.default");
    if (!before) return std::nullopt;
    const Argument inner = argOrDefault(*before, "dims");
    const ArgList* innerList = inner.get<ArgList>();
    if (!innerList || innerList->items.size() != order.size()) return std::nullopt;
    std::vector<int64_t> joined;
    for (int64_t o : order) {
        auto* d = innerList->items[size_t(o)].get<int64_t>();
        if (!d) return std::nullopt;
        joined.push_back(*d < 0 ? *d + rank : *d);
    }
    const ValueId first = before->args.at(0).value.valueId();
    bool back = true;
    for (int64_t i = 0; i < rank; ++i) back &= joined[size_t(i)] == i;
    if (back) return becomes(s.builder.resolve(first), "the permutation undoes the one before");
    return Rewrite{0, "aten.permute.default", {ValueRef{first}, listOfInts(joined)}, {}, "two permutations became one"};
}
std::optional<Rewrite> viewOfView(const Site& s) {
    if (auto same = sameView(s)) return same;
    const ValueId x = s.operand();
    const Node* before = s.producer(x, "aten.view.default");
    if (!before || !s.out) return std::nullopt;
    const ValueId first = s.builder.resolve(before->args.at(0).value.valueId());
    const TensorType* t = s.type(first);
    if (!t) return std::nullopt;
    if (s.sameLayout(first)) return becomes(first, "the view undoes the one before");
    if (s.node.args.size() < 2 || !canView(*t, s.out->sizes, s.builder.graph().symbols)) return std::nullopt;
    return Rewrite{0, "aten.view.default", {ValueRef{first}, s.node.args.at(1).value}, {}, "two views became one"};
}
std::optional<Rewrite> wholeSlice(const Site& s) {
    const ValueId x = s.operand();
    if (!s.sameLayout(x)) return std::nullopt;  // step 1 and all of the dimension: only then sizes and strides agree
    return becomes(x, "the slice takes everything");
}
std::optional<Rewrite> padNothing(const Site& s) {
    const Argument pad = s.arg("pad");
    const ArgList* list = pad.get<ArgList>();
    if (!list) return std::nullopt;
    for (const Argument& a : list->items)
        if (!isNumber(a, 0)) return std::nullopt;
    const ValueId x = s.operand();
    return isValue(s, x, "nothing is padded");
}
std::optional<Rewrite> catOfOne(const Site& s) {
    const Argument tensors = s.arg("tensors");
    const ArgList* list = tensors.get<ArgList>();
    if (!list || list->items.size() != 1) return std::nullopt;
    const ValueId x = s.builder.resolve(list->items[0].valueId());
    return isValue(s, x, "one tensor is joined with nothing");
}
std::optional<Rewrite> repeatOnce(const Site& s) {
    const ValueId x = s.operand();
    return isValue(s, x, "every dimension is repeated once");
}
std::optional<Rewrite> whereEqual(const Site& s) {
    const ValueId a = s.operand(1), b = s.operand(2);
    if (a == 0 || a != b) return std::nullopt;
    return isValue(s, a, "both choices are the same value");
}
std::optional<Rewrite> splitInOne(const Site& s) {
    const ValueId x = s.operand();
    if (s.node.outputs.size() != 1 || !s.sameLayout(x)) return std::nullopt;
    return becomes(x, "the only piece is the whole");
}
/// full_like reads nothing of its operand but the sizes: as full it no longer waits for it.
std::optional<Rewrite> fullLike(const Site& s) {
    if (!s.out || !isContiguous(*s.out, s.builder.graph().symbols)) return std::nullopt;
    ArgList sizes;
    for (Expr e : s.out->sizes) {
        if (!e.isConst()) return std::nullopt;
        sizes.items.push_back(e.constant());
    }
    return Rewrite{0, "aten.full.default", {sizes, s.arg("fill_value")},
                   {{"dtype", s.out->dtype, true}, {"layout", Layout::Strided, true}, {"device", s.out->device, true}, {"pin_memory", false, true}},
                   "a constant does not depend on the tensor whose sizes it takes"};
}
/// The functional form of copy_: what is copied is the value.
std::optional<Rewrite> copySame(const Site& s) {
    const ValueId source = s.operand(1);
    return isValue(s, source, "a copy into a tensor of the same kind is the source");
}

struct Entry { std::string_view target; Rule rule; };
constexpr Entry kRules[] = {
    {"aten.add.Tensor", addZero},
    {"aten.add.Scalar", addZero},
    {"aten.sub.Tensor", addZero},
    {"aten.sub.Scalar", addZero},
    {"aten.mul.Tensor", mulOne},
    {"aten.mul.Scalar", mulOne},
    {"aten.div.Tensor", mulOne},
    {"aten.div.Scalar", mulOne},
    {"aten.pow.Tensor_Scalar", powOne},
    {"aten.alias.default", sameAlias},
    {"aten.detach.default", sameAlias},
    {"aten.lift_fresh.default", sameAlias},
    {"aten.clone.default", needlessClone},
    {"aten._to_copy.default", needlessCast},
    {"prims.convert_element_type.default", needlessCast},
    {"aten.expand.default", sameView},
    {"aten.as_strided.default", sameView},
    {"aten.squeeze.dims", sameView},
    {"aten.squeeze.dim", sameView},
    {"aten.view.default", viewOfView},
    {"aten.permute.default", identityPermute},
    {"aten.slice.Tensor", wholeSlice},
    {"aten.constant_pad_nd.default", padNothing},
    {"aten.cat.default", catOfOne},
    {"aten.repeat.default", repeatOnce},
    {"aten.where.self", whereEqual},
    {"aten.split_with_sizes.default", splitInOne},
    {"aten.full_like.default", fullLike},
    {"aten.copy.default", copySame},
};
Rule ruleFor(std::string_view target) {
    for (const Entry& e : kRules)
        if (e.target == target) return e.rule;
    return nullptr;
}

Result<Graph> one(const Graph& graph, PassContext& context) {
    GraphBuilder builder(graph);
    const GraphIndex index(graph);
    bool changed = false;
    for (const NodePtr& original : graph.nodes) {
        FW_TRY_VOID(context.cancelled());
        if (original->target == "aten._assert_tensor_metadata.default") {
            context.explain(Verdict::Done, Reason::canonicalized, {original->name, std::string("the types of the graph say what it asserts")}, {original->id}, {original->name});
            changed = true;
            continue;
        }
        const Rule rule = ruleFor(original->target);
        const TensorType* out = !rule || original->outputs.empty() ? nullptr : original->outputs[0].tensor();
        std::optional<Rewrite> rewrite;
        if (rule && out) rewrite = rule(Site{builder, *original, out});
        if (rewrite && rewrite->value) {
            const ValueId result = original->outputs[0].id;
            // An output of the graph must not become one of its inputs: the caller may write to either.
            if (index.isGraphOutput(result) && !builder.producer(rewrite->value)) rewrite.reset();
        }
        if (!rewrite) {
            builder.keep(original);
            continue;
        }
        changed = true;
        if (rewrite->value) {
            builder.replaceValue(original->outputs[0].id, rewrite->value);
        } else {
            FW_TRY(made, builder.add(rewrite->target, std::move(rewrite->args), std::move(rewrite->keywords), *original, kStep, &original->outputs));
            (void)made;
        }
        context.explain(Verdict::Done, Reason::canonicalized, {original->name, rewrite->why}, {original->id}, {original->name});
    }
    if (!changed) return graph;
    return builder.finish();
}

Result<Graph> run(const Graph& graph, PassContext& context) { return runWithSubgraphs(graph, context, one); }

}  // namespace

const PassInfo pass_canonicalize{
    .name = "canonicalize",
    .level = PassLevel::Graph,
    .summary = "Remove ops that change nothing and merge views",
    .options = {},
    .runGraph = run,
};

}  // namespace fw
