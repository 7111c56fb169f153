// The tests of formats.md section 0, in its order.
#include "core/import/file_format.h"

#include <algorithm>

#include "core/import/torch_save.h"

namespace fw {

namespace {

bool startsWith(ByteSpan bytes, std::string_view magic) {
    return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

std::string_view skipBlank(std::string_view text) {
    const size_t at = text.find_first_not_of(" \t\r\n");
    return at == text.npos ? std::string_view() : text.substr(at);
}

bool looksLikeText(std::string_view text) {
    const auto head = text.substr(0, 4096);
    return std::none_of(head.begin(), head.end(), [](char c) { return static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b'; });
}

/// "V1130 11:58:09.910000 29289 torch/...] {" at the start of a line, with a JSON record behind the bracket: a structured trace.
bool looksLikeTrace(std::string_view text) {
    const auto line = text.substr(0, text.find('\n'));
    const size_t bracket = line.find("] {");
    return bracket != line.npos && line.size() > 20 && std::string_view("VIWEC").find(line[0]) != std::string_view::npos &&
           std::isdigit(static_cast<unsigned char>(line[1])) && line.find("] {\"") == bracket;
}

}  // namespace

FileFormat detectFormat(ByteSpan bytes) {
    using namespace std::string_view_literals;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (startsWith(bytes, "PK\3\4"sv) || startsWith(bytes, "PK\5\6"sv)) return FileFormat::Zip;
    if (TorchSaveFile::isLegacyStream(bytes)) return FileFormat::LegacyTorchSave;
    if (startsWith(bytes, "ML\xEFR"sv)) return FileFormat::MlirBytecode;
    if (const auto header = loadLe<uint64_t>(bytes, 0); header && *header <= bytes.size() && text.substr(8, 1) == "{") return FileFormat::Safetensors;
    if (looksLikeText(text)) {
        const auto start = skipBlank(text);
        if (start.starts_with("HloModule")) return FileFormat::Hlo;
        for (std::string_view word : {"module"sv, "func.func"sv, "#loc"sv, "\"builtin.module\""sv})
            if (start.starts_with(word) && (text.find("stablehlo.") != text.npos || text.find("mhlo.") != text.npos || text.find("chlo.") != text.npos))
                return FileFormat::StableHlo;
        if (looksLikeTrace(start)) return FileFormat::TorchTrace;
        if (text.find("def forward(") != text.npos) return FileFormat::FxText;
        if (start.starts_with("graph():")) return FileFormat::FxRepr;
        return FileFormat::Unknown;
    }
    if (startsWith(bytes, "\x08"sv)) return FileFormat::Onnx;
    if (startsWith(bytes, "\x0A"sv)) return FileFormat::TensorFlow;
    return FileFormat::Unknown;
}

std::string_view formatName(FileFormat format) {
    switch (format) {
        case FileFormat::Zip: return "a ZIP archive";
        case FileFormat::LegacyTorchSave: return "torch.save";
        case FileFormat::FxText: return "FX text";
        case FileFormat::FxRepr: return "the text of print(graph)";
        case FileFormat::Hlo: return "HLO text";
        case FileFormat::StableHlo: return "StableHLO text";
        case FileFormat::MlirBytecode: return "MLIR bytecode";
        case FileFormat::TorchTrace: return "a TORCH_TRACE log";
        case FileFormat::Safetensors: return "a safetensors file";
        case FileFormat::Onnx: return "an ONNX model";
        case FileFormat::TensorFlow: return "a TensorFlow graph";
        case FileFormat::Unknown: break;
    }
    return "unknown";
}

}  // namespace fw
