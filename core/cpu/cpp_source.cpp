// Loop IR as readable C++: the same loops, one statement a line, no vectors of our own (the loops that ours vectorizes say so to the compiler).
#include <cctype>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/cpu/cpp_runtime.h"
#include "core/cpu/kernel_signature.h"

namespace fw {
namespace {

constexpr int64_t kLocalArrayBytes = 16 << 10;  // larger kernel-local arrays go to the heap

std::string typeName(DType t) {
    switch (t) {
    case DType::Bool: return "bool";
    case DType::U8: return "uint8_t";
    case DType::I8: return "int8_t";
    case DType::I16: return "int16_t";
    case DType::U16: return "uint16_t";
    case DType::I32: return "int32_t";
    case DType::U32: return "uint32_t";
    case DType::I64: return "int64_t";
    case DType::U64: return "uint64_t";
    case DType::F16: return "fw_f16";
    case DType::BF16: return "fw_bf16";
    case DType::F32: return "float";
    case DType::F64: return "double";
    default: return "unsupported_" + std::string(fxName(t));
    }
}

class CppWriter {
public:
    CppWriter(const Kernel& kernel, const LoopProgram& program) : kernel_(kernel), program_(program), signature_(cpu::signatureOf(kernel, program)) {
        ranges_ = program.symbols;
        for (auto& [name, range] : loopRanges(kernel)) ranges_[name] = range;
    }

