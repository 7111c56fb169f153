// Forms of FX text (formats.md 3.2 to 3.5) one by one, and input that is wrong.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "core/graph/graph_text.h"
#include "core/graph/graph_verify.h"
#include "core/graph/python_literal.h"

using namespace fw;

namespace {

std::string inClass(const std::string& params, const std::string& body) {
    return "class GraphModule(torch.nn.Module):\n    def forward(self" + params + "):\n" + body;
}

Graph mustParse(const std::string& text) {
    auto g = parseGraph(text, "text");
    EXPECT_TRUE(g.ok()) << g.error().line() << "\n" << text;
    if (!g.ok()) return {};
    auto v = verifyGraph(*g);
    EXPECT_TRUE(v.ok()) << v.error().line();
    return std::move(*g);
}

std::string errorOf(const std::string& text) {
    auto g = parseGraph(text, "f.py");
    return g.ok() ? "parsed" : g.error().line();
}

/// Parses and prints; equal text is expected back.
void expectSame(const std::string& text, PrintOptions options = {}) { EXPECT_EQ(printGraph(mustParse(text), options), text); }

}  // namespace

TEST(PythonLiteral, FloatsPrintAsRepr) {
    EXPECT_EQ(pythonFloat(1e-5), "1e-05");
    EXPECT_EQ(pythonFloat(0.0001), "0.0001");
    EXPECT_EQ(pythonFloat(1), "1.0");
    EXPECT_EQ(pythonFloat(-0.0), "-0.0");
    EXPECT_EQ(pythonFloat(0.7071067811865476), "0.7071067811865476");
    EXPECT_EQ(pythonFloat(1e16), "1e+16");
    EXPECT_EQ(pythonFloat(123456789012345680.0), "1.2345678901234568e+17");
    EXPECT_EQ(pythonFloat(1234567890123456.0), "1234567890123456.0");
    EXPECT_EQ(pythonFloat(5e-324), "5e-324");
    EXPECT_EQ(pythonFloat(-std::numeric_limits<double>::infinity()), "-inf");
    EXPECT_EQ(pythonComplex(1, -2.5), "(1-2.5j)");
    EXPECT_EQ(pythonComplex(0, 2), "2j");
    std::mt19937_64 random(3);
    for (int i = 0; i < 20000; ++i) {
        double v = std::bit_cast<double>(random());
        if (!std::isfinite(v)) continue;
        ASSERT_EQ(std::strtod(pythonFloat(v).c_str(), nullptr), v);
    }
}

TEST(PythonLiteral, StringsReadBack) {
    for (std::string s : {"plain", "it's", "a \"b\" 'c'", "line\nbreak\ttab\\", "\x01\x7f", "gr\xc3\xbc\xc3\x9f"}) EXPECT_EQ(readPythonString(pythonString(s)), s);
    EXPECT_EQ(pythonString("it's"), "\"it's\"");
    EXPECT_EQ(readPythonString("'\\u00e9'"), "\xc3\xa9");
    EXPECT_EQ(readPythonString("'open"), std::nullopt);
    EXPECT_EQ(readPythonString("'\\"), std::nullopt);
}

TEST(FxText, ArgumentsOfEveryKindPrintAsTheyWereRead) {
    expectSame(inClass(", x: \"f32[4]\"",
                       "        a: \"f32[4]\" = torch.ops.demo.f.default(x, 1, -2, 1e-05, inf, -inf, nan, True, None, 'it', \"it's\", [1, [2.0]], (x,), ());  x = None\n"
                       "        b: \"f32[4]\" = torch.ops.demo.g.default(a, torch.float16, torch.strided, torch.channels_last, device(type='cuda', index=0), (1+2j), Ellipsis);  a = None\n"
                       "        c: \"f32[4]\" = torch.ops.demo.h.default(b, slice(1, None, 2), {'k': b, 'n': 3}, mod_Pt(b, 2), torch.Size([1, 2]), torch.ops.demo.op.default, alpha = 0.5);  b = None\n"
                       "        return (c,)\n"));
}

TEST(FxText, StridesDevicesAndSymbols) {
    expectSame(inClass(", x: \"f32[8, s77][s77, 1]cuda:0\", s77: \"Sym(s77)\", y: \"f32[][]cpu\", z",
                       "        mul: \"Sym(2*s77)\" = s77 * 2;  s77 = None\n"
                       "        view: \"f32[4, 2*s77][2*s77, 1]cuda:0\" = torch.ops.aten.view.default(x, [4, mul]);  x = mul = None\n"
                       "        ge: \"Sym(u0 >= 0)\" = torch.ops.demo.test.default(z);  z = ge = None\n"
                       "        return (view, None, 3)\n"),
               {.strides = true});
}

