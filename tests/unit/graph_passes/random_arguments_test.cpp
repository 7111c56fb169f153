// Nothing that a file can say about an op crashes the shape rules or the graph passes: every op of ops.def with random arguments,
// right and wrong ones. A rule or a rewrite gives a result or an error; what a pass gives is a well-formed graph.
#include <gtest/gtest.h>

#include <random>

#include "core/graph/graph_verify.h"
#include "core/graph/op_schema.h"
#include "passes/graph/graph_passes.h"

namespace fw {
namespace {

class Maker {
public:
    explicit Maker(uint32_t seed) : random_(seed) {}
    int below(int n) { return int(random_() % uint32_t(n)); }

    ValueId input(Graph& g) {
        TensorType t;
        static const DType dtypes[] = {DType::F32, DType::F32, DType::F32, DType::I64, DType::Bool, DType::BF16, DType::U8};
        t.dtype = dtypes[below(7)];
        static const int64_t sizes[] = {1, 2, 3, 4, 6, 0, 1099511627776};
        for (int d = below(5); d > 0; --d) t.sizes.push_back(below(12) == 0 ? Expr::symbol("s77") : Expr(sizes[below(20) == 0 ? 5 + below(2) : below(5)]));
        t.strides = contiguousStrides(t.sizes);
        if (t.sizes.size() >= 2 && below(3) == 0) {
            std::swap(t.sizes[0], t.sizes[1]);
            std::swap(t.strides[0], t.strides[1]);
        }
        GraphInput in;
        in.value.id = g.newId();
        in.value.name = "in" + std::to_string(in.value.id);
        in.value.type = t;
        g.inputs.push_back(in);
        return in.value.id;
    }
    int64_t integer() {
        static const int64_t values[] = {0, 1, 2, 3, -1, -2, 5, 1000000007, -1099511627776, INT64_MAX, INT64_MIN};
        return values[below(20) == 0 ? 7 + below(4) : below(7)];
    }
    Argument argument(Graph& g, const std::string& type, bool mayMiss) {
        if (mayMiss && below(3) == 0) return None{};
        if (below(60) == 0) return std::string("nonsense");
        const bool list = type.find('[') != std::string::npos;
        const std::string base = type.substr(0, type.find_first_of("[?"));
        if (list && below(8) != 0) {
            ArgList items;
            for (int n = below(4); n > 0; --n) items.items.push_back(argument(g, base, base == "Tensor" && type.find("?[") != std::string::npos));
            return items;
        }
        if (base == "Tensor") {
            if (!g.inputs.empty() && below(3) != 0) return ValueRef{g.inputs[size_t(below(int(g.inputs.size())))].value.id};
            return ValueRef{input(g)};
        }
        if (base == "bool") return below(2) == 1;
        if (base == "float") return below(5) == 0 ? -1.0 : 0.5 * below(5);
        if (base == "Scalar") return below(2) == 1 ? Argument(0.5 * below(5)) : Argument(integer());
        if (base == "str") {
            static const char* words[] = {"none", "floor", "trunc", "same", "valid", "constant", "reflect", "ij,jk->ik", "i,i->", "...ij,...jk->...ik", "ii->i", "xy", "sum"};
            return std::string(words[below(13)]);
        }
        if (base == "ScalarType") return below(2) == 1 ? DType::F32 : DType::I64;
        if (base == "MemoryFormat") return below(2) == 1 ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
        if (base == "Layout") return Layout::Strided;
        if (base == "Device") return Device{};
        if (base == "Generator") return None{};
        return integer();
    }

private:
    std::mt19937 random_;
};

TEST(RandomArguments, NoOpBreaksTheRulesOrThePasses) {
    int inferred = 0, passed = 0;
    for (const OpSchema& op : allOps()) {
        for (uint32_t seed = 0; seed < 25; ++seed) {
            Maker make(seed * 7919 + uint32_t(std::hash<std::string>{}(op.target) % 100003));
            Graph g;
            auto node = std::make_shared<Node>();
            node->target = op.target;
            node->name = "node";
            for (const SchemaArgument& a : op.args) {
                if (a.hasDefault && make.below(3) == 0) break;
                node->args.push_back({a.name, make.argument(g, a.type, a.type.ends_with('?')), a.keywordOnly});
            }
            node->id = g.newId();
            std::map<ValueId, ValueType> types;
            for (const GraphInput& in : g.inputs) types[in.value.id] = in.value.type;
            auto result = inferTypes(*node, [&](ValueId id) { auto it = types.find(id); return it == types.end() ? nullptr : &it->second; }, g.symbols);
            std::vector<ValueType> outputs;
            if (result.ok()) {
                ++inferred;
                outputs = *result;
            } else {
                // A file may state any type for any op.
                for (const std::string& r : op.returns)
                    if (r.starts_with("Tensor")) outputs.push_back(g.inputs.empty() ? ValueType(OpaqueType{}) : g.inputs[0].value.type);
            }
            if (outputs.size() > 64) continue;
            node->outputShape = op.returns.empty() ? OutputShape::Nothing : op.returns.size() > 1 ? OutputShape::Tuple : op.returns[0].ends_with("[]") ? OutputShape::List : OutputShape::Single;
            for (size_t i = 0; i < outputs.size(); ++i) {
                Value v;
                v.id = g.newId();
                v.name = node->outputShape == OutputShape::Single ? "node" : "out" + std::to_string(i);
                v.type = outputs[i];
                g.outputs.push_back({ValueRef{v.id}, OutputKind::User, ""});
                node->outputs.push_back(v);
            }
            g.nodes.push_back(node);
            if (!verifyGraph(g).ok()) continue;
            for (const PassInfo* pass : {&pass_functionalize, &pass_decompose, &pass_canonicalize, &pass_fold_batch_norm, &pass_eliminate_common, &pass_eliminate_dead}) {
                const PassOptions options;
                const Progress progress;
                PassContext context(std::string(pass->name), options, progress);
                auto next = pass->runGraph(g, context);
                if (!next.ok()) {
                    EXPECT_NE(next.error().kind, ErrorKind::PassBug) << op.target << " seed " << seed << ": " << next.error().line();
                    break;
                }
                g = std::move(*next);
                auto verified = verifyGraph(g);
                EXPECT_TRUE(verified.ok()) << op.target << " seed " << seed << " after " << pass->name << ": " << (verified.ok() ? "" : verified.error().line());
            }
            ++passed;
        }
    }
    EXPECT_GT(inferred, 3000);
    EXPECT_GT(passed, 10000);
}

}  // namespace
}  // namespace fw
