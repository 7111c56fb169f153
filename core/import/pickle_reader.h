// A pickle as data. Nothing is ever called or imported: a global is a name on a list, and REDUCE applies only the few torch rebuild functions,
// which here make records (formats.md 2.2 to 2.4). Anything else refuses the file, by module and name.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/import/bytes.h"
#include "core/tensor/dtype.h"

namespace fw {

/// Index of a value in Pickle::values. Values refer to each other by index, so sharing and even cycles need no ownership.
using PickleId = uint32_t;

enum class PickleKind : uint8_t { None, Bool, Int, Double, String, BigInt, List, Tuple, Dict, Global, Storage, Tensor, Opaque };

/// ("storage", class, key, location, count[, view]): bytes that live in another entry.
struct PickleStorage {
    std::string key;
    std::optional<DType> dtype;   ///< absent: UntypedStorage, counted in bytes
    int64_t count = 0;            ///< elements, or bytes without a dtype
    int64_t viewOffset = 0;       ///< elements into the storage `key` (pre-1.6 files)
};
struct PickleTensor {
    std::optional<PickleStorage> storage;  ///< absent: a tensor without data (meta, fake)
    DType dtype = DType::F32;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    bool requiresGrad = false;
};
struct PickleValue {
    PickleKind kind = PickleKind::None;
    uint32_t depth = 0;               ///< of nesting below
    int64_t integer = 0;              ///< Int, Bool; index into Pickle::storages or Pickle::tensors
    double real = 0;                  ///< Double
    std::string text;                 ///< String; digits of BigInt (hexadecimal); "module name" of Global; class of Opaque
    std::vector<PickleId> items;      ///< List, Tuple; Dict: key, value, key, value; Opaque: the tensors it was made from
};

struct Pickle {
    std::vector<PickleValue> values;
    std::vector<PickleStorage> storages;
    std::vector<PickleTensor> tensors;
    PickleId root = 0;
    size_t bytesRead = 0;
    const PickleValue& at(PickleId id) const { return values[id]; }
    const PickleTensor& tensor(const PickleValue& v) const { return tensors[size_t(v.integer)]; }
    /// Value of a string key, or null. The last one wins.
    const PickleValue* member(const PickleValue& dict, std::string_view key) const;
};

/// Reads one pickle from the start of `bytes`. `where` names file and entry in errors. Memory is bounded by a small multiple of `bytes`.
Result<Pickle> readPickle(ByteSpan bytes, const std::string& where);

/// Most levels of containers within containers; state dicts have 3.
constexpr uint32_t kMaxPickleDepth = 128;

}  // namespace fw