TEST(FxText, GetitemsBecomeOutputsOfTheirNode) {
    std::string text = inClass(", x: \"f32[4, 8]\"",
                               "        split = torch.ops.aten.split.Tensor(x, 2);  x = None\n"
                               "        getitem: \"f32[2, 8]\" = split[0]\n"
                               "        getitem_1: \"f32[2, 8]\" = split[1];  split = None\n"
                               "        return (getitem, getitem_1)\n");
    Graph g = mustParse(text);
    ASSERT_EQ(g.nodes.size(), 1u);
    EXPECT_EQ(g.nodes[0]->outputShape, OutputShape::List);
    ASSERT_EQ(g.nodes[0]->outputs.size(), 2u);
    EXPECT_EQ(g.nodes[0]->outputs[1].name, "getitem_1");
    EXPECT_NE(g.nodes[0]->arg("self"), nullptr);
    EXPECT_EQ(printGraph(g), text);
}

TEST(FxText, DynamoNamesPlaceholdersAnew) {
    Graph g = mustParse(inClass(", L_x_: \"f32[s77, 16][16, 1]cpu\", s77: \"Sym(s77)\"",
                                "        l_x_ = L_x_\n"
                                "        lin: \"f32[s77, 16][16, 1]cpu\" = torch._C._nn.linear(l_x_, l_x_)\n"
                                "        shape = lin.shape\n"
                                "        ceil: \"Sym(s77)\" = math_ceil(s77);  s77 = None\n"
                                "        return (lin, ceil)\n"));
    EXPECT_EQ(g.inputs[0].value.name, "l_x_");
    ASSERT_EQ(g.nodes.size(), 3u);
    EXPECT_EQ(g.nodes[0]->target, "torch._C._nn.linear");
    EXPECT_EQ(g.nodes[1]->target, "builtins.getattr");
    EXPECT_EQ(g.nodes[2]->target, "math.ceil");
    EXPECT_NE(printGraph(g).find("ceil: \"Sym(s77)\" = math_ceil(s77)"), std::string::npos);
}

TEST(FxText, MethodsModulesAttributesAndInPlaceRoundTrip) {
    std::string text = inClass(", l_x_: \"f32[4, 16]\", l_b_: \"i64[]\"",
                               "        # File: project/m.py:3 in forward, code: y = x.softmax(-1)\n"
                               "        y: \"f32[4, 16]\" = l_x_.softmax(-1);  l_x_ = None\n"
                               "        l_b_ += 1;  iadd: \"i64[]\" = l_b_;  l_b_ = None\n"
                               "        y[0] = 1.5;  setitem = y;  setitem = None\n"
                               "        z: \"f32[1, 16]\" = y[(slice(1, None, None), slice(None, None, 2))];  y = None\n"
                               "        m: \"f32[1, 16]\" = getattr(self.layers, \"0\")(z);  z = None\n"
                               "        w: \"f32[16]\" = self.weight\n"
                               "        n: \"f32[1, 16]\" = m @ w;  m = w = None\n"
                               "        neg: \"f32[1, 16]\" = -n;  n = None\n"
                               "        return (neg, iadd)\n");
    Graph g = mustParse(text);
    EXPECT_EQ(printGraph(g), text);
    std::vector<std::string> targets;
    for (const NodePtr& n : g.nodes) targets.push_back(n->target);
    EXPECT_EQ(targets, (std::vector<std::string>{"method.softmax", "_operator.iadd", "_operator.setitem", "_operator.getitem", "module.layers.0", "_operator.matmul", "_operator.neg"}));
    EXPECT_EQ(g.inputs.size(), 3u);
    EXPECT_EQ(g.inputs[2].kind, InputKind::TensorConstant);
}

