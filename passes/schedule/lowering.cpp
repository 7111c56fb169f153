// The state of lower_to_loops: values, buffers, inputs and outputs, and the services that the op families share.
#include "passes/schedule/lowering.h"

#include <algorithm>
#include <numeric>

namespace fw {

DType computeType(DType t) { return isLowPrecision(t) ? DType::F32 : t; }

Expr viewCoordinate(int k) { return Expr::symbol("d" + std::to_string(k)); }

Lowering::Lowering(const Graph& g, PassContext& c) : graph(g), context(c), graphIndex(g) {
    program.name = g.name;
    program.symbols = g.symbols;
}

Argument Lowering::arg(const Node& node, std::string_view name) const { return argOrDefault(node, name); }

const LoweredTensor* Lowering::tensor(const Argument& a) const {
    auto it = tensors_.find(a.valueId());
    return it == tensors_.end() ? nullptr : &it->second;
}

const LoweredTensor* Lowering::tensorArg(const Node& node, std::string_view name) const { return tensor(arg(node, name)); }

std::vector<const LoweredTensor*> Lowering::tensorListArg(const Node& node, std::string_view name) const {
    std::vector<const LoweredTensor*> out;
    const Argument a = arg(node, name);
    if (auto* list = a.get<ArgList>())
        for (const Argument& item : list->items) out.push_back(tensor(item));
    return out;
}

std::optional<Expr> Lowering::exprOf(const Argument& a) const {
    if (auto* n = a.get<int64_t>()) return Expr(*n);
    if (auto* b = a.get<bool>()) return Expr(int64_t(*b));
    if (auto* e = a.get<Expr>()) return *e;
    if (const ValueId id = a.valueId()) {
        auto it = symbols_.find(id);
        if (it != symbols_.end()) return it->second;
    }
    return std::nullopt;
}

std::vector<Expr> Lowering::exprList(const Argument& a) const {
    std::vector<Expr> out;
    if (auto* list = a.get<ArgList>()) {
        for (const Argument& item : list->items) out.push_back(exprOf(item).value_or(Expr(0)));
    } else if (auto e = exprOf(a)) {
        out.push_back(*e);
    }
    return out;
}

std::optional<int64_t> Lowering::intArg(const Node& node, std::string_view name) const {
    auto e = exprOf(arg(node, name));
    return e ? e->asConst() : std::nullopt;
}

std::vector<int64_t> Lowering::intList(const Node& node, std::string_view name) const {
    std::vector<int64_t> out;
    for (Expr e : exprList(arg(node, name))) out.push_back(e.asConst().value_or(0));
    return out;
}

double Lowering::numberArg(const Node& node, std::string_view name, double fallback) const {
    const Argument a = arg(node, name);
    if (auto* d = a.get<double>()) return *d;
    if (auto* n = a.get<int64_t>()) return double(*n);
    if (auto* b = a.get<bool>()) return *b;
    return fallback;
}

bool Lowering::boolArg(const Node& node, std::string_view name, bool fallback) const {
    const Argument a = arg(node, name);
    if (auto* b = a.get<bool>()) return *b;
    if (auto* n = a.get<int64_t>()) return *n != 0;
    return fallback;
}

const TensorType& Lowering::outputType(const Node& node, size_t i) const {
    FW_CHECK(i < node.outputs.size() && node.outputs[i].tensor(), node.name + " has no tensor output " + std::to_string(i));
    return *node.outputs[i].tensor();
}

void Lowering::define(ValueId id, LoweredTensor t) {
    if (id) tensors_[id] = std::move(t);
}

void Lowering::noteScale(BufferId buffer, LoweredTensor source, double factor) { scaled_[buffer] = {std::move(source), factor}; }

LoweredTensor Lowering::withoutScale(const Node& reader, LoweredTensor t, double& factor) {
    for (auto it = scaled_.find(t.buffer); it != scaled_.end(); it = scaled_.find(t.buffer)) {
        context.explain(Verdict::Done, Reason::scale_in_alpha, {program.buffer(t.buffer).name, reader.name}, {program.buffer(t.buffer).origin, reader.id});
        factor *= it->second.factor;
        LoweredTensor next = it->second.source;
        const Ranges ranges = rangesOf(t.sizes);
        next.index.clear();
        for (Expr e : mapCoordinates(it->second.source, t.index)) next.index.push_back(simplify(e, ranges));
        next.sizes = t.sizes;
        t = std::move(next);
    }
    return t;
}

void Lowering::dropUnread() {
    std::vector<bool> needed(program.buffers.size(), false);
    for (const ProgramOutput& o : program.outputs)
        if (auto* v = std::get_if<BufferView>(&o.value)) needed[size_t(v->buffer)] = true;
    std::vector<Item> kept;
    for (size_t i = program.items.size(); i-- > 0;) {
        const Item& item = program.items[i];
        bool live = std::holds_alternative<std::shared_ptr<const ExternCall>>(item);   // may have effects
        for (BufferId b : writesOf(item)) live |= needed[size_t(b)];
        if (!live) {
            for (BufferId b : writesOf(item)) program.buffers[size_t(b)].removed = true;
            context.explain(Verdict::Done, Reason::dead_value, {std::string(itemName(item))}, itemOrigins(item), {std::string(itemName(item))});
            continue;
        }
        for (BufferId b : readsOf(item)) needed[size_t(b)] = true;
        kept.push_back(item);
    }
    std::reverse(kept.begin(), kept.end());
    program.items = std::move(kept);
}

void Lowering::alias(const Node& node, LoweredTensor view) {
    context.explain(Verdict::Done, Reason::view_is_index, {node.name}, {node.id});
    define(node.output(), std::move(view));
}

namespace {

/// Strides of `sizes` laid out from the slowest dim order.front() to the fastest order.back().
std::vector<Expr> stridesInOrder(const std::vector<Expr>& sizes, const std::vector<int>& order) {
    std::vector<Expr> strides(sizes.size());
    Expr step = 1;
    for (size_t k = order.size(); k-- > 0;) {
        strides[size_t(order[k])] = step;
        step = step * sizes[size_t(order[k])];
    }
    return strides;
}

}  // namespace

BufferId Lowering::makeBuffer(const Node& node, size_t output, const std::vector<Expr>& sizes, DType dtype, const std::vector<int>* order) {
    const Value& value = node.outputs[output];
    Buffer b;
    b.name = value.name.empty() ? node.name + "_out" + std::to_string(output) : value.name;
    b.dtype = dtype;
    b.sizes = sizes;
    b.strides = order && order->size() == sizes.size() ? stridesInOrder(sizes, *order) : contiguousStrides(sizes);
    b.value = value.id;
    b.origin = node.id;
    for (const Buffer& other : program.buffers)
        if (other.name == b.name) { b.name += "_b" + std::to_string(program.buffers.size()); break; }
    return program.addBuffer(std::move(b)).id;
}

BufferId Lowering::makeTemporary(const Node& node, std::string_view what, const std::vector<Expr>& sizes, DType dtype, const std::vector<int>* order) {
    Buffer b;
    b.name = node.name + "_" + std::string(what);
    b.dtype = dtype;
    b.sizes = sizes;
    b.strides = order && order->size() == sizes.size() ? stridesInOrder(sizes, *order) : contiguousStrides(sizes);
    b.origin = node.id;
    for (const Buffer& other : program.buffers)
        if (other.name == b.name) { b.name += "_b" + std::to_string(program.buffers.size()); break; }
    return program.addBuffer(std::move(b)).id;
}

LoweredTensor Lowering::whole(BufferId id) const {
    const Buffer& b = program.buffer(id);
    LoweredTensor t;
    t.buffer = id;
    t.sizes = b.sizes;
    t.dtype = b.dtype;
    for (size_t k = 0; k < b.sizes.size(); ++k) t.index.push_back(viewCoordinate(int(k)));
    return t;
}

std::string Lowering::opName() { return "op" + std::to_string(nextOp_++); }

KernelBuilder Lowering::builder(const Node& node) { return KernelBuilder(program, opName(), node.id); }

void Lowering::add(KernelBuilder&& k) { program.items.push_back(std::make_shared<const Kernel>(k.finish())); }

std::vector<Expr> Lowering::mapCoordinates(const LoweredTensor& t, const std::vector<Expr>& coordinates) const {
    std::map<std::string, Expr, std::less<>> bind;
    for (size_t k = 0; k < coordinates.size(); ++k) bind.emplace("d" + std::to_string(k), coordinates[k]);
    std::vector<Expr> out;
    out.reserve(t.index.size());
    for (Expr e : t.index) out.push_back(substitute(e, bind));
    return out;
}

int Lowering::loadAt(KernelBuilder& k, const LoweredTensor& t, const std::vector<Expr>& coordinates, int mask) const {
    if (t.buffer < 0) {
        const int value = k.literal(t.dtype, t.fill);
        return mask < 0 ? value : k.op(ScalarOp::select_, {mask, value, k.constant(t.dtype, 0)});
    }
    return k.load(t.buffer, mapCoordinates(t, coordinates), mask);
}

int Lowering::loadBroadcast(KernelBuilder& k, const LoweredTensor& t, const std::vector<Expr>& coordinates) const {
    const size_t shift = coordinates.size() - std::min(coordinates.size(), t.sizes.size());
    std::vector<Expr> own;
    for (size_t d = 0; d < t.sizes.size(); ++d) own.push_back(t.sizes[d].isConst(1) ? Expr(0) : coordinates[d + shift]);
    return loadAt(k, t, own);
}

Ranges Lowering::rangesOf(const std::vector<Expr>& sizes) const {
    Ranges r = program.symbols;
    for (size_t k = 0; k < sizes.size(); ++k) r["d" + std::to_string(k)] = {Expr(0), sizes[k] - 1};
    return r;
}

bool Lowering::sameExpr(Expr a, Expr b) const { return a == b || simplify(a - b, program.symbols).isConst(0); }

std::vector<int> Lowering::memoryOrderOf(const LoweredTensor& t) const {
    std::vector<int> order(t.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    auto view = t.buffer >= 0 ? stridedView(t) : std::nullopt;
    if (!view) return order;
    // Broadcast (stride 0) and size-1 dims stay where they are; symbolic strides compare by a value at a typical size.
    auto weight = [&](int d) -> int64_t {
        std::map<std::string, int64_t, std::less<>> at;
        for (const auto& s : symbolsOf(view->strides[size_t(d)])) at[s] = 64;
        auto v = evaluate(view->strides[size_t(d)], at);
        return v.ok() ? *v : 0;
    };
    std::vector<int64_t> w(order.size());
    for (size_t d = 0; d < order.size(); ++d) w[d] = weight(int(d));
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
        if (t.sizes[size_t(a)].isConst(1) || t.sizes[size_t(b)].isConst(1)) return false;
        return w[size_t(a)] > w[size_t(b)];
    });
    return order;
}

