// Reads and writes safetensors. Offsets are checked against the file before a view is made of them.
#include "core/import/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/import/json_document.h"
#include "core/import/mapped_file.h"
#include "core/import/payload_tensor.h"

namespace fw {

namespace {

struct Row { std::string_view name; DType dtype; };
constexpr Row kDTypes[] = {
    {"BOOL", DType::Bool}, {"U8", DType::U8}, {"I8", DType::I8}, {"I16", DType::I16}, {"I32", DType::I32}, {"I64", DType::I64},
    {"U16", DType::U16}, {"U32", DType::U32}, {"U64", DType::U64}, {"F16", DType::F16}, {"BF16", DType::BF16}, {"F32", DType::F32},
    {"F64", DType::F64}, {"C64", DType::C64}, {"C128", DType::C128}, {"F8_E4M3", DType::F8E4M3FN}, {"F8_E5M2", DType::F8E5M2},
    {"F8_E4M3FNUZ", DType::F8E4M3FNUZ}, {"F8_E5M2FNUZ", DType::F8E5M2FNUZ}, {"F8_E8M0", DType::F8E8M0FNU},
};
constexpr size_t kDataAlignment = 64;  // of the data's start, as torch aligns payloads; the format asks for 8

std::optional<DType> dtypeOf(std::string_view name) {
    for (const Row& row : kDTypes)
        if (row.name == name) return row.dtype;
    return std::nullopt;
}
std::string_view nameOf(DType dtype) {
    for (const Row& row : kDTypes)
        if (row.dtype == dtype) return row.name;
    return {};
}

Result<Tensor> readOne(Json entry, const Blob& data, const std::string& where) {
    const auto name = entry["dtype"].text();
    const auto dtype = name ? dtypeOf(*name) : std::nullopt;
    if (!dtype) return badInput(fmt::format("has the unknown dtype \"{}\"; write it with a dtype of PyTorch", name.value_or("")), where);
    Geometry g;
    for (Json size : entry["shape"]) {
        const auto n = size.integer();
        if (!n) return badInput("has a size that is no integer; write the file again", where);
        g.sizes.push_back(*n);
    }
    if (auto numel = checkedNumel(g.sizes); !numel.ok()) return badInput("has an impossible size (" + numel.error().message + ")", where);
    g.strides = contiguousStrides(g.sizes);
    std::vector<int64_t> range;
    for (Json at : entry["data_offsets"]) range.push_back(at.integer().value_or(-1));
    if (range.size() != 2 || range[0] < 0 || range[1] < range[0] || uint64_t(range[1]) > data.size())
        return badInput(fmt::format("has data outside the file's {} bytes; the file is damaged or cut off", data.size()), where);
    FW_TRY(extent, extentOf(g, where));
    if (uint64_t(range[1] - range[0]) != uint64_t(extent) * uint64_t(itemSize(*dtype)))
        return badInput(fmt::format("has {} bytes of data where its shape needs {}; write the file again", range[1] - range[0], extent * itemSize(*dtype)), where);
    const Blob slice{data.bytes.subspan(size_t(range[0]), size_t(range[1] - range[0])), data.owner};
    FW_TRY(storage, payloadStorage(slice, *dtype, false, where));
    return payloadTensor(std::move(storage), *dtype, g, where);
}

Result<std::map<std::string, Tensor>> readAll(const std::string& path) {
    FW_TRY(file, mapFile(path));
    const auto length = loadLe<uint64_t>(file.bytes, 0);
    if (!length || !fits(file.bytes, 8, *length)) return badInput("is no safetensors file: its header is longer than the file", path);
    FW_TRY(document, JsonDocument::parse(file.text().substr(8, *length), path + ", header"));
    if (!document.root().isObject()) return badInput("is no safetensors file: its header is no JSON object", path);
    const Blob data{file.bytes.subspan(8 + *length), file.owner};
    std::map<std::string, Tensor> out;
    for (Json entry : document.root()) {
        if (entry.key() == "__metadata__") continue;
        std::string name(entry.key());
        FW_TRY(tensor, readOne(entry, data, path + ", tensor " + name));
        out.insert_or_assign(std::move(name), std::move(tensor));
    }
    return out;
}

Result<void> writeAll(const std::string& path, const std::map<std::string, Tensor>& tensors) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    std::vector<Tensor> values;
    uint64_t at = 0;
    for (const auto& [name, tensor] : tensors) {
        const auto dtype = nameOf(tensor.dtype());
        if (!tensor.defined() || dtype.empty()) return unsupported("the tensor " + name + " cannot be written", path);
        FW_TRY(flat, tensor.contiguous());
        const uint64_t bytes = uint64_t(flat.numel()) * uint64_t(itemSize(flat.dtype()));
        header.push_back({name, {{"dtype", dtype}, {"shape", flat.sizes()}, {"data_offsets", {at, at + bytes}}}});
        at += bytes;
        values.push_back(std::move(flat));
    }
    std::string text = header.dump();
    while ((8 + text.size()) % kDataAlignment) text += ' ';
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (!file) return badInput(fmt::format("cannot be written ({}); check the folder and its permissions", std::strerror(errno)), path);
    const uint64_t length = text.size();
    bool good = std::fwrite(&length, sizeof length, 1, file) == 1 && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    for (const Tensor& t : values) {
        const size_t bytes = size_t(t.numel()) * size_t(itemSize(t.dtype()));
        good = good && (bytes == 0 || std::fwrite(t.raw(), 1, bytes, file) == bytes);
    }
    good = std::fclose(file) == 0 && good;
    if (!good) return badInput("could not be written completely; is the disk full?", path);
    return {};
}

}  // namespace

Result<std::map<std::string, Tensor>> readSafetensors(const std::string& path) {
    try {
        return readAll(path);
    } catch (const std::bad_alloc&) {
        return badInput("needs more memory than this machine gives", path);
    }
}

Result<void> writeSafetensors(const std::string& path, const std::map<std::string, Tensor>& tensors) {
    try {
        return writeAll(path, tensors);
    } catch (const std::exception& e) {  // a name that is not UTF-8, or no memory
        return badInput(fmt::format("cannot be written ({})", e.what()), path);
    }
}

}  // namespace fw