TEST(FxText, LogLinesWithPrefixAndColours) {
    std::string prefix = "V1130 11:58:09.910000 29289 torch/_dynamo/output_graph.py:2987] [0/0] [__graph_code] ";
    Graph g = mustParse(prefix + "TRACED GRAPH\n" + prefix + " ===== __compiled_fn_1 =====\nprogram output in between\n" + prefix +
                        " /usr/lib/torch/fx/_lazy_graph_module.py class GraphModule(torch.nn.Module):\n" + prefix +
                        "    def forward(self, L_x_: \"f32[8][1]cpu\"):\n" + prefix + "        l_x_ = L_x_\n" + prefix + "        \n" + prefix +
                        "         # File: /p/f.py:11 in model, code: y = torch.sin(x)\n" + prefix +
                        "        \x1b[31my\x1b[0m: \"f32[8][1]cpu\" = torch.sin(l_x_);  l_x_ = None\nmore output\n" + prefix + "        return (y,)\n");
    ASSERT_EQ(g.nodes.size(), 1u);
    EXPECT_EQ(g.nodes[0]->target, "torch.sin");
    EXPECT_EQ(g.inputs[0].value.name, "l_x_");
    ASSERT_NE(g.nodes[0]->provenance.userFrame(), nullptr);
    EXPECT_EQ(g.nodes[0]->provenance.userFrame()->line, 11);
}

TEST(FxText, ExpandedAndJointForms) {
    Graph expanded = mustParse("class GraphModule(torch.nn.Module):\n"
                               "    def forward(\n"
                               "        self,\n"
                               "        primals_1: \"f32[4]\",  # ParamAOTInput(target='l.weight')\n"
                               "        primals_2: \"f32[4]\",  # PlainAOTInput(idx=0)\n"
                               "    ):\n"
                               "        mul: \"f32[4]\" = torch.ops.aten.mul.Tensor(primals_1, primals_2)\n"
                               "        return (\n"
                               "            mul,  # PlainAOTOutput(idx=0)\n"
                               "            primals_1,  # SavedForBackwardsAOTOutput(idx=0)\n"
                               "        )\n");
    EXPECT_EQ(expanded.inputs[0].kind, InputKind::Parameter);
    EXPECT_EQ(expanded.inputs[0].target, "l.weight");
    EXPECT_EQ(expanded.inputs[1].kind, InputKind::User);
    EXPECT_EQ(expanded.outputs.size(), 2u);
    Graph joint = mustParse(inClass(", primals, tangents",
                                    "        primals_1: \"f32[4][1]cpu\"; tangents_1: \"f32[4][1]cpu\";\n"
                                    "\n"
                                    "        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)\n"
                                    "        mul: \"f32[4][1]cpu\" = torch.ops.aten.mul.Tensor(primals_1, tangents_1)\n"
                                    "        return pytree.tree_unflatten([mul, None], self._out_spec)\n"));
    ASSERT_EQ(joint.inputs.size(), 2u);
    EXPECT_EQ(joint.inputs[1].value.name, "tangents_1");
    EXPECT_NE(joint.inputs[1].value.tensor(), nullptr);
    EXPECT_EQ(joint.outputs.size(), 2u);
}

TEST(FxText, RunnableWithConstantsAndSymbols) {
    Graph g = mustParse("import torch\nclass Repro(torch.nn.Module):\n"
                        "    def __init__(self) -> None:\n        super().__init__()\n"
                        "        self.register_buffer('_tensor_constant0', tensor([[0, 2], [4, -1]]))\n"
                        "    def forward(self, primals_1, primals_2):\n"
                        "        _tensor_constant0 = self._tensor_constant0\n"
                        "        add = torch.ops.aten.add.Tensor(primals_2, _tensor_constant0);  _tensor_constant0 = None\n"
                        "        return (add,)\n"
                        "def load_args(reader):\n"
                        "    reader.symint(6, expr='s77')  # primals_1\n"
                        "    buf2 = reader.storage(None, 64*s77, device=device(type='cuda', index=1))\n"
                        "    reader.tensor(buf2, (s77, 2), (2, 1), dtype=torch.float16, is_leaf=True)  # primals_2\n"
                        "load_args._version = 0\nimport os\nos.system('never run')\n");
    EXPECT_EQ(describeType(g.inputs[1].value.type, true), "f16[s77, 2][2, 1]cuda:1");
    EXPECT_EQ(describeType(g.inputs[0].value.type), "Sym(s77)");
    EXPECT_EQ(g.hints.at("s77"), 6);
    ASSERT_TRUE(g.weights && g.weights->count("_tensor_constant0"));
    EXPECT_EQ(g.weights->at("_tensor_constant0").tensor->atInt(3), -1);
    EXPECT_EQ(describeType(g.inputs[2].value.type), "i64[2, 2]");
}