std::vector<Expr> Lowering::openLoops(KernelBuilder& k, const std::vector<Expr>& sizes, const std::vector<int>* order) const {
    std::vector<Expr> coordinates(sizes.size());
    for (size_t n = 0; n < sizes.size(); ++n) {
        const size_t d = order && order->size() == sizes.size() ? size_t((*order)[n]) : n;
        coordinates[d] = k.loop(sizes[d]);
    }
    return coordinates;
}

std::optional<BufferView> Lowering::stridedView(const LoweredTensor& t) const {
    if (t.buffer < 0) return std::nullopt;
    const Buffer& b = program.buffer(t.buffer);
    const Ranges ranges = rangesOf(t.sizes);
    Expr flat = 0;
    for (size_t k = 0; k < t.index.size(); ++k) flat = flat + t.index[k] * b.strides[k];
    flat = simplify(flat, ranges);
    BufferView view;
    view.buffer = t.buffer;
    view.sizes = t.sizes;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
        const std::string name = "d" + std::to_string(d);
        auto affine = affineIn(flat, name);
        if (!affine) return std::nullopt;
        for (const auto& s : symbolsOf(affine->coefficient))
            if (s[0] == 'd' || s[0] == '%') return std::nullopt;
        view.strides.push_back(affine->coefficient);
        flat = affine->rest;
    }
    for (const auto& s : symbolsOf(flat))
        if (s[0] == 'd' || s[0] == '%') return std::nullopt;
    view.offset = flat;
    return view;
}