    std::string write() {
        text_ = cpu::cppRuntime();
        line_ = int(std::count(text_.begin(), text_.end(), '\n'));
        put("");
        std::string parameters;
        for (size_t i = 0; i < signature_.buffers.size(); ++i) {
            const Buffer& b = program_.buffer(signature_.buffers[i]);
            parameters += fmt::format("{}{}{}* {}", parameters.empty() ? "" : ", ", signature_.written[i] ? "" : "const ", typeName(b.dtype), bufferName(b.id));
        }
        for (const std::string& s : signature_.symbols) parameters += fmt::format("{}int64_t {}", parameters.empty() ? "" : ", ", identifier(s));
        std::string from;
        for (const std::string& c : kernel_.computations) from += (from.empty() ? "" : ", ") + c;
        if (!from.empty()) put("// Fused from: " + from);
        put(fmt::format("extern \"C\" void {}({}) {{", identifier(kernel_.name), parameters));
        block(kernel_.body);
        put("}");
        put("");
        put("// The same with all arguments in arrays: buffers in the order above, then size symbols.");
        put(fmt::format("extern \"C\" void {}_call(void* const* buffers, const int64_t* symbols) {{", identifier(kernel_.name)));
        std::string arguments;
        for (size_t i = 0; i < signature_.buffers.size(); ++i) {
            const Buffer& b = program_.buffer(signature_.buffers[i]);
            arguments += fmt::format("{}({}*)buffers[{}]", arguments.empty() ? "" : ", ", typeName(b.dtype), i);
        }
        for (size_t i = 0; i < signature_.symbols.size(); ++i) arguments += fmt::format("{}symbols[{}]", arguments.empty() ? "" : ", ", i);
        ++depth_;
        if (signature_.symbols.empty()) put("(void)symbols;");
        put(fmt::format("{}({});", identifier(kernel_.name), arguments));
        --depth_;
        put("}");
        return std::move(text_);
    }
    std::vector<std::pair<int, NodeId>> lines;

private:
    void put(const std::string& s, NodeId origin = 0) {
        if (origin) lines.emplace_back(line_, origin);
        text_ += std::string(s.empty() ? 0 : size_t(depth_) * 4, ' ') + s + "\n";
        ++line_;
    }
    std::string identifier(const std::string& name) {
        auto [it, fresh] = names_.try_emplace(name);
        if (!fresh) return it->second;
        std::string s;
        for (char c : name) s += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
        static const std::set<std::string> reserved = {"int", "float", "double", "bool", "new", "for", "if", "do", "char", "this", "auto", "default", "template", "class",
                                                       "while", "switch", "case", "return", "void", "long", "short", "signed", "unsigned", "const", "static", "struct",
                                                       "union", "enum", "operator", "private", "public", "delete", "register", "and", "or", "not", "xor", "main"};
        if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0])) || reserved.count(s)) s = "_" + s;
        while (!taken_.insert(s).second) s += "_";
        return it->second = s;
    }
    std::string bufferName(BufferId id) { return identifier(program_.buffer(id).name); }
    bool neverNegative(Expr e) const {
        Bounds b = boundsOf(e, ranges_);
        return b.min && *b.min >= 0;
    }
    std::string list(Expr e, const char* separator) {
        std::string s = "(";
        for (size_t i = 0; i < e.args().size(); ++i) s += (i ? separator : "") + index(e.args()[i]);
        return s + ")";
    }
    std::string index(Expr e) {
        switch (e.kind()) {
        case ExprKind::Const: return e.constant() < INT32_MIN || e.constant() > INT32_MAX ? fmt::format("INT64_C({})", e.constant()) : std::to_string(e.constant());
        case ExprKind::Symbol: return e.valueId() >= 0 ? fmt::format("int64_t(v{})", e.valueId()) : identifier(e.name());
        case ExprKind::Add: return list(e, " + ");
        case ExprKind::Mul: return list(e, " * ");
        case ExprKind::FloorDiv:
        case ExprKind::Mod: {
            bool quotient = e.kind() == ExprKind::FloorDiv;
            std::string a = index(e.args()[0]), b = index(e.args()[1]);
            if (neverNegative(e.args()[0]) && neverNegative(e.args()[1])) return fmt::format("({} {} {})", a, quotient ? "/" : "%", b);
            return fmt::format("fw_index_{}({}, {})", quotient ? "div" : "mod", a, b);
        }
        case ExprKind::Min:
        case ExprKind::Max: {
            std::string s = index(e.args()[0]);
            for (size_t i = 1; i < e.args().size(); ++i)
                s = fmt::format("fw_{}<int64_t>({}, {})", e.kind() == ExprKind::Min ? "minimum" : "maximum", s, index(e.args()[i]));
            return s;
        }
        case ExprKind::Compare: {
            if (e.name() == "not") return "int64_t(!" + index(e.args()[0]) + ")";
            std::string relation = e.name() == "and" ? " && " : e.name() == "or" ? " || " : " " + e.name() + " ";
            return "int64_t" + list(e, relation.c_str());
        }
        case ExprKind::Call: {
            std::string s = e.name() + "(";
            for (size_t i = 0; i < e.args().size(); ++i) s += (i ? ", " : "") + index(e.args()[i]);
            return s + ")";
        }
        }
        return "0";
    }
    std::string element(const Access& a) {
        const Buffer& b = program_.buffer(a.buffer);
        Expr linear = 0;
        for (size_t d = 0; d < a.index.size() && d < b.strides.size(); ++d) linear = linear + a.index[d] * b.strides[d];
        std::string i = index(simplify(linear, ranges_));
        if (i.size() > 2 && i.front() == '(' && i.back() == ')') {
            // One pair of brackets is enough when the outer pair spans all.
            int open = 0;
            bool spans = true;
            for (size_t k = 0; k + 1 < i.size(); ++k) spans &= (open += i[k] == '(' ? 1 : i[k] == ')' ? -1 : 0) > 0;
            if (spans) i = i.substr(1, i.size() - 2);
        }
        return fmt::format("{}[{}]", bufferName(a.buffer), i);
    }
    static std::string number(const Instr& i) {
        std::string type = typeName(i.dtype);
        if (!isFloat(i.dtype)) {
            if (isBool(i.dtype)) return i.constantInt ? "true" : "false";
            if (i.constantInt == INT64_MIN) return fmt::format("{}(INT64_MIN)", type);
            return fmt::format("{}(INT64_C({}))", type, i.constantInt);
        }
        std::string v = std::isnan(i.constant) ? "NAN" : std::isinf(i.constant) ? (i.constant < 0 ? "-INFINITY" : "INFINITY") : fmt::format("{:.17g}", i.constant);
        if (i.dtype == DType::F32 && std::isfinite(i.constant)) {
            v = fmt::format("{:.9g}", float(i.constant));
            if (v.find_first_of(".e") == std::string::npos) v += ".0";
            return v + "f";
        }
        return isLowPrecision(i.dtype) ? fmt::format("fw_cast<{}>({})", type, std::isfinite(i.constant) ? v + (v.find_first_of(".e") == std::string::npos ? ".0" : "") : "float(" + v + ")")
                                       : fmt::format("{}({})", type, v);
    }
    std::string operation(const Instr& i) {
        auto arg = [&](size_t k) { return k < i.args.size() ? fmt::format("v{}", i.args[k]) : std::string("0"); };
        if (i.op == ScalarOp::to_dtype_) return fmt::format("fw_cast<{}>({})", typeName(i.dtype), arg(0));
        if (i.op == ScalarOp::bitcast_) return fmt::format("fw_bitcast<{}>({})", typeName(i.dtype), arg(0));
        std::string_view spelling = scalarOpInfo(i.op).cpp;
        std::string s;
        for (size_t k = 0; k < spelling.size(); ++k) {
            if (spelling[k] == '$' && k + 1 < spelling.size()) s += arg(size_t(spelling[++k] - '0'));
            else s += spelling[k];
        }
        return s;
    }
    static const char* field(ReduceKind kind, int f) {
        switch (kind) {
        case ReduceKind::ArgMax: case ReduceKind::ArgMin: return f ? ".index" : ".value";
        case ReduceKind::Welford: return f == 0 ? ".mean" : f == 1 ? ".m2" : ".count";
        case ReduceKind::OnlineSoftmax: return f ? ".sum" : ".max";
        default: return "";
        }
    }
    void instruction(const Instr& i) {
        std::string value, type = typeName(i.dtype);
        switch (i.op) {
        case ScalarOp::Const: value = number(i); break;
        case ScalarOp::Index: value = fmt::format("{}({})", type, index(i.expr)); break;
        case ScalarOp::Load: {
            value = element(i.access);
            DType stored = program_.buffer(i.access.buffer).dtype;
            if (stored != i.dtype) value = fmt::format("fw_cast<{}>({})", type, value);
            if (!i.args.empty()) value = fmt::format("v{} ? {} : {}{{}}", i.args[0], value, type);
            break;
        }
        case ScalarOp::AccRead: value = fmt::format("fw_cast<{}>(a{}{})", type, i.acc, field(accs_[i.acc].kind, i.field)); break;
        default: value = operation(i);
        }
        put(fmt::format("const {} v{} = {};", type, i.id, value), i.origin);
    }
    void store(const Store& s) {
        std::string to = element(s.access), v = fmt::format("v{}", s.value);
        std::string guard = s.mask >= 0 ? fmt::format("if (v{}) ", s.mask) : "";
        std::string type = typeName(program_.buffer(s.access.buffer).dtype);
        v = fmt::format("fw_cast<{}>({})", type, v);
        if (s.mode == StoreMode::Plain) return put(guard + to + " = " + (types_[s.value] == program_.buffer(s.access.buffer).dtype ? fmt::format("v{}", s.value) : v) + ";", s.origin);
        if (s.mask >= 0) { put(fmt::format("if (v{}) {{", s.mask), s.origin); ++depth_; }
        bool half = isLowPrecision(program_.buffer(s.access.buffer).dtype);
        bool simple = s.mode == StoreMode::AtomicAdd && !half;
        if (parallel_) put(simple ? "#pragma omp atomic" : "#pragma omp critical", s.origin);
        std::string old = half ? "fw_float(" + to + ")" : to, fresh = half ? "fw_float(" + v + ")" : v, result;
        std::string arithmetic = half ? "float" : type;
        switch (s.mode) {
        case StoreMode::AtomicMax: result = fmt::format("fw_maximum<{}>({}, {})", arithmetic, old, fresh); break;
        case StoreMode::AtomicMin: result = fmt::format("fw_minimum<{}>({}, {})", arithmetic, old, fresh); break;
        case StoreMode::AtomicMul: result = old + " * " + fresh; break;
        default: result = old + " + " + fresh;
        }
        if (simple) put(fmt::format("{} += {};", to, v), s.origin);
        else put(fmt::format("{} = fw_cast<{}>({}({}));", to, type, arithmetic, result), s.origin);
        if (s.mask >= 0) { --depth_; put("}"); }
    }
    void declare(const AccDecl& d) {
        accs_[d.acc] = d;
        std::string type = typeName(isLowPrecision(d.dtype) ? DType::F32 : d.dtype);
        bool floating = isFloat(d.dtype);
        std::string limit = "std::numeric_limits<" + type + ">";
        switch (d.kind) {
        case ReduceKind::Sum: return put(fmt::format("{} a{} = 0;", floating ? "double" : type, d.acc), d.origin);
        case ReduceKind::Prod: return put(fmt::format("{} a{} = 1;", floating ? "double" : type, d.acc), d.origin);
        case ReduceKind::Max: return put(fmt::format("{} a{} = {};", type, d.acc, floating ? "-" + limit + "::infinity()" : limit + "::lowest()"), d.origin);
        case ReduceKind::Min: return put(fmt::format("{} a{} = {};", type, d.acc, floating ? limit + "::infinity()" : limit + "::max()"), d.origin);
        case ReduceKind::Any: return put(fmt::format("{} a{} = 0;", type, d.acc), d.origin);
        case ReduceKind::All: return put(fmt::format("{} a{} = 1;", type, d.acc), d.origin);
        case ReduceKind::Xor: return put(fmt::format("{} a{} = 0;", type, d.acc), d.origin);
        case ReduceKind::ArgMax:
        case ReduceKind::ArgMin: return put(fmt::format("fw_arg<{}> a{};", type, d.acc), d.origin);
        case ReduceKind::Welford: return put(fmt::format("fw_welford a{};", d.acc), d.origin);
        case ReduceKind::OnlineSoftmax: return put(fmt::format("fw_online_softmax<{}> a{};", type, d.acc), d.origin);
        }
    }
    void update(const AccUpdate& u) {
        const AccDecl& d = accs_[u.acc];
        std::string guard = u.mask >= 0 ? fmt::format("if (v{}) ", u.mask) : "", a = fmt::format("a{}", u.acc);
        std::string type = typeName(isLowPrecision(d.dtype) ? DType::F32 : d.dtype);
        std::string v = fmt::format("v{}", u.values.at(0));
        if (types_[u.values[0]] != d.dtype || isLowPrecision(d.dtype)) v = fmt::format("fw_cast<{}>({})", type, v);
        switch (d.kind) {
        case ReduceKind::Sum: put(guard + a + " += " + v + ";", u.origin); break;
        case ReduceKind::Prod: put(guard + a + " *= " + v + ";", u.origin); break;
        case ReduceKind::Max: put(fmt::format("{}{} = fw_maximum<{}>({}, {});", guard, a, type, a, v), u.origin); break;
        case ReduceKind::Min: put(fmt::format("{}{} = fw_minimum<{}>({}, {});", guard, a, type, a, v), u.origin); break;
        case ReduceKind::Any: put(guard + a + " |= " + v + ";", u.origin); break;
        case ReduceKind::All: put(guard + a + " &= " + v + ";", u.origin); break;
        case ReduceKind::Xor: put(guard + a + " ^= " + v + ";", u.origin); break;
        case ReduceKind::ArgMax: put(fmt::format("{}{}.max({}, v{});", guard, a, v, u.values.at(1)), u.origin); break;
        case ReduceKind::ArgMin: put(fmt::format("{}{}.min({}, v{});", guard, a, v, u.values.at(1)), u.origin); break;
        case ReduceKind::Welford:
        case ReduceKind::OnlineSoftmax: put(fmt::format("{}{}.update({});", guard, a, v), u.origin); break;
        }
    }
    void scratch(const ScratchDecl& s) {
        const Buffer& b = program_.buffer(s.buffer);
        Expr elements = 1;
        for (size_t d = 0; d < b.sizes.size(); ++d) elements = elements + (b.sizes[d] - 1) * b.strides[d];
        auto n = elements.asConst();
        if (n && *n * itemSize(b.dtype) <= kLocalArrayBytes) put(fmt::format("{} {}[{}];", typeName(b.dtype), bufferName(b.id), *n));
        else put(fmt::format("std::vector<{}> {}(size_t({}));", isBool(b.dtype) ? "uint8_t" : typeName(b.dtype), bufferName(b.id), index(elements)));
    }
    bool hasState(const std::vector<Stmt>& body) const {
        for (const Stmt& s : body) {
            if (s.get<AccUpdate>()) return true;
            if (auto* l = s.get<Loop>(); l && hasState(l->body)) return true;
        }
        return false;
    }
    void loop(const Loop& l) {
        bool wasParallel = parallel_;
        if (l.map == LoopMap::Parallel && !parallel_) {
            put("#pragma omp parallel for");
            parallel_ = true;
        }
        // Accumulators carried by the loop would need a reduction clause; compilers vectorize the others.
        if (l.map == LoopMap::Vector && !hasState(l.body)) put("#pragma omp simd");
        put(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", identifier(l.var), index(l.extent)));
        block(l.body);
        put("}");
        parallel_ = wasParallel;
    }
    void block(const std::vector<Stmt>& body) {
        ++depth_;
        for (const Stmt& s : body) {
            if (auto* i = s.get<Instr>()) { types_[i->id] = i->dtype; instruction(*i); }
            else if (auto* st = s.get<Store>()) store(*st);
            else if (auto* d = s.get<AccDecl>()) declare(*d);
            else if (auto* u = s.get<AccUpdate>()) update(*u);
            else if (auto* c = s.get<ScratchDecl>()) scratch(*c);
            else loop(*s.get<Loop>());
        }
        --depth_;
    }

    const Kernel& kernel_;
    const LoopProgram& program_;
    cpu::KernelSignature signature_;
    Ranges ranges_;
    std::string text_;
    int depth_ = 0, line_ = 0;
    bool parallel_ = false;
    std::map<std::string, std::string> names_;
    std::set<std::string> taken_;
    std::map<int, AccDecl> accs_;
    std::map<int, DType> types_;
};

}  // namespace

std::string emitCpp(const Kernel& kernel, const LoopProgram& program, std::vector<std::pair<int, NodeId>>* lines) {
    CppWriter writer(kernel, program);
    std::string text = writer.write();
    if (lines) *lines = std::move(writer.lines);
    return text;
}

}  // namespace fw
