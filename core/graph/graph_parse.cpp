// Reads FX text: split into classes, statements to nodes, then everything that knows the inputs better, then type inference.
#include "core/graph/fx_reader.h"
#include "core/graph/fx_signature.h"
#include "core/graph/graph_text.h"

namespace fw {
namespace {

Result<Graph> readBlock(const FxBlock& block, const std::string& where) {
    uint32_t nextId = 1;
    FW_TRY(g, FxReader(block, where, nextId).read());
    FW_TRY_VOID(readSignature(block, g, where));
    FW_TRY_VOID(readRunnable(block, g, where));
    completeInputs(g);
    inferMissingTypes(g);
    return g;
}

}  // namespace

Result<Graph> parseGraph(std::string_view text, const std::string& where) {
    FW_TRY(blocks, splitFxText(text, where));
    return readBlock(blocks.front(), where);
}

Result<std::vector<ParsedGraph>> parseGraphs(std::string_view text, const std::string& where) {
    FW_TRY(blocks, splitFxText(text, where));
    std::vector<ParsedGraph> out;
    for (const FxBlock& block : blocks) {
        FW_TRY(g, readBlock(block, where));
        out.push_back({block.title, std::move(g)});
    }
    return out;
}

}  // namespace fw
