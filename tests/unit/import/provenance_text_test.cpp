// torch's metadata texts as frames and module paths.
#include "core/import/provenance_text.h"

#include <gmock/gmock.h>

namespace fw {
namespace {

TEST(ProvenanceText, SplitsStackTraces) {
    const auto frames = parseStackTrace(
        "  File \"/home/me/model.py\", line 41, in forward\n    x = self.ln(x)\n        ^^^^^^^^^^\n"
        "  File \"/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py\", line 7, in forward\n    return F.linear(input)\n"
        "File \"<eval_with_key>.24\", line 3, in <lambda>");
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0], (SourceFrame{"/home/me/model.py", 41, "forward", "x = self.ln(x)", true}));
    EXPECT_EQ(frames[1].code, "return F.linear(input)");
    EXPECT_FALSE(frames[1].user);
    EXPECT_EQ(frames[2].function, "<lambda>");
    EXPECT_FALSE(frames[2].user);
    EXPECT_TRUE(parseStackTrace("no traceback at all\n\n").empty());
    EXPECT_TRUE(parseStackTrace("File \"x\", line y, in f").empty());
}

TEST(ProvenanceText, SplitsModuleStacks) {
    using testing::ElementsAre;
    using testing::Pair;
    EXPECT_THAT(parseModuleStack("L__self__,,__main__.M1;L__self__emb,emb,torch.nn.modules.sparse.Embedding"), ElementsAre(Pair("", "M1"), Pair("emb", "Embedding")));
    EXPECT_THAT(parseModuleStack("140,L['self'].layers.0,torch.nn.modules.linear.Linear"), ElementsAre(Pair("layers.0", "Linear")));
    EXPECT_THAT(parseModuleStack("k,p,a.b.Box[(int, x.y)];k2,q,C"), ElementsAre(Pair("p", "Box[(int, x.y)]"), Pair("q", "C")));
    const std::string none = "_empty_nn_module_stack_from_metadata_hook";
    EXPECT_TRUE(parseModuleStack(none + "," + none + "," + none).empty());
    EXPECT_TRUE(parseModuleStack("").empty());
}

}  // namespace
}  // namespace fw
