// Every archive of the shared captures: opens, agrees with its info.json, and keeps what formats.md says it holds.
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "core/graph/graph_verify.h"
#include "core/import/import.h"
#include "core/import/synth.h"
#include "tests/unit/import/zip_writer.h"

namespace fw {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<fs::path> archives(const std::string& folder) {
    std::vector<fs::path> out;
    const fs::path root = fs::path(FW_SHARED_DIR) / "captures" / folder;
    if (!fs::exists(root)) return out;
    for (const auto& e : fs::recursive_directory_iterator(root))
        if (e.path().extension() == ".pt2" || e.path().extension() == ".pt") out.push_back(e.path());
    std::sort(out.begin(), out.end());
    return out;
}

class Captures : public testing::Test {
protected:
    void SetUp() override {
        if (!fs::exists(fs::path(FW_SHARED_DIR) / "captures")) GTEST_SKIP() << "the shared captures are not here";
    }
    static Result<ImportedFile> open(const std::string& name) { return importFile((fs::path(FW_SHARED_DIR) / "captures" / name).string()); }
    static const Node* node(const Graph& g, std::string_view target) {
        for (const NodePtr& n : g.nodes)
            if (n->target == target) return n.get();
        return nullptr;
    }
};

TEST_F(Captures, AllOpenAndAreWellFormed) {
    size_t opened = 0;
    for (const char* folder : {"small", "full", "older", "format_fixtures"})
        for (const fs::path& path : archives(folder)) {
            auto file = importFile(path.string());
            ASSERT_TRUE(file.ok()) << file.error().line();
            for (const ImportedModel& m : file->models) {
                auto good = verifyGraph(*m.graph);
                EXPECT_TRUE(good.ok()) << path << ": " << (good.ok() ? "" : good.error().line());
                for (const GraphInput& in : m.graph->inputs)
                    if (in.kind == InputKind::Parameter || in.kind == InputKind::Buffer || in.kind == InputKind::TensorConstant) {
                        ASSERT_TRUE(m.graph->weights->count(in.target)) << path << " " << in.target;
                        EXPECT_EQ(m.graph->weights->at(in.target).type.sizes, in.value.tensor()->sizes) << in.target;
                    }
            }
            ++opened;
        }
    EXPECT_GE(opened, 60u);
}

TEST_F(Captures, OpsAndWeightsAgreeWithInfoJson) {
    size_t compared = 0;
    for (const char* folder : {"small", "full"})
        for (const fs::path& path : archives(folder)) {
            auto file = importFile(path.string());
            ASSERT_TRUE(file.ok()) << file.error().line();
            const Graph& g = *file->models.at(0).graph;
            const auto info = nlohmann::json::parse(test::readFile((path.parent_path() / "info.json").string()));
            std::map<std::string, int> ours, theirs = info["ops"].get<std::map<std::string, int>>();
            size_t getitems = 0, bodies = 0;
            for (const NodePtr& n : g.nodes) {
                // info.json names higher-order ops without their namespace.
                ++ours[n->target.starts_with("higher_order.") ? n->target.substr(13) : n->target];
                if (n->outputShape == OutputShape::Tuple || n->outputShape == OutputShape::List)
                    for (const Value& v : n->outputs) getitems += v.id != 0 && v.name.find("_unused_") == std::string::npos;
                for (const NamedArgument& a : n->args) bodies += a.value.is<SubgraphRef>();
            }
            for (auto it = theirs.begin(); it != theirs.end();) {
                // FX counts its getitems as ops; here they are results of one node.
                it = it->first.find("getitem") != std::string::npos ? theirs.erase(it) : std::next(it);
            }
            EXPECT_EQ(ours, theirs) << path;
            EXPECT_EQ(g.inputs.size() + g.nodes.size() + getitems + bodies + 1, info["nodes"].get<size_t>()) << path;
            size_t missing = 0;
            std::set<std::string> payloads;
            for (const auto& [name, w] : *g.weights)
                if (!w.tensor && payloads.insert(w.syntheticName).second) ++missing;
            EXPECT_EQ(missing, info["weights_left_out"].get<size_t>()) << path;
            ++compared;
        }
    EXPECT_EQ(compared, 42u);
}

TEST_F(Captures, SymbolsHaveTheirRangesAndHints) {
    auto file = open("small/attention_dynamic/attention_dynamic.pt2");
    ASSERT_TRUE(file.ok()) << file.error().line();
    const Graph& g = *file->models[0].graph;
    ASSERT_EQ(g.symbols.size(), 2u);
    EXPECT_EQ(*g.symbols.at("s77").min, Expr(1));
    EXPECT_EQ(*g.symbols.at("s77").max, Expr(64));
    EXPECT_EQ(*g.symbols.at("s27").min, Expr(2));
    EXPECT_EQ(*g.symbols.at("s27").max, Expr(512));
    EXPECT_EQ(g.hints.size(), 2u);
    for (const GraphInput& in : g.inputs)
        if (in.value.name == "x") {
            EXPECT_EQ(in.value.tensor()->sizes[0], Expr::symbol("s77"));
        }

    auto older = open("older/attention_dynamic_torch2.6.0.pt2");
    ASSERT_TRUE(older.ok()) << older.error().line();
    EXPECT_EQ(older->format, "pt2 (2.6 layout)");
    EXPECT_EQ(*older->models[0].graph->symbols.at("s1").max, Expr(512));

    auto derived = open("format_fixtures/m8.pt2");
    ASSERT_TRUE(derived.ok()) << derived.error().line();
    EXPECT_EQ(*derived->models[0].graph->symbols.at("s40").max, Expr(100));
    EXPECT_THAT(derived->models[0].extras.at("derived_ranges"), HasSubstr("2*s40 in [6, 200]"));
    EXPECT_EQ(derived->models[0].graph->hints.size(), 1u);
}

TEST_F(Captures, TiedAndStridedWeightsShareStorage) {
    auto file = open("format_fixtures/m1.pt2");
    ASSERT_TRUE(file.ok()) << file.error().line();
    const auto& w = *file->models[0].graph->weights;
    EXPECT_EQ(w.at("emb.weight").tensor->storage(), w.at("lin.weight").tensor->storage());
    EXPECT_EQ(w.at("lin.weight").syntheticName, "emb.weight");
    const Tensor &v1 = *w.at("v1").tensor, &v2 = *w.at("v2").tensor;
    EXPECT_EQ(v1.storage(), v2.storage());
    EXPECT_EQ(v1.offset(), 4);
    EXPECT_THAT(v2.strides(), testing::ElementsAre(1, 4));
    EXPECT_EQ(v1.at(4), v2.at(0));
    EXPECT_EQ(w.at("bf").tensor->dtype(), DType::BF16);
    EXPECT_EQ(w.at("emptyb").tensor->numel(), 0);
    EXPECT_THAT(file->models[0].extras, testing::Contains(testing::Key("extra/note.txt")));
    EXPECT_THAT(file->models[0].extras.at("sample_inputs"), HasSubstr("0.0: "));

    auto gpt = open("full/gpt2/gpt2.pt2");
    ASSERT_TRUE(gpt.ok()) << gpt.error().line();
    const auto& weights = *gpt->models[0].graph->weights;
    EXPECT_EQ(weights.at("m.lm_head.weight").syntheticName, "m.transformer.wte.weight");
    auto head = materializeWeight(weights.at("m.lm_head.weight")), table = materializeWeight(weights.at("m.transformer.wte.weight"));
    EXPECT_EQ(head->storage(), table->storage());
}

TEST_F(Captures, OneArchiveCanHoldSeveralModels) {
    auto file = open("format_fixtures/multi.pt2");
    ASSERT_TRUE(file.ok()) << file.error().line();
    ASSERT_EQ(file->models.size(), 2u);
    EXPECT_EQ(file->models[0].name, "enc");
    EXPECT_EQ(file->models[1].name, "dec");
    EXPECT_EQ(file->models[0].extras.at("extra/a/b.txt").size(), 1u);
}

TEST_F(Captures, SubgraphsAreKeptWithNamesOfTheirOwn) {
    auto file = open("small/cond_branch/cond_branch.pt2");
    ASSERT_TRUE(file.ok()) << file.error().line();
    const Graph& g = *file->models[0].graph;
    const Node* cond = node(g, "higher_order.cond");
    ASSERT_NE(cond, nullptr);
    EXPECT_EQ(cond->outputShape, OutputShape::Tuple);
    ASSERT_TRUE(cond->args.at(1).value.is<SubgraphRef>());
    const auto& branch = g.subgraphs.at(cond->args[1].value.get<SubgraphRef>()->name);
    EXPECT_EQ(branch->inputs.size(), cond->args.at(3).value.get<ArgList>()->items.size());
    std::set<ValueId> outer;
    for (const GraphInput& in : g.inputs) outer.insert(in.value.id);
    for (const GraphInput& in : branch->inputs) EXPECT_EQ(outer.count(in.value.id), 0u);

    auto loop = open("small/while_power/while_power.pt2");
    const Graph& w = *loop->models[0].graph;
    bool single = false;
    for (const auto& [name, body] : w.subgraphs) single |= body->singleReturn;
    EXPECT_TRUE(single);
}

TEST_F(Captures, ArgumentsKeepNamesKindsAndKeywords) {
    auto file = open("small/mlp/mlp.pt2");
    ASSERT_TRUE(file.ok()) << file.error().line();
    const Graph& g = *file->models[0].graph;
    const Node* linear = node(g, "aten.linear.default");
    ASSERT_NE(linear, nullptr);
    EXPECT_EQ(linear->args[0].name, "input");
    EXPECT_EQ(linear->outputShape, OutputShape::Single);
    EXPECT_EQ(linear->name, linear->outputs[0].name);
    ASSERT_NE(linear->provenance.userFrame(), nullptr);
    EXPECT_EQ(linear->provenance.userFrame()->file, "models.py");
    EXPECT_FALSE(linear->provenance.modulePath().empty());
    EXPECT_THAT(file->models[0].extras.at("torch_version"), testing::StartsWith("2.15"));

    // 2.6 does not say how an argument was passed: the schema does.
    auto older = open("older/attention_dynamic_torch2.6.0.pt2");
    const Node* size = node(*older->models[0].graph, "aten.sym_size.int");
    ASSERT_NE(size, nullptr);
    EXPECT_EQ(size->args[1].name, "dim");
    EXPECT_TRUE(size->outputs[0].sym());

    auto mixed = open("format_fixtures/m9.pt2");
    bool infinite = false, complexNumber = false;
    for (const NodePtr& n : mixed->models[0].graph->nodes)
        for (const NamedArgument& a : n->args) {
            if (auto* d = a.value.get<double>()) infinite |= std::isinf(*d);
            complexNumber |= a.value.is<Complex>();
        }
    EXPECT_TRUE(infinite);
    EXPECT_TRUE(complexNumber);
}

TEST_F(Captures, MutationsGradientsAndLossAreOutputsOfTheirKind) {
    auto joint = open("format_fixtures/joint.pt2");
    ASSERT_TRUE(joint.ok()) << joint.error().line();
    std::vector<OutputKind> kinds;
    for (const GraphOutput& o : joint->models[0].graph->outputs) kinds.push_back(o.kind);
    EXPECT_THAT(kinds, testing::ElementsAre(OutputKind::Loss, OutputKind::GradientToParameter, OutputKind::GradientToParameter));
    auto core = open("format_fixtures/m2_core.pt2");
    EXPECT_EQ(core->models[0].graph->outputs[0].kind, OutputKind::BufferMutation);
    EXPECT_FALSE(core->models[0].graph->outputs[0].target.empty());
}

TEST_F(Captures, TorchSaveFilesOpenAsTensors) {
    auto saved = open("format_fixtures/sd.pt");
    ASSERT_TRUE(saved.ok()) << saved.error().line();
    EXPECT_EQ(saved->format, "torch.save");
    EXPECT_EQ(saved->models[0].graph->weights->size(), 10u);
    auto legacy = open("format_fixtures/legacy.pt");
    ASSERT_TRUE(legacy.ok()) << legacy.error().line();
    EXPECT_EQ(legacy->models[0].graph->weights->size(), 2u);
}

TEST_F(Captures, SampleInputsOfUserClassesCostOnlyThemselves) {
    auto file = open("format_fixtures/m9.pt2");
    ASSERT_TRUE(file.ok()) << file.error().line();
    EXPECT_THAT(file->models[0].notes, testing::Contains(HasSubstr("the sample inputs cannot be read")));
}

TEST_F(Captures, StoredAndOlderWeightsAgree) {
    // One model captured with two versions of PyTorch has the same weights.
    auto now = open("small/conv_bn_relu/conv_bn_relu.pt2"), then = open("older/conv_bn_relu_torch2.6.0.pt2");
    ASSERT_TRUE(now.ok() && then.ok());
    const auto &a = *now->models[0].graph->weights, &b = *then->models[0].graph->weights;
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, w] : a) {
        auto x = materializeWeight(w), y = materializeWeight(b.at(name));
        ASSERT_TRUE(x.ok() && y.ok()) << name;
        ASSERT_EQ(x->sizes(), y->sizes()) << name;
        for (int64_t i = 0; i < x->numel(); ++i) ASSERT_EQ(x->at(i), y->at(i)) << name << " " << i;
    }
}

