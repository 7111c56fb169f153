// What a file is, told from its bytes (formats.md 0). Names and extensions are not asked.
#pragma once
#include "core/import/bytes.h"

namespace fw {

enum class FileFormat : uint8_t {
    Zip, LegacyTorchSave, FxText, FxRepr, Hlo, StableHlo, MlirBytecode, TorchTrace, Safetensors, Onnx, TensorFlow, Unknown,
};
FileFormat detectFormat(ByteSpan bytes);
/// "HLO text", for messages.
std::string_view formatName(FileFormat);

}  // namespace fw