LoweredTensor Lowering::materialize(const Node& node, const LoweredTensor& t, const std::vector<int>* order) {
    const BufferId id = makeTemporary(node, "copy", t.sizes, t.dtype, order);
    KernelBuilder k = builder(node);
    const auto coordinates = openLoops(k, t.sizes, order);
    k.store(id, coordinates, loadAt(k, t, coordinates));
    k.close(int(t.sizes.size()));
    add(std::move(k));
    return whole(id);
}

void Lowering::add(LibraryCall call) {
    const Buffer& out = program.buffer(call.output.buffer);
    if (call.output == wholeView(out)) flexible_[out.id] = program.items.size();
    program.items.push_back(std::make_shared<const LibraryCall>(std::move(call)));
}

bool Lowering::relayout(const LoweredTensor& t) {
    auto it = flexible_.find(t.buffer);
    if (it == flexible_.end()) return false;
    Buffer& b = program.buffers[size_t(t.buffer)];
    if (b.sizes.size() < 3 || b.sizes.size() > 5) return false;
    const std::vector<Expr> kept = b.strides;
    // The fastest dim stays the fastest: library calls want unit stride there.
    std::vector<int> order(b.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    do {
        if (order.back() != int(order.size()) - 1) continue;
        b.strides = stridesInOrder(b.sizes, order);
        if (stridedView(t)) {
            auto call = std::make_shared<LibraryCall>(*std::get<std::shared_ptr<const LibraryCall>>(program.items[it->second]));
            call->output = wholeView(b);
            program.items[it->second] = std::move(call);
            return true;
        }
    } while (std::next_permutation(order.begin(), order.end()));
    b.strides = kept;
    return false;
}

BufferView Lowering::libraryOperand(const Node& node, const LoweredTensor& given) {
    LoweredTensor t = given;
    auto view = stridedView(t);
    if (!view && t.buffer >= 0 && relayout(t)) view = stridedView(t);
    if (!view) {
        if (t.buffer >= 0) {
            const auto bytes = simplify(product(t.sizes) * Expr(itemSize(t.dtype)), program.symbols).asConst();
            context.explain(Verdict::Done, Reason::view_needs_copy, {node.name, program.buffer(t.buffer).name, bytes.value_or(0)}, {node.id});
        }
        t = materialize(node, t);
        view = stridedView(t);
    }
    flexible_.erase(view->buffer);
    return *view;
}

Result<void> Lowering::addInputs() {
    int position = 0;
    for (const GraphInput& in : graph.inputs) {
        const bool user = in.kind == InputKind::User;
        const int userIndex = user || in.kind == InputKind::ConstantValue ? position++ : -1;
        if (const SymType* s = in.value.sym()) {
            symbols_[in.value.id] = s->expr.value_or(Expr::symbol(in.value.name));
            continue;
        }
        const TensorType* type = in.value.tensor();
        if (!type) continue;  // None, constants, tokens: found through arg() or unused
        Buffer b;
        b.name = in.value.name;
        b.dtype = type->dtype;
        b.sizes = type->sizes;
        b.strides = type->strides.size() == type->sizes.size() ? type->strides : contiguousStrides(type->sizes);
        b.kind = user ? BufferKind::Input : BufferKind::Constant;
        b.value = in.value.id;
        b.target = user ? in.value.name : in.target;
        b.inputIndex = userIndex;
        const BufferId id = program.addBuffer(std::move(b)).id;
        define(in.value.id, whole(id));
    }
    return {};
}

Result<void> Lowering::addOutputs() {
    for (const GraphOutput& out : graph.outputs) {
        ProgramOutput o;
        o.kind = out.kind;
        o.target = out.target;
        if (const LoweredTensor* t = tensor(out.value)) {
            const Node* producer = graphIndex.producer(out.value.valueId());
            static const Node inputNode = [] { Node n; n.name = "output"; return n; }();
            const Node& origin = producer ? *producer : inputNode;
            LoweredTensor value = *t;
            auto view = stridedView(value);
            // PyTorch hands out row-major results unless the op's own rule says otherwise; the type states the strides when they are known.
            const TensorType* type = producer || graphIndex.value(out.value.valueId()) ? graphIndex.value(out.value.valueId())->tensor() : nullptr;
            const auto wanted = type && type->strides.size() == type->sizes.size() && !type->sizes.empty() ? type->strides : contiguousStrides(value.sizes);
            bool sameStrides = bool(view);
            for (size_t d = 0; sameStrides && d < wanted.size(); ++d)
                sameStrides = value.sizes[d].isConst(1) || sameExpr(view->strides[d], wanted[d]);
            if (!sameStrides) {
                std::vector<int> order(value.sizes.size());
                std::iota(order.begin(), order.end(), 0);
                value = materialize(origin, value, &order);
                view = stridedView(value);
            }
            Buffer& b = program.buffers[size_t(view->buffer)];
            if (b.kind == BufferKind::Intermediate) b.kind = BufferKind::Output;
            o.dtype = value.dtype;
            o.value = *view;
        } else if (auto e = exprOf(out.value)) {
            o.dtype = DType::I64;
            o.value = *e;
        } else if (auto* d = out.value.get<double>()) {
            o.dtype = DType::F64;
            o.value = *d;
        } else {
            o.value = None{};
        }
        program.outputs.push_back(std::move(o));
    }
    return {};
}

Result<LoopProgram> Lowering::run() {
    FW_TRY_VOID(addInputs());
    size_t done = 0;
    for (const NodePtr& node : graph.nodes) {
        if ((++done & 15) == 0) FW_TRY_VOID(context.cancelled());
        const size_t before = program.items.size();
        FW_TRY_VOID(lowerNode(node));
        if (program.items.size() > before) {
            std::string names;
            for (size_t i = before; i < program.items.size(); ++i) names += (i > before ? ", " : "") + std::string(itemName(program.items[i]));
            const Item& last = program.items.back();
            if (std::holds_alternative<KernelPtr>(last)) context.explain(Verdict::Done, Reason::lowered, {node->name, names}, {node->id}, {names});
        }
    }
    FW_TRY_VOID(addOutputs());
    dropUnread();
    return std::move(program);
}

Result<void> Lowering::lowerNode(const NodePtr& node) {
    // A symbolic scalar is its expression; nothing runs for it.
    if (node->outputs.size() == 1) {
        if (const SymType* s = node->outputs[0].sym()) {
            if (!s->expr) return unsupported(node->name + " is a number that depends on data (" + node->target + "); compiled mode cannot run it", node->name);
            symbols_[node->output()] = *s->expr;
            return {};
        }
    }
    if (node->target == "aten._assert_tensor_metadata.default" || node->target == "aten._assert_scalar.default" || node->target == "aten._assert_async.msg") {
        // Checked when the graph is called: sizes and types of inputs are bound against the graph's.
        context.explain(Verdict::Done, Reason::dead_value, {node->name}, {node->id});
        return {};
    }
    // A value made of tensors whose types are unknown stays opaque.
    bool typed = true;
    for (const Value& v : node->outputs) typed &= v.id == 0 || v.tensor() != nullptr;
    if (typed && !node->outputs.empty()) {
        for (LowerFamily family : {lowerView, lowerCreation, lowerPointwise, lowerReduction, lowerNorm, lowerIndexing, lowerPool, lowerLibrary}) {
            FW_TRY(done, family(*this, *node));
            if (done) return {};
        }
    }
    return lowerExtern(node);
}

Result<void> Lowering::lowerExtern(const NodePtr& node) {
    ExternCall call;
    call.name = opName();
    call.node = node;
    Result<void> status;
    for (const NamedArgument& a : node->args) {
        forEachValue(a.value, [&](ValueId id) {
            if (auto it = symbols_.find(id); it != symbols_.end()) {
                call.symbolValues[id] = it->second;
                return;
            }
            auto it = tensors_.find(id);
            if (it == tensors_.end()) {
                if (status.ok()) status = unsupported(node->name + " (" + node->target + ") reads a value that has no tensor form", node->name);
                return;
            }
            for (const auto& [known, view] : call.inputs)
                if (known == id) return;
            call.inputs.emplace_back(id, libraryOperand(*node, it->second));
        });
    }
    FW_TRY_VOID(status);
    for (size_t i = 0; i < node->outputs.size(); ++i) {
        const Value& v = node->outputs[i];
        const TensorType* type = v.tensor();
        if (!type) {
            if (v.id == 0) continue;
            return unsupported("the result " + v.name + " of " + node->target + " is not a tensor; compiled mode cannot run it", node->name);
        }
        const BufferId id = makeBuffer(*node, i, type->sizes, type->dtype);
        call.outputs.push_back(wholeView(program.buffer(id)));
        define(v.id, whole(id));
    }
    context.explain(Verdict::Kept, Reason::fallback_eager, {node->target}, {node->id}, {call.name});
    program.items.push_back(std::make_shared<const ExternCall>(std::move(call)));
    return {};
}

}  // namespace fw
