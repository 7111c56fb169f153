// Graphs of .pt2 archives print, read back and print the same: what the runner demands of every step must hold for every input.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "core/graph/graph_text.h"
#include "core/graph/graph_diff.h"
#include "core/graph/graph_verify.h"
#include "core/import/import.h"

using namespace fw;
namespace fs = std::filesystem;

TEST(ImportRoundTrip, EveryCapture) {
    fs::path root = fs::path(FW_SHARED_DIR) / "captures";
    if (!fs::exists(root)) GTEST_SKIP() << "no shared data at " << FW_SHARED_DIR;
    std::vector<fs::path> files;
    for (const auto& e : fs::recursive_directory_iterator(root))
        if (e.path().extension() == ".pt2") files.push_back(e.path());
    std::sort(files.begin(), files.end());
    int graphs = 0;
    for (const auto& file : files) {
        SCOPED_TRACE(file.string());
        auto imported = importFile(file.string());
        if (!imported.ok()) continue;  // archives of broken or foreign form are the importer's tests
        for (const auto& model : imported->models) {
            ++graphs;
            auto verified = verifyGraph(*model.graph);
            EXPECT_TRUE(verified.ok()) << verified.error().line();
            for (bool strides : {false, true}) {
                const PrintOptions options{.strides = strides, .signature = true};
                std::string once = printGraph(*model.graph, options);
                auto again = parseGraph(once, "printed");
                ASSERT_TRUE(again.ok()) << again.error().line();
                std::string twice = printGraph(*again, options);
                EXPECT_TRUE(once == twice) << unifiedDiff(once, twice, 1).substr(0, 3000);
            }
        }
    }
    std::cout << graphs << " graphs\n";
    EXPECT_GT(graphs, 30);
}
