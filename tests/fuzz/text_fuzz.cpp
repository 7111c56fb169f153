// Fuzzes the FX text reader and printer. With clang: -DFW_LIBFUZZER -fsanitize=fuzzer,address,undefined makes it a libFuzzer program.
#include <string_view>

#include "core/graph/graph_text.h"
#include "tests/fuzz/fuzz_targets.h"

namespace fw::fuzz {

void text(const uint8_t* data, size_t size) {
    auto graph = parseGraph(std::string_view(reinterpret_cast<const char*>(data), size), "fuzzed");
    if (!graph.ok()) return;
    const std::string printed = printGraph(*graph);
    auto again = parseGraph(printed, "printed");
    FW_CHECK(again.ok(), "our own text does not parse: " + (again.ok() ? std::string() : again.error().line()) + "\n" + printed);
    FW_CHECK(printGraph(*again) == printed, "our own text is not printed back the same:\n" + printed);
}

}  // namespace fw::fuzz

#ifdef FW_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fw::fuzz::text(data, size);
    return 0;
}
#endif
