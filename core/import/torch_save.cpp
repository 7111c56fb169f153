// Opens torch.save files and resolves their storages. A storage is a slice of the archive; the pickle only says how to look at it.
#include "core/import/torch_save.h"

#include <fmt/format.h>

#include "core/import/payload_tensor.h"

namespace fw {

namespace {

constexpr std::string_view kLegacyStart("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e", 15);
constexpr size_t kMostListed = 1'000'000;  // values looked at in one file; the largest models have some thousands

/// Flattens dicts and lists. The pickle bounds nesting, not sharing: the budget bounds how often a shared part is seen.
class Lister {
public:
    Lister(TorchSaveFile& file, TensorList& out) : file_(file), out_(out) {}

    Result<void> visit(PickleId id, const std::string& name, uint32_t depth) {
        const PickleValue& v = file_.pickle().at(id);
        if (++seen_ > kMostListed || depth > kMaxPickleDepth)
            return badInput("its object repeats or nests its parts too often to be a list of tensors", file_.where());
        switch (v.kind) {
            case PickleKind::Tensor: return tensor(file_.pickle().tensor(v), name);
            case PickleKind::Dict:
                for (size_t i = 0; i + 1 < v.items.size(); i += 2) {
                    const PickleValue& key = file_.pickle().at(v.items[i]);
                    FW_TRY_VOID(visit(v.items[i + 1], join(name, key.kind == PickleKind::Int ? std::to_string(key.integer) : key.text), depth + 1));
                }
                return {};
            case PickleKind::List:
            case PickleKind::Tuple:
                for (size_t i = 0; i < v.items.size(); ++i) FW_TRY_VOID(visit(v.items[i], join(name, std::to_string(i)), depth + 1));
                return {};
            case PickleKind::Opaque:
                out_.notes.push_back(fmt::format("{} is a {}, which is shown by name only", name, v.text));
                return {};
            default: return {};
        }
    }

private:
    static std::string join(const std::string& outer, const std::string& inner) { return outer.empty() ? inner : outer + "." + inner; }

    Result<void> tensor(const PickleTensor& t, const std::string& name) {
        const std::string fqn = name.empty() ? "tensor" : name;
        Weight w;
        w.fqn = w.syntheticName = fqn;
        w.type.dtype = t.dtype;
        w.type.requiresGrad = t.requiresGrad;
        w.type.offset = Expr(t.offset);
        for (int64_t s : t.sizes) w.type.sizes.emplace_back(s);
        for (int64_t s : t.strides) w.type.strides.emplace_back(s);
        FW_TRY(values, file_.tensor(t, fqn));
        w.tensor = std::move(values);
        // Two storages with one key are one payload: the first name stands for both.
        if (t.storage) w.syntheticName = firstName_.emplace(t.storage->key, fqn).first->second;
        if (out_.weights.emplace(fqn, std::move(w)).second) out_.order.push_back(fqn);
        return {};
    }

