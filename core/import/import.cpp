// The front door: detects, dispatches, and turns anything a library throws into an error.
#include "core/import/import.h"

#include <filesystem>
#include <new>

#include <fmt/format.h>

#include "core/graph/graph_text.h"
#include "core/import/file_format.h"
#include "core/import/import_bytes.h"
#include "core/import/mapped_file.h"
#include "core/import/pt2_archive.h"
#include "core/import/torch_save.h"

namespace fw {

namespace {

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

/// A state dict: no graph to run, but its tensors can be looked at.
Result<ImportedFile> readTorchSave(const Blob& bytes, const std::string& path) {
    FW_TRY(file, TorchSaveFile::open(bytes, path));
    FW_TRY(tensors, listTensors(file));
    if (tensors.weights.empty()) return unsupported("holds no tensors that Fusewright can show; save a state dict, or the whole model with torch.export.save", path);
    auto graph = std::make_shared<Graph>();
    ImportedModel model;
    model.name = stem(path);
    model.notes = std::move(tensors.notes);
    model.notes.push_back(fmt::format("a torch.save file holds {} tensors and no graph; torch.export.save keeps both", tensors.weights.size()));
    graph->weights = std::make_shared<const std::map<std::string, Weight>>(std::move(tensors.weights));
    model.graph = std::move(graph);
    ImportedFile out{path, "torch.save", {}};
    out.models.push_back(std::move(model));
    return out;
}

Result<ImportedFile> readZip(const Blob& bytes, const std::string& path, const Progress& progress) {
    FW_TRY(zip, ZipArchive::open(bytes, path));
    ImportedFile out{path, "pt2", {}};
    if (!pt2Root(zip).empty()) {
        FW_TRY(models, readPt2(zip, progress));
        out.models = std::move(models);
        return out;
    }
    if (isLegacyPt2(zip)) {
        FW_TRY(models, readLegacyPt2(zip, progress));
        out.models = std::move(models);
        out.format = "pt2 (2.6 layout)";
        return out;
    }
    bool pickle = false, script = false;
    for (const ZipEntry& e : zip.entries()) {
        const std::string_view name = std::string_view(e.name).substr(std::min(e.name.size(), e.name.find('/')));
        pickle |= name == "/data.pkl";
        script |= name == "/constants.pkl" || name.starts_with("/code/");
    }
    if (script) return unsupported("is a TorchScript archive; export the model with torch.export.save instead", path);
    if (pickle) return readTorchSave(bytes, path);
    return badInput("is a ZIP archive, but neither of torch.export.save nor of torch.save", path);
}

Result<ImportedFile> readFxText(const Blob& bytes, const std::string& path) {
    FW_TRY(graph, parseGraph(bytes.text(), path));
    ImportedModel model;
    model.name = graph.name;
    if (!graph.weights) graph.weights = std::make_shared<const std::map<std::string, Weight>>();
    model.graph = std::make_shared<const Graph>(std::move(graph));
    ImportedFile out{path, "FX text", {}};
    out.models.push_back(std::move(model));
    return out;
}

Result<ImportedFile> dispatch(const Blob& bytes, const std::string& path, const Progress& progress) {
    FW_TRY_VOID(progress.check());
    const FileFormat format = detectFormat(bytes.bytes);
    switch (format) {
        case FileFormat::Zip: return readZip(bytes, path, progress);
        case FileFormat::LegacyTorchSave: return readTorchSave(bytes, path);
        case FileFormat::FxText: return readFxText(bytes, path);
        case FileFormat::Unknown:
            return badInput("is of no format that Fusewright knows; open a .pt2 of torch.export.save, FX graph text, or a torch.save file", path);
        default:
            return unsupported(fmt::format("looks like {}, which Fusewright does not open yet; open a .pt2 of torch.export.save, FX graph text, or a torch.save file",
                                           formatName(format)), path);
    }
}

/// Messages quote names from the file. Control characters in them would break the one line that every error is, so they are shown as '?'.
void makePrintable(std::string& text) {
    constexpr size_t kLongest = 500;
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
    if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
}
Error printable(Error e) {
    makePrintable(e.message);
    makePrintable(e.where);
    for (std::string& line : e.trail) makePrintable(line);
    if (e.trail.size() > 8) e.trail.resize(8);  // one line per nested graph
    return e;
}

/// What other tools left beside a capture and a user may want to read next to it.
void addNeighbours(ImportedFile& file) {
    constexpr uint64_t kLargest = uint64_t{1} << 20;
    namespace fs = std::filesystem;
    if (file.models.empty()) return;
    const fs::path folder = fs::path(file.path).parent_path();
    for (const char* name : {"inductor/summary.json", "info.json"}) {
        std::error_code ignored;
        const fs::path path = folder / name;
        if (const auto size = fs::file_size(path, ignored); ignored || size == 0 || size > kLargest) continue;
        if (auto data = mapFile(path.string()); data.ok()) file.models[0].extras[std::string("beside/") + name] = std::string(data->text());
    }
}

}  // namespace

Result<ImportedFile> importBytes(const Blob& bytes, const std::string& path, const Progress& progress) {
    try {
        auto file = dispatch(bytes, path, progress);
        if (!file.ok()) return printable(std::move(file.error()));
        for (ImportedModel& model : file->models)
            for (std::string& note : model.notes) makePrintable(note);
        return file;
    } catch (const std::bad_alloc&) {
        return badInput("needs more memory than this machine gives; close other programs or open a smaller file", path);
    } catch (const InternalError&) {
        throw;  // ours to fix, and the engine's to catch: not the file's fault
    } catch (const std::exception& e) {
        return badInput(fmt::format("cannot be read ({}); copy or export it again", e.what()), path);
    }
}

Result<ImportedFile> importFile(const std::string& path, const Progress& progress) {
    FW_TRY(bytes, mapFile(path));
    FW_TRY(file, importBytes(bytes, path, progress));
    addNeighbours(file);
    return file;
}

}  // namespace fw
