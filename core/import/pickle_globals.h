// The names a pickle may mention, and what each may become. A name that is not here refuses the file.
#pragma once
#include <optional>
#include <string_view>

#include "core/tensor/dtype.h"

namespace fw {

enum class PickleGlobal : uint8_t {
    OrderedDict, Container, RebuildTensor, RebuildTensorV3, RebuildParameter, RebuildSparse, RebuildQuantized, RebuildMeta, RebuildSubclass, Size,
    DeviceName, DTypeName, LayoutName, StorageClass, UntypedStorageClass, BytesFromText, FakeTensor, TensorClass,
};
struct PickleGlobalInfo {
    PickleGlobal what;
    std::optional<DType> dtype;  ///< of DTypeName and StorageClass, where we have such a dtype
};
std::optional<PickleGlobalInfo> findPickleGlobal(std::string_view module, std::string_view name);

}  // namespace fw