TEST(FxText, CodeWithoutAnnotationsGetsInferredTypes) {
    Graph g = mustParse("class Repro(torch.nn.Module):\n"
                        "    def forward(self, x, w):\n"
                        "        permute = torch.ops.aten.permute.default(w, [1, 0])\n"
                        "        mm = torch.ops.aten.mm.default(x, permute)\n"
                        "        unknown = torch.ops.demo.f.default(mm)\n"
                        "        return (mm, unknown)\n"
                        "def load_args(reader):\n"
                        "    buf0 = reader.storage(None, 64)\n"
                        "    reader.tensor(buf0, (2, 8), is_leaf=True)  # x\n"
                        "    buf1 = reader.storage(None, 64)\n"
                        "    reader.tensor(buf1, (3, 8), is_leaf=True)  # w\n");
    ASSERT_EQ(g.nodes.size(), 3u);
    EXPECT_EQ(describeType(g.nodes[0]->outputs[0].type, true), "f32[8, 3][1, 8]cpu");
    EXPECT_EQ(describeType(g.nodes[1]->outputs[0].type), "f32[2, 3]");
    EXPECT_EQ(describeType(g.nodes[2]->outputs[0].type), "");
}

TEST(FxText, SignatureRoundTrips) {
    std::string text = "s77 = 12\nExportedProgram:\n"
                       "    class GraphModule(torch.nn.Module):\n"
                       "        def forward(self, p_w: \"f32[4]\", b_n: \"i64[]\", x: \"f32[s77, 4]\"):\n"
                       "            mul: \"f32[s77, 4]\" = torch.ops.aten.mul.Tensor(x, p_w);  x = p_w = None\n"
                       "            add: \"i64[]\" = torch.ops.aten.add.Tensor(b_n, 1);  b_n = None\n"
                       "            return (add, mul)\n"
                       "    \nGraph signature:\n    # inputs\n"
                       "    p_w: PARAMETER target='l.w'\n    b_n: BUFFER target='n' persistent=False\n    x: USER_INPUT\n"
                       "    \n    # outputs\n    add: BUFFER_MUTATION target='n'\n    mul: USER_OUTPUT\n"
                       "    \nRange constraints: {s77: VR[2, 64]}\n";
    Graph g = mustParse(text);
    EXPECT_EQ(g.outputs[0].kind, OutputKind::BufferMutation);
    EXPECT_FALSE(g.inputs[1].persistent);
    EXPECT_EQ(g.symbols.at("s77").max, Expr(64));
    EXPECT_EQ(g.hints.at("s77"), 12);
    EXPECT_TRUE(g.weights && g.weights->count("l.w"));
    EXPECT_EQ(printGraph(g, {.signature = true}), text);
    // The spelling of 2.5 to 2.8.
    Graph old = mustParse("class G(torch.nn.Module):\n    def forward(self, p_w: \"f32[4]\", x: \"f32[4]\"):\n        return (x,)\n\n"
                          "Graph signature: ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_w'), target='l.w', persistent=None), "
                          "InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name='x'), target=None, persistent=None)], "
                          "output_specs=[OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='x'), target=None)])\nRange constraints: {}\n");
    EXPECT_EQ(old.inputs[0].kind, InputKind::Parameter);
    EXPECT_EQ(old.inputs[0].target, "l.w");
}

TEST(FxText, ErrorsNameTheLineAndTheRemedy) {
    EXPECT_EQ(errorOf("hello"), "f.py: no FX graph found: expected 'class NAME(torch.nn.Module):' with 'def forward(self, ...):' inside, as gm.print_readable() prints it");
    EXPECT_EQ(errorOf(inClass(", x", "        y = torch.ops.aten.sin.default(z)\n        return (y,)\n")),
              "f.py:3: 'z' is used but was never defined: paste the whole graph, from 'def forward' to 'return'");
    EXPECT_EQ(errorOf(inClass(", x", "        y = torch.ops.aten.sin.default(x)\n")),
              "f.py:2: forward has no return statement: the text seems truncated, paste it to its end");
    EXPECT_EQ(errorOf(inClass(", x", "        y = torch.ops.aten.sin.default(x\n")),
              "f.py:3: a bracket opened here is never closed: the text seems truncated");
    EXPECT_EQ(errorOf(inClass(", x", "        y = torch.ops.aten.sin.default(x ! 3)\n        return y\n")), "f.py:3: found '!' where ',' or ')' was expected");
    EXPECT_EQ(errorOf(inClass(", x", "        y = torch.ops.aten.cat.default([x, x + 1])\n        return y\n")),
              "f.py:3: 'x' inside the argument 'x + 1' is not a size symbol: FX text writes one operation per line");
}

