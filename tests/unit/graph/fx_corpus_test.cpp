// Every FX text that torch wrote into the shared data parses, and what we print reads back to the same text; most of it is torch's text.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/graph/graph_text.h"
#include "core/graph/graph_verify.h"

using namespace fw;
namespace fs = std::filesystem;

namespace {

std::string contentOf(const fs::path& p) {
    std::ifstream in(p, std::ios::binary);
    std::stringstream s;
    s << in.rdbuf();
    return s.str();
}

std::vector<fs::path> filesNamed(std::initializer_list<std::string_view> names) {
    std::vector<fs::path> out;
    for (const char* folder : {"captures", "traces"}) {
        fs::path root = fs::path(FW_SHARED_DIR) / folder;
        if (!fs::exists(root)) continue;
        for (const auto& e : fs::recursive_directory_iterator(root))
            if (std::find(names.begin(), names.end(), e.path().filename().string()) != names.end()) out.push_back(e.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// The class as torch prints it: print(ep) without heading, margin and trailer.
std::string bodyOf(const std::string& text) {
    std::istringstream in(text);
    std::string line, out;
    bool program = false;
    while (std::getline(in, line)) {
        if (line == "ExportedProgram:") { program = true; continue; }
        if (line.starts_with("Graph signature:")) break;
        if (program && line.starts_with("    ")) line.erase(0, 4);
        while (!line.empty() && line.back() == ' ') line.pop_back();
        out += line + "\n";
    }
    while (out.size() > 1 && out.ends_with("\n\n")) out.pop_back();
    return out;
}

}  // namespace

TEST(FxCorpus, ReadableFilesParseAndRoundTrip) {
    auto files = filesNamed({"decomposed.fx.txt", "fx_graph_readable.py", "fx_graph_transformed.py"});
    if (files.empty()) GTEST_SKIP() << "no shared data at " << FW_SHARED_DIR;
    int same = 0;
    std::string different;
    for (const auto& file : files) {
        SCOPED_TRACE(file.string());
        std::string text = contentOf(file);
        auto graph = parseGraph(text, file.filename().string());
        ASSERT_TRUE(graph.ok()) << graph.error().line();
        auto verified = verifyGraph(*graph);
        EXPECT_TRUE(verified.ok()) << verified.error().line();
        for (bool full : {false, true}) {
            PrintOptions options{.strides = full, .signature = full};
            std::string once = printGraph(*graph, options);
            auto again = parseGraph(once, "printed");
            ASSERT_TRUE(again.ok()) << again.error().line();
            ASSERT_EQ(printGraph(*again, options), once);
        }
        if (bodyOf(printGraph(*graph)) == bodyOf(text)) ++same;
        else different += "\n  " + file.parent_path().filename().string() + "/" + file.filename().string();
    }
    std::cout << same << " of " << files.size() << " files reproduced exactly; not:" << different << "\n";
    // The others repeat a comment for two different stacks with the same innermost line, which the text cannot tell apart.
    EXPECT_GE(same * 100, int(files.size()) * 95);
}

TEST(FxCorpus, RunnableFilesParseWithInputTypes) {
    auto files = filesNamed({"fx_graph_runnable.py"});
    if (files.empty()) GTEST_SKIP() << "no shared data at " << FW_SHARED_DIR;
    for (const auto& file : files) {
        SCOPED_TRACE(file.string());
        auto graph = parseGraph(contentOf(file), "fx_graph_runnable.py");
        ASSERT_TRUE(graph.ok()) << graph.error().line();
        for (const GraphInput& in : graph->inputs) EXPECT_FALSE(std::holds_alternative<OpaqueType>(in.value.type)) << in.value.name;
        // The same graph as the readable file beside it, up to comments and annotations.
        auto readable = parseGraph(contentOf(file.parent_path() / "fx_graph_readable.py"), "fx_graph_readable.py");
        ASSERT_TRUE(readable.ok());
        ASSERT_EQ(graph->nodes.size(), readable->nodes.size());
        for (size_t i = 0; i < graph->nodes.size(); ++i) {
            EXPECT_EQ(graph->nodes[i]->target, readable->nodes[i]->target);
            EXPECT_EQ(graph->nodes[i]->name, readable->nodes[i]->name);
        }
    }
}

TEST(FxCorpus, GraphsOfStructuredLogsParse) {
    fs::path root = fs::path(FW_SHARED_DIR) / "traces";
    if (!fs::exists(root)) GTEST_SKIP() << "no shared data at " << FW_SHARED_DIR;
    int count = 0;
    for (const auto& e : fs::directory_iterator(root)) {
        if (e.path().extension() != ".log") continue;
        auto graphs = parseGraphs(contentOf(e.path()), e.path().filename().string());
        ASSERT_TRUE(graphs.ok()) << graphs.error().line();
        for (const auto& g : *graphs) {
            ++count;
            PrintOptions options{.strides = true, .signature = true};
            std::string once = printGraph(g.graph, options);
            auto again = parseGraph(once, "printed");
            ASSERT_TRUE(again.ok()) << again.error().line() << "\n" << once;
            EXPECT_EQ(printGraph(*again, options), once);
        }
    }
    EXPECT_GT(count, 20);
    std::cout << count << " graphs\n";
}
