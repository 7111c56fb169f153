// Finds the models of an archive and joins each with its weights, constants, sample inputs and extra files.
#include "core/import/pt2_archive.h"

#include <fmt/format.h>

#include "core/import/exported_program.h"
#include "core/import/pt2_weights.h"

namespace fw {

namespace {

constexpr uint64_t kLargestExtra = uint64_t{1} << 20;  // texts to show; anything larger is data

/// Texts beside the model. One that cannot be read is a note, never a reason not to open the model.
void addExtraFiles(const ZipArchive& zip, const std::string& prefix, ImportedModel& model) {
    for (const ZipEntry& e : zip.entries()) {
        if (!e.name.starts_with(prefix) || e.name.size() == prefix.size()) continue;
        const std::string name = "extra/" + e.name.substr(prefix.size());
        if (e.bytes > kLargestExtra) {
            model.extras[name] = fmt::format("({} bytes)", e.bytes);
        } else if (auto data = zip.read(e); data.ok()) {
            model.extras[name] = std::string(data->text());
        } else {
            model.notes.push_back(data.error().line());
        }
    }
}

/// Shapes of the example inputs. They can hold any Python class, which only costs us this list.
void addSampleInputs(const ZipArchive& zip, const ZipEntry* entry, ImportedModel& model) {
    if (!entry || entry->bytes == 0) return;
    auto list = [&]() -> Result<TensorList> {
        FW_TRY(data, zip.read(*entry));
        FW_TRY(file, TorchSaveFile::open(data, zip.where(entry->name)));
        return listTensors(file);
    }();
    if (!list.ok()) {
        model.notes.push_back("the sample inputs cannot be read: " + list.error().line());
        return;
    }
    std::string text;
    for (const std::string& name : list->order) {
        const Weight& w = list->weights.at(name);
        text += fmt::format("{}: {}\n", name, describeType(w.type));
    }
    model.extras["sample_inputs"] = text;
}

Result<ImportedModel> readModel(const ZipArchive& zip, const ZipEntry& program) {
    const std::string where = zip.where(program.name);
    FW_TRY(data, zip.read(program));
    FW_TRY(document, JsonDocument::parse(data.text(), where));
    FW_TRY(exported, readExportedProgram(document.root(), where));
    ImportedModel model;
    model.graph = std::move(exported.graph);
    model.extras = std::move(exported.extras);
    return model;
}

Result<void> attach(ImportedModel& model, Pt2Weights& weights, const std::string& where) {
    FW_TRY_VOID(weights.complete(*model.graph, where));
    auto graph = std::make_shared<Graph>(*model.graph);
    graph->weights = std::make_shared<const std::map<std::string, Weight>>(std::move(weights.weights));
    model.graph = std::move(graph);
    model.notes.insert(model.notes.end(), weights.notes.begin(), weights.notes.end());
    return {};
}

}  // namespace

std::string pt2Root(const ZipArchive& zip) {
    for (const ZipEntry& e : zip.entries()) {
        const size_t slash = e.name.find('/');
        if (slash != e.name.npos && e.name.substr(slash + 1) == "archive_format") return e.name.substr(0, slash);
    }
    return {};
}

bool isLegacyPt2(const ZipArchive& zip) { return zip.find("serialized_exported_program.json") != nullptr; }

Result<std::vector<ImportedModel>> readPt2(const ZipArchive& zip, const Progress& progress) {
    const std::string root = pt2Root(zip) + "/";
    auto small = [&](const std::string& name) -> Result<std::string> {
        const ZipEntry* e = zip.find(root + name);
        if (!e) return std::string();
        FW_TRY(data, zip.read(*e));
        std::string text(data.text().substr(0, 64));
        while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
        return text;
    };
    FW_TRY(format, small("archive_format"));
    FW_TRY(version, small("archive_version"));
    FW_TRY(order, small("byteorder"));
    if (format != "pt2") return badInput("the archive's format is \"" + format + "\", not pt2; save the model with torch.export.save", zip.where(root + "archive_format"));
    if (!version.empty() && version != "0")
        return unsupported("the archive's version is " + version + " and Fusewright reads version 0; save it with PyTorch 2.8 to 2.15", zip.where(root + "archive_version"));
    if (!order.empty() && order != "little" && order != "big") return badInput("the byte order \"" + order + "\" is unknown; the file is damaged", zip.where(root + "byteorder"));

    const std::string models = root + "models/";
    Pt2Payloads payloads(zip, order == "big");
    std::vector<ImportedModel> out;
    for (const ZipEntry& e : zip.entries()) {
        if (!e.name.starts_with(models) || !e.name.ends_with(".json")) continue;
        FW_TRY_VOID(progress.check());
        const std::string name = e.name.substr(models.size(), e.name.size() - models.size() - 5);
        progress.at(-1, "reading " + name);
        FW_TRY(model, readModel(zip, e));
        model.name = name;
        Pt2Weights weights(zip, payloads);
        for (const char* kind : {"weights", "constants"}) {
            const std::string folder = fmt::format("{}data/{}/", root, kind);
            if (const ZipEntry* saved = zip.find(folder + name + ".pt")) {
                FW_TRY_VOID(weights.addSaved(*saved));
            } else if (const ZipEntry* config = zip.find(fmt::format("{}{}_{}_config.json", folder, name, kind))) {
                FW_TRY_VOID(weights.addConfig(*config, folder));
            }
        }
        FW_TRY_VOID(attach(model, weights, zip.where(e.name)));
        addSampleInputs(zip, zip.find(root + "data/sample_inputs/" + name + ".pt"), model);
        if (out.empty()) addExtraFiles(zip, root + "extra/", model);  // they belong to the archive; once is enough
        out.push_back(std::move(model));
    }
    if (out.empty())
        return unsupported("the archive holds no graph (a package of compiled code or of another runtime does not); save the model with torch.export.save", zip.file());
    return out;
}

Result<std::vector<ImportedModel>> readLegacyPt2(const ZipArchive& zip, const Progress& progress) {
    FW_TRY_VOID(progress.check());
    FW_TRY(model, readModel(zip, *zip.find("serialized_exported_program.json")));
    model.name = "model";
    Pt2Payloads payloads(zip, false);
    Pt2Weights weights(zip, payloads);
    // 2.1 and 2.2 call the same torch.save bytes .json
    for (const char* name : {"serialized_state_dict.pt", "serialized_state_dict.json", "serialized_constants.pt", "serialized_constants.json"})
        if (const ZipEntry* e = zip.find(name)) FW_TRY_VOID(weights.addSaved(*e));
    FW_TRY_VOID(attach(model, weights, zip.where("serialized_exported_program.json")));
    addSampleInputs(zip, zip.find("serialized_example_inputs.pt"), model);
    addExtraFiles(zip, "extra_files/", model);
    std::vector<ImportedModel> out;
    out.push_back(std::move(model));
    return out;
}

}  // namespace fw
