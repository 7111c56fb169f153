// A step as text documents with ids per line, ready for the code pane; and the Python lines that a graph comes from. No widgets; runs off the UI thread.
#pragma once
#include "core/pipeline/trace.h"
#include "views/code_model.h"

namespace fw {

struct StepTexts {
    CodeDocumentPtr before, after;   ///< before is null for the import; both equal when nothing changed
    bool comparable = false;         ///< same language, so that a line diff says something
};
StepTexts stepTexts(const Step&);
CodeDocumentPtr snapshotText(const Snapshot&);

/// The frame that tells a reader most: the innermost user frame; without one, the innermost outside torch; without that, the innermost. Null: no stack.
const SourceFrame* readerFrame(const Provenance&);
/// The source lines of a graph, by file and line, each with the ops that came from it. A user line that stands for many ops (a call of a library
/// model) is followed by the library's own lines:
///     # model.py
///       88  x = self.fc(x)        # linear_1, gelu
///       90  out = bert(x)         # 320 ops
///           # site-packages/transformers/models/bert/modeling_bert.py
///             243  q = self.query(x)   # linear_2
/// `only`: these nodes alone; empty = all.
CodeDocumentPtr sourceLines(const Graph&, const std::vector<NodeId>& only = {});

}  // namespace fw
