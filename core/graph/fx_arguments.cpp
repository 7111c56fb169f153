// Expressions of FX text to the argument union of torch.export.
#include <charconv>
#include <cmath>
#include <limits>

#include "core/graph/fx_annotation.h"
#include "core/graph/fx_operators.h"
#include "core/graph/fx_reader.h"
#include "core/graph/graph_text.h"
#include "core/graph/python_literal.h"

namespace fw {
namespace {

using Kind = PyExpr::Kind;

std::string digitsOf(const std::string& text) {  // Python allows 1_000
    std::string out;
    for (char c : text)
        if (c != '_') out += c;
    return out;
}

double toDouble(const std::string& text) {
    std::string digits = digitsOf(text);
    double v = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error == std::errc::result_out_of_range) {
        // from_chars leaves v alone; a number this long is infinite or zero by its exponent's sign.
        v = digits.find("e-") != std::string::npos || digits.find("E-") != std::string::npos ? 0.0 : std::numeric_limits<double>::infinity();
        if (digits[0] == '-') v = -v;
    }
    return v;
}

std::optional<double> constantDouble(const Argument& a) {
    if (auto* d = a.get<double>()) return *d;
    if (auto* i = a.get<int64_t>()) return double(*i);
    return std::nullopt;
}

struct NamedLayout { std::string_view name; Layout layout; };
constexpr NamedLayout layouts[] = {{"torch.strided", Layout::Strided}, {"torch.sparse_coo", Layout::SparseCoo}, {"torch.sparse_csr", Layout::SparseCsr},
                                   {"torch.sparse_csc", Layout::SparseCsc}, {"torch.sparse_bsr", Layout::SparseBsr}, {"torch.sparse_bsc", Layout::SparseBsc},
                                   {"torch._mkldnn", Layout::Mkldnn}};
struct NamedFormat { std::string_view name; MemoryFormat format; };
constexpr NamedFormat formats[] = {{"torch.contiguous_format", MemoryFormat::Contiguous}, {"torch.channels_last", MemoryFormat::ChannelsLast},
                                   {"torch.channels_last_3d", MemoryFormat::ChannelsLast3d}, {"torch.preserve_format", MemoryFormat::Preserve}};

Argument torchConstant(const std::string& name) {
    if (auto dtype = dtypeFromTorchName(name); dtype && name.starts_with("torch.")) return *dtype;
    for (const auto& l : layouts)
        if (l.name == name) return l.layout;
    for (const auto& f : formats)
        if (f.name == name) return f.format;
    if (name.starts_with(opsPrefix)) return OperatorRef{name};
    return Verbatim{name};
}

Device deviceFrom(const std::string& text) {
    Device d;
    size_t colon = text.find(':');
    d.type = text.substr(0, colon);
    if (colon != std::string::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), d.index);
    return d;
}

bool hasValues(const Argument& a) {
    bool any = false;
    forEachValue(a, [&](ValueId) { any = true; });
    return any;
}

}  // namespace

std::optional<std::string> FxArguments::selfPath(const PyExpr& e) {
    if (e.isName("self")) return "";
    std::string part;
    const PyExpr* object = nullptr;
    if (e.kind == Kind::Attribute) {
        part = e.text;
        object = &e.kids[0];
    } else if (e.kind == Kind::Call && e.kids.size() == 3 && e.kids[0].isName("getattr") && e.kids[2].kind == Kind::String) {
        part = e.kids[2].text;
        object = &e.kids[1];
    } else {
        return std::nullopt;
    }
    auto path = selfPath(*object);
    if (!path) return std::nullopt;
    return path->empty() ? part : *path + "." + part;
}