TEST(Import, RefusesWhatItDoesNotOpenWithARemedy) {
    const fs::path path = fs::path(testing::TempDir()) / "fw_import_test.bin";
    const std::pair<std::string, const char*> cases[] = {
        {"HloModule m\n", "looks like HLO text"},
        {std::string("\x08\x07\x12\x00", 4) + std::string(20, '\0'), "ONNX"},
        {"hello world\n", "of no format"},
        {std::string("\x01\x02\x03\x04"), "of no format"},
    };
    for (const auto& [bytes, message] : cases) {
        std::ofstream(path, std::ios::binary) << bytes;
        auto r = importFile(path.string());
        ASSERT_FALSE(r.ok());
        EXPECT_THAT(r.error().line(), HasSubstr(message));
        EXPECT_THAT(r.error().line(), HasSubstr(path.string()));
    }
    std::ofstream(path, std::ios::binary).close();
    EXPECT_THAT(importFile(path.string()).error().line(), HasSubstr("is empty"));
    fs::remove(path);
    EXPECT_THAT(importFile(path.string()).error().line(), HasSubstr("cannot be opened"));
    EXPECT_THAT(importFile(testing::TempDir()).error().line(), HasSubstr("is a folder"));
}

TEST(Import, StopsWhenCancelled) {
    Progress p;
    p.cancel.cancel();
    const fs::path path = fs::path(testing::TempDir()) / "fw_import_cancel.py";
    std::ofstream(path) << "def forward(self):\n    return ()\n";
    auto r = importFile(path.string(), p);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().kind, ErrorKind::Cancelled);
    fs::remove(path);
}

}  // namespace
}  // namespace fw
