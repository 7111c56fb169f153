// Fuzzes the archive readers: ZIP, JSON, pickle, weights. With clang: -DFW_LIBFUZZER -fsanitize=fuzzer,address,undefined makes it a libFuzzer program.
#include <new>

#include "core/graph/graph_verify.h"
#include "core/import/import_bytes.h"
#include "tests/fuzz/fuzz_targets.h"

namespace fw::fuzz {

void archive(const uint8_t* data, size_t size) {
    // A heap copy of exactly this length: a read past it is seen, and alignment is that of a mapping.
    auto* raw = static_cast<std::byte*>(::operator new(size ? size : 1, std::align_val_t(64)));
    std::memcpy(raw, data, size);
    const std::shared_ptr<const std::byte> owner(raw, [](const std::byte* p) { ::operator delete(const_cast<std::byte*>(p), std::align_val_t(64)); });
    auto file = importBytes(Blob{ByteSpan(raw, size), owner}, "fuzzed");
    if (!file.ok()) {
        FW_CHECK(file.error().line().find("fuzzed") != std::string::npos, "an error that does not name the file: " + file.error().line());
        return;
    }
    for (const ImportedModel& model : file->models) {
        if (auto good = verifyGraph(*model.graph); !good.ok()) throwInternal(__FILE__, __LINE__, "an imported graph is broken: " + good.error().line());
        for (const auto& [name, weight] : *model.graph->weights) {
            if (!weight.tensor || weight.tensor->numel() == 0) continue;
            (void)weight.tensor->at(0);
            (void)weight.tensor->at(weight.tensor->numel() - 1);
        }
    }
}

}  // namespace fw::fuzz

#ifdef FW_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fw::fuzz::archive(data, size);
    return 0;
}
#endif
