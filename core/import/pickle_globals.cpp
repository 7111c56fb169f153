// The allow-list itself (formats.md 2.3 and 2.4).
#include "core/import/pickle_globals.h"

namespace fw {

namespace {

struct Row { std::string_view module, name; PickleGlobal what; };
constexpr Row kRows[] = {
    {"collections", "OrderedDict", PickleGlobal::OrderedDict},
    {"collections", "Counter", PickleGlobal::Container},
    {"__builtin__", "set", PickleGlobal::Container},
    {"builtins", "set", PickleGlobal::Container},
    {"torch._utils", "_rebuild_tensor", PickleGlobal::RebuildTensor},
    {"torch._utils", "_rebuild_tensor_v2", PickleGlobal::RebuildTensor},
    {"torch._utils", "_rebuild_tensor_v3", PickleGlobal::RebuildTensorV3},
    {"torch._utils", "_rebuild_parameter", PickleGlobal::RebuildParameter},
    {"torch._utils", "_rebuild_parameter_with_state", PickleGlobal::RebuildParameter},
    {"torch._utils", "_rebuild_sparse_tensor", PickleGlobal::RebuildSparse},
    {"torch._utils", "_rebuild_qtensor", PickleGlobal::RebuildQuantized},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", PickleGlobal::RebuildMeta},
    {"torch._utils", "_rebuild_wrapper_subclass", PickleGlobal::RebuildSubclass},
    {"torch._utils", "_rebuild_device_tensor_from_numpy", PickleGlobal::RebuildSubclass},
    {"torch._utils", "_rebuild_nested_tensor", PickleGlobal::RebuildSubclass},
    {"torch._tensor", "_rebuild_from_type_v2", PickleGlobal::RebuildSubclass},
    {"torch._export.serde.serialize", "_reconstruct_fake_tensor", PickleGlobal::FakeTensor},
    {"torch.serialization", "_get_layout", PickleGlobal::LayoutName},
    {"_codecs", "encode", PickleGlobal::BytesFromText},
    {"torch", "Size", PickleGlobal::Size},
    {"torch", "device", PickleGlobal::DeviceName},
    {"torch", "Tensor", PickleGlobal::TensorClass},
    {"torch.nn.parameter", "Parameter", PickleGlobal::TensorClass},
    {"torch.storage", "UntypedStorage", PickleGlobal::UntypedStorageClass},
    {"torch", "UntypedStorage", PickleGlobal::UntypedStorageClass},
};

struct StorageRow { std::string_view name; std::optional<DType> dtype; };
constexpr StorageRow kStorages[] = {
    {"FloatStorage", DType::F32}, {"DoubleStorage", DType::F64}, {"HalfStorage", DType::F16}, {"BFloat16Storage", DType::BF16},
    {"LongStorage", DType::I64}, {"IntStorage", DType::I32}, {"ShortStorage", DType::I16}, {"CharStorage", DType::I8}, {"ByteStorage", DType::U8},
    {"BoolStorage", DType::Bool}, {"ComplexFloatStorage", DType::C64}, {"ComplexDoubleStorage", DType::C128},
    {"QInt8Storage", DType::I8}, {"QUInt8Storage", DType::U8}, {"QInt32Storage", DType::I32},
};
constexpr std::string_view kLayouts[] = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"};
/// Dtypes torch can name and we have no values for.
constexpr std::string_view kOtherDTypes[] = {"complex32", "quint8", "qint8", "qint32", "quint4x2", "quint2x4", "float4_e2m1fn_x2"};

}  // namespace

std::optional<PickleGlobalInfo> findPickleGlobal(std::string_view module, std::string_view name) {
    for (const Row& row : kRows)
        if (row.module == module && row.name == name) return PickleGlobalInfo{row.what, {}};
    if (module != "torch") return std::nullopt;
    for (const StorageRow& row : kStorages)
        if (row.name == name) return PickleGlobalInfo{PickleGlobal::StorageClass, row.dtype};
    for (std::string_view layout : kLayouts)
        if (layout == name) return PickleGlobalInfo{PickleGlobal::LayoutName, {}};
    for (std::string_view dtype : kOtherDTypes)
        if (dtype == name) return PickleGlobalInfo{PickleGlobal::DTypeName, {}};
    if (const auto dtype = dtypeFromTorchName(name)) return PickleGlobalInfo{PickleGlobal::DTypeName, dtype};
    return std::nullopt;
}

}  // namespace fw