    TorchSaveFile& file_;
    TensorList& out_;
    std::map<std::string, std::string> firstName_;
    size_t seen_ = 0;
};

}  // namespace

bool TorchSaveFile::isLegacyStream(ByteSpan bytes) {
    return bytes.size() >= kLegacyStart.size() && std::memcmp(bytes.data(), kLegacyStart.data(), kLegacyStart.size()) == 0;
}

Result<TorchSaveFile> TorchSaveFile::open(const Blob& bytes, const std::string& where) {
    return isLegacyStream(bytes.bytes) ? openStream(bytes, where) : openZip(bytes, where);
}

Result<TorchSaveFile> TorchSaveFile::openZip(const Blob& bytes, const std::string& where) {
    TorchSaveFile file;
    file.where_ = where;
    FW_TRY(zip, ZipArchive::open(bytes, where));
    file.zip_ = std::make_shared<const ZipArchive>(std::move(zip));
    for (const ZipEntry& e : file.zip_->entries())
        if (e.name.ends_with("/data.pkl") && e.name.find('/') == e.name.size() - 9) file.root_ = e.name.substr(0, e.name.size() - 9);
    const ZipEntry* object = file.zip_->find(file.root_ + "/data.pkl");
    if (!object) return badInput("has no data.pkl, so it is no torch.save file", where);
    if (const ZipEntry* order = file.zip_->find(file.root_ + "/byteorder")) {
        FW_TRY(text, file.zip_->read(*order));
        file.bigEndian_ = text.text() == "big";
    }
    FW_TRY(data, file.zip_->read(*object));
    FW_TRY(pickle, readPickle(data.bytes, file.zip_->where(object->name)));
    file.pickle_ = std::move(pickle);
    return file;
}

Result<TorchSaveFile> TorchSaveFile::openStream(const Blob& bytes, const std::string& where) {
    TorchSaveFile file;
    file.where_ = where;
    size_t at = 0;
    auto next = [&]() {
        auto pickle = readPickle(bytes.bytes.subspan(at), fmt::format("{}, pickle at byte {}", where, at));
        if (pickle.ok()) at += pickle->bytesRead;
        return pickle;
    };
    FW_TRY(magic, next());
    FW_TRY(version, next());
    FW_TRY(system, next());
    if (version.at(version.root).integer != 1001) return badInput("has an unknown version of the old torch.save stream; save it again", where);
    if (const PickleValue* little = system.member(system.at(system.root), "little_endian")) file.bigEndian_ = little->integer == 0;
    FW_TRY(object, next());
    FW_TRY(keys, next());
    file.pickle_ = std::move(object);
    // The count before each storage is in elements of its class, which only the tensors' records know.
    std::map<std::string, int> itemOf;
    for (const PickleStorage& s : file.pickle_.storages) itemOf.emplace(s.key, s.dtype ? itemSize(*s.dtype) : 1);
    for (PickleId id : keys.at(keys.root).items) {
        const std::string& key = keys.at(id).text;
        const auto count = loadLe<int64_t>(bytes.bytes, at);
        const auto item = itemOf.find(key);
        if (item == itemOf.end()) return badInput(fmt::format("lists the storage \"{}\" that no tensor uses; save it again", key), where);
        const uint64_t most = (bytes.size() - std::min(at, bytes.size())) / uint64_t(item->second);
        if (!count || *count < 0 || uint64_t(*count) > most || !fits(bytes.bytes, at + 8, uint64_t(*count) * uint64_t(item->second)))
            return badInput(fmt::format("the storage \"{}\" is cut off; copy or save it again", key), where);
        const uint64_t length = uint64_t(*count) * uint64_t(item->second);
        file.streamed_[key] = Blob{bytes.bytes.subspan(at + 8, length), bytes.owner};
        at += 8 + length;
    }
    return file;
}

Result<std::shared_ptr<Storage>> TorchSaveFile::storage(const PickleStorage& s, DType dtype, const std::string& where) {
    auto& made = made_[{s.key, dtype}];
    if (made) return made;
    Blob data;
    if (zip_) {
        const ZipEntry* entry = zip_->find(root_ + "/data/" + s.key);
        if (!entry) return badInput(fmt::format("its values, entry {}/data/{}, are missing; save it again", root_, s.key), where);
        FW_TRY(bytes, zip_->read(*entry));
        data = std::move(bytes);
    } else {
        const auto it = streamed_.find(s.key);
        if (it == streamed_.end()) return badInput(fmt::format("its storage \"{}\" is missing; save it again", s.key), where);
        data = it->second;
    }
    const uint64_t item = s.dtype ? uint64_t(itemSize(*s.dtype)) : 1;
    if (uint64_t(s.count) > data.size() / item)
        return badInput(fmt::format("its storage claims {} elements and holds {}; save it again", s.count, data.size() / item), where);
    FW_TRY(storage, payloadStorage(data, dtype, bigEndian_, where));
    made = std::move(storage);
    return made;
}

Result<std::optional<Tensor>> TorchSaveFile::tensor(const PickleTensor& t, const std::string& name) {
    const std::string where = where_ + ", tensor " + name;
    Geometry g{t.sizes, t.strides, t.offset};
    FW_TRY_VOID(extentOf(g, where));
    if (!t.storage) return std::optional<Tensor>();
    if (t.storage->viewOffset > (int64_t{1} << 48) - t.offset) return badInput("starts at an impossible element; the file is damaged", where);
    g.offset += t.storage->viewOffset;
    FW_TRY(values, storage(*t.storage, t.dtype, where));
    FW_TRY(tensor, payloadTensor(std::move(values), t.dtype, g, where));
    return std::optional<Tensor>(std::move(tensor));
}

Result<TensorList> listTensors(TorchSaveFile& file) {
    TensorList out;
    FW_TRY_VOID(Lister(file, out).visit(file.pickle().root, "", 0));
    return out;
}

}  // namespace fw
