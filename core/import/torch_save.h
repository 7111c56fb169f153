// Files of torch.save: a ZIP with data.pkl and storages, or the stream of before 1.6 (formats.md 2).
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "core/graph/graph.h"
#include "core/import/pickle_reader.h"
#include "core/import/zip_archive.h"

namespace fw {

/// One opened file: its object as data, and its storages made into tensors on demand, each storage once (so tied tensors share it).
class TorchSaveFile {
public:
    /// A ZIP whose entries include <root>/data.pkl, or a pre-1.6 stream.
    static Result<TorchSaveFile> open(const Blob& bytes, const std::string& where);
    static bool isLegacyStream(ByteSpan bytes);

    const Pickle& pickle() const { return pickle_; }
    /// Values of a tensor record. Without a value when it has none (meta or fake tensors).
    Result<std::optional<Tensor>> tensor(const PickleTensor&, const std::string& name);
    const std::string& where() const { return where_; }

private:
    static Result<TorchSaveFile> openZip(const Blob& bytes, const std::string& where);
    static Result<TorchSaveFile> openStream(const Blob& bytes, const std::string& where);
    Result<std::shared_ptr<Storage>> storage(const PickleStorage&, DType, const std::string& where);

    std::string where_;
    Pickle pickle_;
    bool bigEndian_ = false;
    std::shared_ptr<const ZipArchive> zip_;
    std::string root_;
    std::map<std::string, Blob, std::less<>> streamed_;  ///< pre-1.6: key -> bytes
    std::map<std::pair<std::string, DType>, std::shared_ptr<Storage>> made_;
};

/// Tensors of a state dict (nested dicts and lists flattened with dots) as weights..
struct TensorList { std::map<std::string, Weight> weights; std::vector<std::string> order; std::vector<std::string> notes; };
Result<TensorList> listTensors(TorchSaveFile&);

}  // namespace fw
