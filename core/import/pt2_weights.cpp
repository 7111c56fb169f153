// Reads payload configs. Two names with one path share one storage; a payload that is not there is a promise of synthetic values, kept by name.
#include "core/import/pt2_weights.h"

#include <fmt/format.h>

#include "core/import/payload_tensor.h"

namespace fw {

namespace {

/// Sizes and strides of a stored tensor, known to be constant; unknown strides are contiguous.
Geometry geometryOf(const TensorType& t) {
    Geometry g;
    for (Expr e : t.sizes) g.sizes.push_back(e.constant());
    if (t.strides.empty()) g.strides = contiguousStrides(g.sizes);
    for (Expr e : t.strides) g.strides.push_back(e.constant());
    g.offset = t.offset.constant();
    return g;
}

bool isConstant(const TensorType& t) {
    for (const auto* list : {&t.sizes, &t.strides})
        for (Expr e : *list)
            if (!e.isConst()) return false;
    return t.offset.isConst();
}

}  // namespace

Result<std::optional<Tensor>> Pt2Payloads::tensor(const std::string& entryName, const TensorType& type, const std::string& name, std::vector<std::string>& notes) {
    const std::string where = zip_.where(entryName) + ", tensor " + name;
    Geometry g = geometryOf(type);
    FW_TRY(extent, extentOf(g, where));
    const ZipEntry* entry = zip_.find(entryName);
    if (!entry || (entry->bytes == 0 && extent > 0)) return std::optional<Tensor>();
    auto& storage = made_[{entryName, type.dtype}];
    if (!storage) {
        auto known = read_.find(entryName);
        if (known == read_.end()) {
            FW_TRY(data, zip_.read(*entry));
            known = read_.emplace(entryName, std::move(data)).first;
        }
        FW_TRY(made, payloadStorage(known->second, type.dtype, bigEndian_, where));
        storage = std::move(made);
    }
    // A weight that was a view on a GPU can be stored without what lay before it: then it starts at 0 (formats.md 1.1).
    const auto held = int64_t(storage->bytes() / size_t(itemSize(type.dtype)));
    if (extent > held && extent - g.offset <= held) {
        notes.push_back(fmt::format("{} is stored without the {} elements before it; it is read from the start of its payload", name, g.offset));
        g.offset = 0;
    }
    FW_TRY(tensor, payloadTensor(storage, type.dtype, g, where));
    return std::optional<Tensor>(std::move(tensor));
}

Result<void> Pt2Weights::addConfig(const ZipEntry& entry, const std::string& folder) {
    FW_TRY(data, zip_.read(entry));
    const std::string where = zip_.where(entry.name);
    FW_TRY(document, JsonDocument::parse(data.text(), where));
    const Json config = document.root()["config"];
    if (!config.isObject()) return badInput("has no \"config\"; export it again", where);
    for (Json meta : config) FW_TRY_VOID(addOne(meta, folder, where));
    return {};
}

Result<void> Pt2Weights::addOne(Json meta, const std::string& folder, const std::string& where) {
    const std::string fqn(meta.key());
    const auto path = meta["path_name"].text();
    if (!path || path->empty()) return badInput("the weight " + fqn + " has no path; export it again", where);
    const std::string entryName = folder + std::string(*path);
    const Json tensorMeta = meta["tensor_meta"];
    if (!tensorMeta) {
        notes.push_back(fqn + " is a custom object, which is shown by name only");
        return {};
    }
    ExportedTypes types(where);
    FW_TRY(type, types.storedTensor(tensorMeta, fqn));
    Weight w;
    w.fqn = fqn;
    w.syntheticName = firstName_.emplace(entryName, fqn).first->second;
    w.type = std::move(type);
    if (meta["use_pickle"].boolean().value_or(false)) {
        const ZipEntry* entry = zip_.find(entryName);
        if (!entry) return badInput("the payload " + entryName + " of " + fqn + " is missing; export it again", where);
        FW_TRY(data, zip_.read(*entry));
        FW_TRY(file, TorchSaveFile::open(data, zip_.where(entryName)));
        const PickleValue& root = file.pickle().at(file.pickle().root);
        if (root.kind == PickleKind::Tensor) {
            FW_TRY(values, file.tensor(file.pickle().tensor(root), fqn));
            w.tensor = std::move(values);
        } else {
            notes.push_back(fqn + " is a tensor subclass; Fusewright cannot read its values and uses synthetic ones");
        }
    } else {
        FW_TRY(values, payloads_.tensor(entryName, w.type, fqn, notes));
        w.tensor = std::move(values);
    }
    weights.insert_or_assign(fqn, std::move(w));
    return {};
}

Result<void> Pt2Weights::addSaved(const ZipEntry& entry) {
    if (entry.bytes == 0) return {};
    FW_TRY(data, zip_.read(entry));
    FW_TRY(file, TorchSaveFile::open(data, zip_.where(entry.name)));
    FW_TRY(list, listTensors(file));
    weights.merge(list.weights);
    notes.insert(notes.end(), list.notes.begin(), list.notes.end());
    return {};
}

Result<void> Pt2Weights::complete(const Graph& graph, const std::string& where) {
    for (const GraphInput& input : graph.inputs) {
        if (input.kind != InputKind::Parameter && input.kind != InputKind::Buffer && input.kind != InputKind::TensorConstant) continue;
        if (weights.count(input.target)) continue;
        Weight w;
        w.fqn = w.syntheticName = input.target;
        w.type = *input.value.tensor();  // the program's reader made sure it is one
        if (!isConstant(w.type)) return badInput("the weight " + w.fqn + " has a symbolic size; export it again", where);
        weights.emplace(w.fqn, std::move(w));
    }
    size_t floats = 0, others = 0;
    for (const auto& [fqn, w] : weights)
        if (!w.tensor) ++(isFloat(w.type.dtype) ? floats : others);
    if (floats) notes.push_back(fmt::format("{} of {} weights are not in the file: synthetic values, made from their names, stand for them", floats, weights.size()));
    if (others) notes.push_back(fmt::format("{} of {} weights are not in the file and hold no floats: zeros stand for them", others, weights.size()));
    return {};
}

}  // namespace fw