Result<Argument> FxArguments::read(const PyExpr& e, std::string_view source) const {
    const std::string_view span = source.substr(e.begin, e.end - e.begin);
    switch (e.kind) {
        case Kind::Name: {
            if (auto found = names.find(e.text); found != names.end()) return found->second;
            if (e.text == "None") return Argument(None{});
            if (e.text == "True") return Argument(true);
            if (e.text == "False") return Argument(false);
            if (e.text == "inf") return Argument(std::numeric_limits<double>::infinity());
            if (e.text == "nan") return Argument(std::numeric_limits<double>::quiet_NaN());
            if (e.text == "Ellipsis") return Argument(Verbatim{"Ellipsis"});
            if (symbols.count(e.text)) return Argument(Expr::symbol(e.text));
            return badInput("'" + e.text + "' is used but was never defined: paste the whole graph, from 'def forward' to 'return'");
        }
        case Kind::Int: {
            std::string digits = digitsOf(e.text);
            int64_t v = 0;
            auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
            if (error == std::errc() && end == digits.data() + digits.size()) return Argument(v);
            return Argument(Verbatim{digits});  // beyond 64 bits
        }
        case Kind::Float: return Argument(toDouble(e.text));
        case Kind::Imaginary: return Argument(Complex{0, toDouble(e.text)});
        case Kind::String: return Argument(e.text);
        case Kind::List: case Kind::Tuple: {
            FW_TRY(list, readItems(e, 0, source));
            list.tuple = e.kind == Kind::Tuple;
            return Argument(std::move(list));
        }
        case Kind::Dict: {
            FW_TRY(list, readItems(e, 0, source));
            list.call = "{}";
            for (const PyExpr& key : e.keys) {
                if (key.kind != Kind::String) return badInput("a dict key that is not a string");
                list.keys.push_back(key.text);
            }
            return Argument(std::move(list));
        }
        case Kind::Attribute: {
            std::string name = e.dotted();
            if (name.empty()) return badInput("an argument '" + std::string(span.substr(0, 60)) + "' that is neither a value nor a constant");
            return torchConstant(name);
        }
        case Kind::Call: return readCall(e, source);
        case Kind::Unary: {
            FW_TRY(inner, read(e.kids[0], source));
            if (e.text == "-") {
                if (auto* d = inner.get<double>()) return Argument(-*d);
                if (auto* c = inner.get<Complex>()) return Argument(Complex{-c->re, -c->im});
                if (auto* i = inner.get<int64_t>(); i && *i != std::numeric_limits<int64_t>::min()) return Argument(-*i);
            }
            break;
        }
        case Kind::Binary: {
            // (1+2j) is how Python writes a complex number
            if (e.text == "+" || e.text == "-") {
                FW_TRY(left, read(e.kids[0], source));
                FW_TRY(right, read(e.kids[1], source));
                auto re = constantDouble(left);
                if (auto* im = right.get<Complex>(); re && im) return Argument(Complex{*re, e.text == "-" ? -im->im : im->im});
            }
            break;
        }
        case Kind::Subscript: break;
    }
    // Arithmetic over size symbols only.
    if (auto expr = readSizeExpr(span)) {
        for (const std::string& s : symbolsOf(*expr))
            if (!symbols.count(s)) return badInput("'" + s + "' inside the argument '" + std::string(span.substr(0, 60)) + "' is not a size symbol: FX text writes one operation per line");
        if (auto constant = expr->asConst()) return Argument(*constant);
        return Argument(*expr);
    }
    return badInput("the argument '" + std::string(span.substr(0, 60)) + "' is an operation: FX text writes one operation per line");
}

Result<ArgList> FxArguments::readItems(const PyExpr& e, size_t first, std::string_view source) const {
    ArgList list;
    for (size_t i = first; i < e.kids.size(); ++i) {
        FW_TRY(item, read(e.kids[i], source));
        list.items.push_back(std::move(item));
    }
    return list;
}

Result<Argument> FxArguments::readCall(const PyExpr& e, std::string_view source) const {
    std::string callee = e.kids[0].dotted();
    if (callee.empty()) return badInput("a call inside an argument: FX text writes one operation per line");
    FW_TRY(list, readItems(e, 1, source));
    list.call = callee;
    bool keywords = false;
    for (const std::string& k : e.keywords) keywords = keywords || !k.empty();
    if (keywords) list.keys = e.keywords;
    if (callee == "device" || callee == "torch.device") {
        Device d;
        for (size_t i = 0; i < list.items.size(); ++i) {
            if (auto* type = list.items[i].get<std::string>()) d = deviceFrom(*type);
            else if (auto* index = list.items[i].get<int64_t>(); index && *index >= 0 && *index < 1024) d.index = int(*index);
        }
        return Argument(d);
    }
    if (callee == "complex" && list.items.size() == 2) {
        auto re = constantDouble(list.items[0]), im = constantDouble(list.items[1]);
        if (re && im) return Argument(Complex{*re, *im});
    }
    if (callee == "float" && list.items.size() == 1) {
        if (auto* text = list.items[0].get<std::string>()) {
            if (*text == "inf" || *text == "+inf") return Argument(std::numeric_limits<double>::infinity());
            if (*text == "-inf") return Argument(-std::numeric_limits<double>::infinity());
            if (*text == "nan") return Argument(std::numeric_limits<double>::quiet_NaN());
        }
        if (auto number = constantDouble(list.items[0])) return Argument(*number);
    }
    Argument call(std::move(list));
    if (hasValues(call)) return call;
    return Argument(Verbatim{printArgument(call, [](ValueId) { return std::string(); })});
}

}  // namespace fw
