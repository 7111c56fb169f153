// The weights and constants of one model in a .pt2 archive: raw payloads described by a config, or torch.save files (formats.md 1.1, 1.3).
#pragma once
#include <set>

#include "core/import/exported_types.h"
#include "core/import/torch_save.h"
#include "core/import/zip_archive.h"

namespace fw {

/// Payloads of one archive, each read once however many names and models share it.
class Pt2Payloads {
public:
    Pt2Payloads(const ZipArchive& zip, bool bigEndian) : zip_(zip), bigEndian_(bigEndian) {}
    /// Without a value when the archive leaves the payload out (absent, or empty where the tensor is not).
    Result<std::optional<Tensor>> tensor(const std::string& entry, const TensorType& type, const std::string& name, std::vector<std::string>& notes);

private:
    const ZipArchive& zip_;
    bool bigEndian_;
    std::map<std::string, Blob> read_;
    std::map<std::pair<std::string, DType>, std::shared_ptr<Storage>> made_;
};

/// Collects the weights of one model.
class Pt2Weights {
public:
    Pt2Weights(const ZipArchive& zip, Pt2Payloads& payloads) : zip_(zip), payloads_(payloads) {}
    /// A PayloadConfig; its payloads lie in `folder`.
    Result<void> addConfig(const ZipEntry& config, const std::string& folder);
    /// A whole state dict in one torch.save entry (torch up to 2.8). An empty entry is an empty dict.
    Result<void> addSaved(const ZipEntry&);
    /// Adds a promise of synthetic values for every stored input of the graph that no payload named, and says so in the notes.
    Result<void> complete(const Graph&, const std::string& where);

    std::map<std::string, Weight> weights;
    std::vector<std::string> notes;

private:
    Result<void> addOne(Json meta, const std::string& folder, const std::string& where);
    const ZipArchive& zip_;
    Pt2Payloads& payloads_;
    std::map<std::string, std::string> firstName_;  ///< entry -> the first name in the config that uses it
};

}  // namespace fw