TEST(FxText, HostileTextNeverCrashes) {
    auto deep = [](char open, char close, int n) { return std::string(size_t(n), open) + std::string(size_t(n), close); };
    EXPECT_NE(errorOf(inClass(", x", "        y = torch.ops.a.b.default(" + deep('[', ']', 10000) + ")\n        return y\n")).find("deeper than"), std::string::npos);
    EXPECT_NE(errorOf(inClass(", x", "        y = " + deep('(', ')', 10000) + "\n        return y\n")).find("f.py:3"), std::string::npos);
    EXPECT_NE(errorOf(inClass(", x", "        y = " + std::string(10000, '-') + "x\n        return y\n")).find("deeper than"), std::string::npos);
    std::string chain = "x", calls = "x";
    for (int i = 0; i < 10000; ++i) { chain += " + x"; calls += ".a"; }
    EXPECT_NE(errorOf(inClass(", x", "        y = " + chain + "\n        return y\n")).find("operators"), std::string::npos);
    EXPECT_NE(errorOf(inClass(", x", "        y = " + calls + "\n        return y\n")).find("chain"), std::string::npos);
    EXPECT_EQ(errorOf(inClass(", x: \"f32[" + deep('(', ')', 10000) + "]\"", "        return x\n")), "parsed");  // a type nobody can read stays text
    EXPECT_EQ(errorOf(inClass(", x", "        y = x[1000000000000]\n        return y\n")), "parsed");
    std::string classes;
    for (int i = 0; i < 10000; ++i) classes += std::string(size_t(i), ' ') + "class a(torch.nn.Module):\n";
    EXPECT_NE(errorOf(classes), "parsed");
}

TEST(FxText, DamagedTextGivesAnErrorOrAGraphThatVerifies) {
    const std::string text = "s7 = 3\nExportedProgram:\n    class G(torch.nn.Module):\n"
                             "        def forward(self, p: \"f32[s7, 4][4, 1]cpu\", y: \"Sym(s7)\"):\n"
                             "            # File: a.py:3 in f, code: x\n"
                             "            t = self.true_graph_0\n"
                             "            c = torch.ops.higher_order.cond(y, t, t, (p, y));  t = None\n"
                             "            g: \"f32[s7]\" = c[0];  c = None\n"
                             "            a: \"Sym(2*s7)\" = y * 2\n"
                             "            p += a;  iadd: \"f32[4]\" = p\n"
                             "            v: \"f32[8]\" = torch.ops.aten.view.default(g, [a, -1], k = {'a': (1+2j)})\n"
                             "            return (v, iadd, None)\n"
                             "        class true_graph_0(torch.nn.Module):\n"
                             "            def forward(self, p, y):\n"
                             "                return (p,)\n"
                             "    \nGraph signature:\n    # inputs\n    p: PARAMETER target='w'\n    # outputs\n    v: USER_OUTPUT\nRange constraints: {s7: VR[2, 9]}\n";
    ASSERT_EQ(errorOf(text), "parsed");
    std::mt19937 random(11);
    const std::string splice[] = {"(", ")", "[", "]", "\"", "'", "=", ";", ",", "\n", "None", "self", ".", "\\", "{", "}", "9999999999999999999", "\x00", "\xff", "#", ": ", "    "};
    int accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string damaged = text;
        for (unsigned edits = 1 + random() % 3; edits-- > 0;) {
            size_t at = random() % damaged.size();
            switch (random() % 4) {
                case 0: damaged.erase(at, 1 + random() % 12); break;
                case 1: damaged.insert(at, splice[random() % std::size(splice)]); break;
                case 2: damaged[at] = char(random()); break;
                default: damaged.resize(at + 1); break;
            }
            if (damaged.empty()) damaged = " ";
        }
        auto g = parseGraph(damaged, "damaged");
        if (!g.ok()) { ASSERT_FALSE(g.error().message.empty()); continue; }
        ++accepted;
        auto verified = verifyGraph(*g);
        ASSERT_TRUE(verified.ok()) << verified.error().line() << "\n" << damaged;
        std::string once = printGraph(*g, {.strides = true, .signature = true});
        auto again = parseGraph(once, "printed");
        ASSERT_TRUE(again.ok()) << again.error().line() << "\n" << damaged << "\n" << once;
        ASSERT_EQ(printGraph(*again, {.strides = true, .signature = true}), once) << damaged;
    }
    EXPECT_GT(accepted, 500);  // otherwise the damage is too heavy to test anything
}
