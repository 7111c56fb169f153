// Reads the leaves. Sizes are checked here once: constant ones multiply to at most 2^48, so nothing later overflows on them.
#include "core/import/exported_types.h"

#include <fmt/format.h>

namespace fw {

namespace {

constexpr int64_t kLargest = int64_t{1} << 48;
constexpr size_t kMaxDims = 64;  // torch's own limit

/// Constant sizes and strides in range; symbolic ones are checked when a run binds them.
Result<void> checkGeometry(const TensorType& t, const std::string& where) {
    std::vector<int64_t> sizes;
    for (Expr s : t.sizes)
        if (auto c = s.asConst()) sizes.push_back(*c);
    if (auto numel = checkedNumel(sizes); !numel.ok()) return badInput(numel.error().message + "; the file is damaged, export it again", where);
    for (Expr s : t.strides)
        if (auto c = s.asConst(); c && (*c < 0 || *c > kLargest)) return badInput(fmt::format("a tensor has the impossible stride {}; the file is damaged", *c), where);
    if (auto c = t.offset.asConst(); c && (*c < 0 || *c > kLargest)) return badInput(fmt::format("a tensor starts at the impossible element {}; the file is damaged", *c), where);
    return {};
}

}  // namespace

Json activeMember(Json unionValue) {
    if (unionValue.isObject())
        for (Json member : unionValue)
            if (!member.isNull()) return member;
    return {};
}

std::optional<Layout> layoutFromExportCode(int64_t code) {
    constexpr Layout kLayouts[] = {Layout::Unknown, Layout::SparseCoo, Layout::SparseCsr, Layout::SparseCsc, Layout::SparseBsr, Layout::SparseBsc, Layout::Mkldnn, Layout::Strided};
    if (code < 0 || code >= int64_t(std::size(kLayouts))) return std::nullopt;
    return kLayouts[code];
}

Result<Expr> ExportedTypes::expression(std::string_view text) {
    if (const auto it = parsed_.find(std::string(text)); it != parsed_.end()) return it->second;
    auto e = parseExpr(text);
    if (!e.ok()) return bad("the symbolic size cannot be read: " + e.error().line());
    for (const std::string& symbol : symbolsOf(*e)) seen_[symbol];
    parsed_.emplace(text, *e);
    return e;
}

Result<Expr> ExportedTypes::symInt(Json value) {
    if (const auto plain = value.integer()) return Expr(*plain);
    const Json active = activeMember(value);
    if (active.key() == "as_int")
        if (const auto v = active.integer()) return Expr(*v);
    if (active.key() != "as_expr") return bad("a size is neither a number nor an expression");
    const auto text = active["expr_str"].text();
    if (!text) return bad("a symbolic size has no expression");
    FW_TRY(e, expression(*text));
    const Json hint = active["hint"];
    const auto number = hint.isObject() ? activeMember(hint).integer() : hint.integer();
    if (!number) return e;
    // s40 = (hint - rest) / coefficient where the expression is affine in its only symbol
    const auto symbols = symbolsOf(e);
    if (symbols.size() != 1 || hints_.count(symbols[0])) return e;
    const auto affine = affineIn(e, symbols[0]);
    if (!affine) return e;
    const auto a = affine->coefficient.asConst(), b = affine->rest.asConst();
    if (!a || !b || *a <= 0 || *number < 0 || *number > kLargest || *b > kLargest || *b < -kLargest || (*number - *b) % *a) return e;
    hints_[symbols[0]] = (*number - *b) / *a;
    return e;
}

Result<std::vector<Expr>> ExportedTypes::symInts(Json list, std::string_view what) {
    if (!list.isArray()) return bad(fmt::format("a tensor has no list of {}", what));
    if (list.size() > kMaxDims) return bad(fmt::format("a tensor has {} {}", list.size(), what));
    std::vector<Expr> out;
    for (Json item : list) {
        FW_TRY(e, symInt(item));
        out.push_back(e);
    }
    return out;
}

Result<Device> ExportedTypes::device(Json j) const {
    const auto type = j["type"].text();
    if (!type) return bad("a device has no type");
    Device d;
    d.type = *type;
    if (const Json index = j["index"]) {
        const auto n = index.integer();
        if (!n || *n < 0 || *n > 1024) return bad("a device has an impossible index");
        d.index = int(*n);
    }
    return d;
}

Result<ValueType> ExportedTypes::tensor(Json meta) {
    if (const Json nested = meta["meta"]) meta = nested;  // 2.1
    if (!meta.isObject()) return bad("a tensor has no description");
    TensorType t;
    FW_TRY(sizes, symInts(meta["sizes"], "sizes"));
    t.sizes = std::move(sizes);
    const auto code = meta["dtype"].integer();
    const auto dtype = code ? dtypeFromExportCode(*code) : std::nullopt;
    const Json layoutCode = meta["layout"];
    const auto layout = layoutFromExportCode(layoutCode.integer().value_or(7));
    if (!code || !layout) return bad("a tensor has an unknown dtype or layout number");
    if (!dtype) return ValueType(OpaqueType{fmt::format("tensor of dtype number {}", *code)});
    if (*layout != Layout::Strided) return ValueType(OpaqueType{"sparse tensor"});
    t.dtype = *dtype;
    if (const Json strides = meta["strides"]) {
        FW_TRY(list, symInts(strides, "strides"));
        t.strides = std::move(list);
        if (t.strides.size() != t.sizes.size()) return bad(fmt::format("a tensor has {} sizes and {} strides", t.sizes.size(), t.strides.size()));
    }
    if (const Json offset = meta["storage_offset"]) {
        FW_TRY(e, symInt(offset));
        t.offset = e;
    }
    if (const Json where = meta["device"]) {
        FW_TRY(d, device(where));
        t.device = std::move(d);
    }
    t.requiresGrad = meta["requires_grad"].boolean().value_or(false);
    FW_TRY_VOID(checkGeometry(t, where_));
    return ValueType(std::move(t));
}

Result<TensorType> ExportedTypes::storedTensor(Json meta, const std::string& name) {
    auto type = tensor(meta);
    if (!type.ok()) return std::move(type.error());
    const TensorType* t = std::get_if<TensorType>(&*type);
    if (!t) return unsupported("the weight " + name + " is a " + std::get<OpaqueType>(*type).text + "; export the model with dense weights", where_);
    for (const auto* list : {&t->sizes, &t->strides})
        for (Expr e : *list)
            if (!e.isConst()) return bad("the weight " + name + " has a symbolic size; export it again");
    if (!t->offset.isConst()) return bad("the weight " + name + " has a symbolic offset; export it again");
    return *t;
}

Result<ValueType> ExportedTypes::symbolic(Json value, SymType::Kind kind) {
    SymType t;
    t.kind = kind;
    const Json active = activeMember(value);
    if (active.key() == "as_expr" || value.isString()) {  // 2.1 writes the text alone
        const auto text = value.isString() ? value.text() : active["expr_str"].text();
        if (!text) return bad("a symbolic value has no expression");
        if (kind == SymType::Kind::Int && !value.isString()) {
            FW_TRY(e, symInt(value));
            t.expr = e;
        } else {
            FW_TRY(e, expression(*text));
            t.expr = e;
        }
    } else if (const auto n = active.integer()) {
        t.expr = Expr(*n);
    } else if (const auto b = active.boolean()) {
        t.expr = Expr(int64_t{*b});
    }
    return ValueType(std::move(t));
}

void ExportedTypes::addSymbols(Ranges& ranges) const {
    for (const auto& [name, range] : seen_) ranges.try_emplace(name, range);
}

}  // namespace fw
