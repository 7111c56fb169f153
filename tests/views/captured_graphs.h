// Graphs for the view tests: captures where they are present, else text written here.
#pragma once
#include <fstream>
#include <sstream>
#include <string>

#include "core/graph/graph_text.h"

inline std::string readText(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}
inline std::string captureText(const std::string& name) { return readText(std::string(FW_SHARED_DIR) + "/captures/full/" + name + "/inductor/fx_graph_readable.py"); }

/// A small network as text: a residual block with a softmax beside it.
inline const char* kSmallGraph = R"(
class GraphModule(torch.nn.Module):
    def forward(self, x: "f32[8, 64]", w: "f32[64, 64]"):
        mm: "f32[8, 64]" = torch.ops.aten.mm.default(x, w);  w = None
        relu: "f32[8, 64]" = torch.ops.aten.relu.default(mm);  mm = None
        add: "f32[8, 64]" = torch.ops.aten.add.Tensor(relu, x)
        amax: "f32[8, 1]" = torch.ops.aten.amax.default(add, [-1], True)
        sub: "f32[8, 64]" = torch.ops.aten.sub.Tensor(add, amax);  amax = None
        exp: "f32[8, 64]" = torch.ops.aten.exp.default(sub);  sub = None
        sum_1: "f32[8, 1]" = torch.ops.aten.sum.dim_IntList(exp, [-1], True)
        div: "f32[8, 64]" = torch.ops.aten.div.Tensor(exp, sum_1);  exp = sum_1 = None
        mul: "f32[8, 64]" = torch.ops.aten.mul.Tensor(div, 2.0);  div = None
        return (mul, add)
)";
