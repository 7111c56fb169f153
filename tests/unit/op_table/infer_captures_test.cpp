// Every type that a capture or a decomposed text states is what the shape rules infer: dtype and sizes, and for archives the strides too.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "core/graph/op_schema.h"
#include "core/import/import.h"

namespace fw {
namespace {

namespace fs = std::filesystem;

struct Count {
    int checked = 0, strides = 0, noRule = 0;
    std::map<std::string, std::string> wrong, wrongStrides, unknown;
};

/// The rules that give up on purpose: the size is in the data.
bool dataDependent(const std::string& message) { return message.find("run time") != std::string::npos || message.find("values") != std::string::npos; }

void compareGraph(const Graph& g, const std::string& where, bool strides, Count& count) {
    std::map<ValueId, const ValueType*> types;
    for (const GraphInput& in : g.inputs) types[in.value.id] = &in.value.type;
    for (const NodePtr& n : g.nodes) {
        for (const Value& v : n->outputs) types[v.id] = &v.type;
        if (!findOp(n->target) || n->target.starts_with("higher_order.")) continue;
        auto inferred = inferTypes(*n, [&](ValueId id) { auto it = types.find(id); return it == types.end() ? nullptr : it->second; }, g.symbols);
        if (!inferred.ok()) {
            if (!dataDependent(inferred.error().message)) count.unknown[n->target] = where + " " + inferred.error().message;
            ++count.noRule;
            continue;
        }
        for (size_t i = 0; i < n->outputs.size(); ++i) {
            const ValueType& stated = n->outputs[i].type;
            if (std::holds_alternative<OpaqueType>(stated)) continue;
            if (i >= inferred->size()) {
                count.wrong[n->target] = where + " " + n->name + ": too few outputs";
                continue;
            }
            ++count.checked;
            // An unbacked or floating symbol has a name in the file and none for the rule; the kind must agree.
            const SymType* stating = std::get_if<SymType>(&stated);
            const SymType* inferring = std::get_if<SymType>(&(*inferred)[i]);
            if (stating && inferring && !inferring->expr) {
                EXPECT_EQ(stating->kind, inferring->kind) << where << " " << n->name;
                continue;
            }
            const std::string expected = describeType(stated), got = describeType((*inferred)[i]);
            if (expected != got) count.wrong[n->target] = where + " " + n->name + ": stated " + expected + ", inferred " + got;
            const TensorType* t = std::get_if<TensorType>(&stated);
            const TensorType* u = std::get_if<TensorType>(&(*inferred)[i]);
            if (!strides || !t || !u || expected != got) continue;
            ++count.strides;
            // The stride of a dimension of size 1 means nothing, and PyTorch itself is not consistent about it.
            for (size_t d = 0; d < t->sizes.size(); ++d) {
                if (t->sizes[d].isConst(1) || t->strides.empty() || u->strides.empty() || simplify(t->strides[d], g.symbols) == simplify(u->strides[d], g.symbols)) continue;
                if (t->strides[d].str().find("Min(") != std::string::npos) continue;  // torch's guard for an empty dimension
                count.wrongStrides[n->target] = where + " " + n->name + ": stated " + describeType(*t, true) + ", inferred " + describeType(*u, true);
            }
        }
    }
    for (const auto& [name, sub] : g.subgraphs) compareGraph(*sub, where + "/" + name, strides, count);
}

Count compareFolder(const std::string& folder, const std::string& ending, bool strides) {
    Count count;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string path = entry.path().string();
        if (!entry.is_regular_file() || !path.ends_with(ending)) continue;
        auto file = importFile(path);
        if (!file.ok()) continue;
        for (const ImportedModel& m : file->models) compareGraph(*m.graph, entry.path().parent_path().filename().string() + "/" + m.name, strides, count);
    }
    for (const auto& [target, text] : count.wrong) ADD_FAILURE() << target << ": " << text;
    for (const auto& [target, text] : count.wrongStrides) ADD_FAILURE() << target << " strides: " << text;
    for (const auto& [target, text] : count.unknown) ADD_FAILURE() << target << " not inferred: " << text;
    return count;
}

std::string shared(const std::string& sub) { return std::string(FW_SHARED_DIR) + "/" + sub; }

TEST(InferTypes, AgreesWithArchives) {
    if (!fs::exists(shared("captures"))) GTEST_SKIP() << "no shared data";
    const Count count = compareFolder(shared("captures"), ".pt2", true);
    EXPECT_GT(count.checked, 5000);
    RecordProperty("checked", count.checked);
    RecordProperty("strides", count.strides);
}

TEST(InferTypes, AgreesWithDecomposedText) {
    if (!fs::exists(shared("captures"))) GTEST_SKIP() << "no shared data";
    const Count count = compareFolder(shared("captures"), "decomposed.fx.txt", false);
    EXPECT_GT(count.checked, 10000);
}

TEST(InferTypes, AgreesWithDebugFolders) {
    if (!fs::exists(shared("traces"))) GTEST_SKIP() << "no shared data";
    Count count = compareFolder(shared("traces"), "fx_graph_readable.py", false);
    const Count transformed = compareFolder(shared("traces"), "fx_graph_transformed.py", false);
    EXPECT_GT(count.checked + transformed.checked, 100);
}

}  // namespace
}  // namespace fw
