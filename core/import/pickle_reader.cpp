// The pickle machine: a stack, marks, a memo, and a switch over the opcodes that torch writes (protocols 2 to 4). Values live in one table, so a
// hostile file can neither recurse us nor make us free a cycle; each opcode adds at most one value, which bounds memory by the length of the text.
#include "core/import/pickle_reader.h"

#include <bit>

#include <fmt/format.h>

#include "core/import/pickle_globals.h"

namespace fw {

namespace {

class Machine {
public:
    Machine(ByteSpan bytes, const std::string& where) : bytes_(bytes), where_(where) {}

    Result<Pickle> run() {
        while (true) {
            if (at_ >= bytes_.size()) return bad("ends before its STOP");
            const auto op = uint8_t(bytes_[at_++]);
            if (op == '.') break;
            FW_TRY_VOID(step(op));
        }
        if (stack_.size() != 1 || !marks_.empty()) return bad("leaves more than one value");
        out_.root = stack_.back();
        out_.bytesRead = at_;
        return std::move(out_);
    }

private:
    Error bad(std::string_view what) const {
        return badInput(fmt::format("the pickle {} at byte {}; it is damaged or was not made by torch.save: save it again", what, at_), where_);
    }

    // Values
    PickleId make(PickleKind kind) {
        out_.values.emplace_back().kind = kind;
        return PickleId(out_.values.size() - 1);
    }
    PickleValue& at(PickleId id) { return out_.values[id]; }
    void push(PickleId id) { stack_.push_back(id); }
    void pushInt(int64_t v) { const PickleId id = make(PickleKind::Int); at(id).integer = v; push(id); }
    void pushBool(bool v) { const PickleId id = make(PickleKind::Bool); at(id).integer = v; push(id); }

    // Stack: nothing may be popped below the innermost mark.
    size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
    Result<PickleId> pop() {
        if (stack_.size() <= floor()) return bad("pops an empty stack");
        const PickleId id = stack_.back();
        stack_.pop_back();
        return id;
    }
    Result<std::vector<PickleId>> popMark() {
        if (marks_.empty()) return bad("pops a mark that was never set");
        std::vector<PickleId> items(stack_.begin() + std::ptrdiff_t(marks_.back()), stack_.end());
        stack_.resize(marks_.back());
        marks_.pop_back();
        return items;
    }
    Result<PickleId> top() {
        if (stack_.size() <= floor()) return bad("needs a value and has none");
        return stack_.back();
    }

    // Text
    template <class T> Result<T> number() {
        const auto v = loadLe<T>(bytes_, at_);
        if (!v) return bad("is cut off");
        at_ += sizeof(T);
        return *v;
    }
    Result<std::string> take(uint64_t length) {
        if (!fits(bytes_, at_, length)) return bad(fmt::format("claims a text of {} bytes that is not there", length));
        std::string text(reinterpret_cast<const char*>(bytes_.data() + at_), length);
        at_ += length;
        return text;
    }
    Result<std::string> line() {
        const std::string_view rest(reinterpret_cast<const char*>(bytes_.data() + at_), bytes_.size() - at_);
        const size_t end = rest.find('\n');
        if (end == rest.npos) return bad("is cut off inside a name");
        at_ += end + 1;
        return std::string(rest.substr(0, end));
    }
    Result<void> pushText(uint64_t length) {
        FW_TRY(text, take(length));
        const PickleId id = make(PickleKind::String);
        at(id).text = std::move(text);
        push(id);
        return {};
    }

    /// Memo references let a short file name one value many times; this keeps what we build in proportion to what was written.
    Result<void> spend(size_t n) {
        spent_ += n;
        if (spent_ > bytes_.size() * 4 + 1024) return bad("repeats its parts more often than its length justifies");
        return {};
    }
    Result<void> append(PickleId into, PickleId item) {
        FW_TRY_VOID(spend(1));
        PickleValue& container = at(into);
        container.items.push_back(item);
        container.depth = std::max(container.depth, at(item).depth + 1);
        if (container.depth > kMaxPickleDepth) return bad(fmt::format("nests deeper than {} levels", kMaxPickleDepth));
        return {};
    }
    Result<void> tuple(std::vector<PickleId> items) {
        const PickleId id = make(PickleKind::Tuple);
        for (PickleId item : items) FW_TRY_VOID(append(id, item));
        push(id);
        return {};
    }
    Result<void> tupleOf(size_t n) {
        if (stack_.size() < floor() + n) return bad("pops an empty stack");
        std::vector<PickleId> items(stack_.end() - std::ptrdiff_t(n), stack_.end());
        stack_.resize(stack_.size() - n);
        return tuple(std::move(items));
    }
    Result<void> appendAll(const std::vector<PickleId>& items) {
        FW_TRY(list, top());
        if (at(list).kind != PickleKind::List && at(list).kind != PickleKind::Opaque) return bad("appends to something that is no list");
        for (PickleId item : items) FW_TRY_VOID(append(list, item));
        return {};
    }
    Result<void> setAll(const std::vector<PickleId>& items) {
        FW_TRY(dict, top());
        if (at(dict).kind != PickleKind::Dict) return bad("sets a member of something that is no dict");
        if (items.size() % 2) return bad("sets a key without a value");
        for (PickleId item : items) FW_TRY_VOID(append(dict, item));
        return {};
    }
    Result<void> memoPut(uint64_t slot) {
        // Picklers number the memo in order of writing; a slot far past it would make us grow a table the file does not justify.
        if (slot > bytes_.size()) return bad("uses a memo slot that no writer would");
        FW_TRY(value, top());
        if (memo_.size() <= slot) memo_.resize(slot + 1, kNoValue);
        memo_[slot] = value;
        return {};
    }
    Result<void> memoGet(uint64_t slot) {
        if (slot >= memo_.size() || memo_[slot] == kNoValue) return bad("reads a memo slot that was never written");
        push(memo_[slot]);
        return {};
    }
    Result<void> longInt(uint64_t length) {
        FW_TRY(digits, take(length));
        if (length <= 8) {
            uint64_t v = length && (uint8_t(digits.back()) & 0x80) ? ~uint64_t{0} : 0;
            for (size_t i = digits.size(); i-- > 0;) v = (v << 8) | uint8_t(digits[i]);
            pushInt(int64_t(v));
            return {};
        }
        const PickleId id = make(PickleKind::BigInt);
        for (size_t i = digits.size(); i-- > 0;) at(id).text += fmt::format("{:02x}", uint8_t(digits[i]));
        push(id);
        return {};
    }

    Result<void> global(const std::string& module, const std::string& name) {
        if (!findPickleGlobal(module, name))
            return badInput(fmt::format("the pickle names {}.{}, which is not on the list of harmless names; Fusewright never runs code from a file: "
                                        "save plain tensors (a state dict) instead", module, name), where_);
        const PickleId id = make(PickleKind::Global);
        at(id).text = module + " " + name;
        push(id);
        return {};
    }
    std::optional<PickleGlobalInfo> infoOf(PickleId id) {
        if (at(id).kind != PickleKind::Global) return std::nullopt;
        const size_t space = at(id).text.find(' ');
        return findPickleGlobal(std::string_view(at(id).text).substr(0, space), std::string_view(at(id).text).substr(space + 1));
    }

    // Rebuild functions
    Result<int64_t> count(PickleId id, std::string_view what) {
        const PickleValue& v = at(id);
        if (v.kind != PickleKind::Int || v.integer < 0) return bad(fmt::format("gives a tensor whose {} is not a natural number", what));
        return v.integer;
    }
    Result<std::vector<int64_t>> counts(PickleId id, std::string_view what) {
        const PickleValue& v = at(id);
        if (v.kind != PickleKind::Tuple && v.kind != PickleKind::List) return bad(fmt::format("gives a tensor whose {} is no list", what));
        if (v.items.size() > kMaxDims) return bad(fmt::format("gives a tensor with {} dimensions", v.items.size()));
        std::vector<int64_t> out;
        for (PickleId item : v.items) {
            FW_TRY(n, count(item, what));
            out.push_back(n);
        }
        return out;
    }
    Result<PickleStorage> storage(PickleId id) {
        if (at(id).kind != PickleKind::Tuple || at(id).items.size() < 5 || at(id).items.size() > kMaxArgs) return bad("refers to something that is no storage");
        const std::vector<PickleId> items = at(id).items;
        if (at(items[0]).text != "storage") return bad("refers to something that is no storage");
        const auto info = infoOf(items[1]);
        if (!info || (info->what != PickleGlobal::StorageClass && info->what != PickleGlobal::UntypedStorageClass))
            return bad("gives a storage of an unknown class");
        PickleStorage s;
        s.key = at(items[2]).kind == PickleKind::Int ? std::to_string(at(items[2]).integer) : at(items[2]).text;
        if (s.key.empty() || s.key.find('/') != s.key.npos || s.key.find("..") != s.key.npos || s.key.find('\0') != s.key.npos)
            return bad("gives a storage a key that cannot be an entry's name");
        s.dtype = info->dtype;
        FW_TRY(n, count(items[4], "storage size"));
        s.count = n;
        if (items.size() > 5 && at(items[5]).kind == PickleKind::Tuple) {  // a view of another storage: (key, offset, size)
            const std::vector<PickleId> view = at(items[5]).items;
            if (view.size() != 3) return bad("gives a storage view that is no triple");
            FW_TRY(offset, count(view[1], "view offset"));
            s.viewOffset = offset;
        }
        return s;
    }
    Result<PickleId> tensor(PickleTensor t) {
        FW_TRY_VOID(spend(t.sizes.size()));
        const PickleId id = make(PickleKind::Tensor);
        at(id).integer = int64_t(out_.tensors.size());
        out_.tensors.push_back(std::move(t));
        return id;
    }
    Result<PickleId> opaque(std::string text, const std::vector<PickleId>& parts = {}) {
        const PickleId id = make(PickleKind::Opaque);
        at(id).text = std::move(text);
        for (PickleId part : parts)
            if (at(part).kind == PickleKind::Tensor) FW_TRY_VOID(append(id, part));
        return id;
    }

    Result<PickleId> rebuildTensor(const std::vector<PickleId>& args, bool v3) {
        if (args.size() < (v3 ? 7u : 4u)) return bad("rebuilds a tensor from too few values");
        if (at(args[0]).kind != PickleKind::Storage) return bad("rebuilds a tensor from something that is no storage");
        PickleTensor t;
        t.storage = out_.storages[size_t(at(args[0]).integer)];
        FW_TRY(offset, count(args[1], "offset"));
        FW_TRY(sizes, counts(args[2], "size"));
        FW_TRY(strides, counts(args[3], "stride"));
        t.offset = offset;
        t.sizes = std::move(sizes);
        t.strides = std::move(strides);
        if (t.sizes.size() != t.strides.size()) return bad("rebuilds a tensor with another number of strides than sizes");
        t.requiresGrad = args.size() > 4 && at(args[4]).kind == PickleKind::Bool && at(args[4]).integer;
        std::optional<DType> dtype = t.storage->dtype;
        if (v3) {
            const auto info = infoOf(args[6]);
            if (!info || info->what != PickleGlobal::DTypeName) return bad("rebuilds a tensor without a dtype");
            dtype = info->dtype;
        }
        if (!dtype) return opaque("tensor of a dtype Fusewright has no values for");
        t.dtype = *dtype;
        return tensor(t);
    }
    /// (dtype, size, stride, requires_grad): a meta tensor has a shape and no values.
    Result<PickleId> rebuildMeta(const std::vector<PickleId>& args) {
        if (args.size() < 3) return bad("rebuilds a tensor from too few values");
        const auto info = infoOf(args[0]);
        if (!info || info->what != PickleGlobal::DTypeName || !info->dtype) return opaque("tensor of an unknown dtype");
        PickleTensor t;
        t.dtype = *info->dtype;
        FW_TRY(sizes, counts(args[1], "size"));
        FW_TRY(strides, counts(args[2], "stride"));
        t.sizes = std::move(sizes);
        t.strides = std::move(strides);
        if (t.sizes.size() != t.strides.size()) return bad("rebuilds a tensor with another number of strides than sizes");
        return tensor(t);
    }

    Result<void> reduce() {
        FW_TRY(argsId, pop());
        FW_TRY(f, pop());
        if (at(argsId).kind != PickleKind::Tuple) return bad("calls with something that is no tuple");
        if (at(argsId).items.size() > kMaxArgs) return bad("calls with more values than any rebuild function takes");
        const std::vector<PickleId> args = at(argsId).items;
        const auto info = infoOf(f);
        if (!info) return bad("calls something that is no name");
        auto result = apply(*info, f, args);
        if (!result.ok()) return std::move(result.error());
        push(*result);
        return {};
    }
    Result<PickleId> apply(const PickleGlobalInfo& info, PickleId f, const std::vector<PickleId>& args) {
        switch (info.what) {
            case PickleGlobal::OrderedDict: {
                const PickleId dict = make(PickleKind::Dict);
                if (args.empty()) return dict;
                // OrderedDict([(k, v), ...]) of protocol 0 writers
                for (size_t i = 0; i < at(args[0]).items.size(); ++i) {
                    const PickleId pair = at(args[0]).items[i];
                    if (at(pair).items.size() != 2) return bad("makes a dict from something that is no list of pairs");
                    FW_TRY_VOID(append(dict, at(pair).items[0]));
                    FW_TRY_VOID(append(dict, at(pair).items[1]));
                }
                return dict;
            }
            case PickleGlobal::Container:
            case PickleGlobal::BytesFromText:
                return opaque(at(f).text);
            case PickleGlobal::RebuildTensor: return rebuildTensor(args, false);
            case PickleGlobal::RebuildTensorV3: return rebuildTensor(args, true);
            case PickleGlobal::RebuildMeta: return rebuildMeta(args);
            case PickleGlobal::RebuildParameter: {
                if (args.empty()) return bad("makes a parameter from nothing");
                if (at(args[0]).kind != PickleKind::Tensor) return opaque(at(f).text, args);
                PickleTensor t = out_.tensor(at(args[0]));
                t.requiresGrad = args.size() > 1 && at(args[1]).kind == PickleKind::Bool && at(args[1]).integer;
                return tensor(t);
            }
            case PickleGlobal::RebuildQuantized:
            case PickleGlobal::RebuildSparse:
            case PickleGlobal::RebuildSubclass:
            case PickleGlobal::FakeTensor:
                return opaque(at(f).text, args);
            case PickleGlobal::Size:
                if (args.size() != 1) return bad("makes a torch.Size from other than one list");
                return args[0];
            case PickleGlobal::DeviceName:
            case PickleGlobal::LayoutName:
                return opaque(at(f).text, args);
            default:
                return bad("calls " + at(f).text + ", which is not callable");
        }
    }
    /// State after construction: kept for dicts (it is only `_metadata`), meaningless for tensors; anything else could be code's business.
    Result<void> build() {
        FW_TRY_VOID(pop());
        FW_TRY(target, top());
        const PickleKind kind = at(target).kind;
        if (kind != PickleKind::Dict && kind != PickleKind::Tensor && kind != PickleKind::Opaque) return bad("sets the state of something that has none");
        return {};
    }

    Result<void> step(uint8_t op) {
        switch (op) {
            case 0x80: {  // PROTO
                FW_TRY(version, number<uint8_t>());
                if (version > 5) return bad(fmt::format("has protocol {}", version));
                return {};
            }
            case 0x95: FW_TRY_VOID(number<uint64_t>()); return {};  // FRAME: a hint for buffered readers
            case '(':
                if (marks_.size() >= kMaxPickleDepth * 2) return bad("nests too deep");
                marks_.push_back(stack_.size());
                return {};
            case 'c': {
                FW_TRY(module, line());
                FW_TRY(name, line());
                return global(module, name);
            }
            case 0x93: {  // STACK_GLOBAL
                FW_TRY(name, pop());
                FW_TRY(module, pop());
                if (at(name).kind != PickleKind::String || at(module).kind != PickleKind::String) return bad("names a global by something that is no text");
                return global(std::string(at(module).text), std::string(at(name).text));
            }
            case 'R': return reduce();
            case 'b': return build();
            case 0x81: {  // NEWOBJ
                FW_TRY(args, pop());
                FW_TRY(cls, pop());
                const auto info = infoOf(cls);
                if (!info || info->what != PickleGlobal::OrderedDict || !at(args).items.empty()) return bad("makes an object of a class");
                push(make(PickleKind::Dict));
                return {};
            }
            case 'Q': {
                FW_TRY(id, pop());
                FW_TRY(s, storage(id));
                const PickleId value = make(PickleKind::Storage);
                at(value).integer = int64_t(out_.storages.size());
                out_.storages.push_back(std::move(s));
                push(value);
                return {};
            }
            case 'q': { FW_TRY(slot, number<uint8_t>()); return memoPut(slot); }
            case 'r': { FW_TRY(slot, number<uint32_t>()); return memoPut(slot); }
            case 0x94: return memoPut(memo_.size());  // MEMOIZE
            case 'h': { FW_TRY(slot, number<uint8_t>()); return memoGet(slot); }
            case 'j': { FW_TRY(slot, number<uint32_t>()); return memoGet(slot); }
            case '}': push(make(PickleKind::Dict)); return {};
            case ']': push(make(PickleKind::List)); return {};
            case ')': push(make(PickleKind::Tuple)); return {};
            case 0x8F: push(make(PickleKind::List)); return {};  // EMPTY_SET
            case 't': { FW_TRY(items, popMark()); return tuple(std::move(items)); }
            case 0x85: return tupleOf(1);
            case 0x86: return tupleOf(2);
            case 0x87: return tupleOf(3);
            case 'a': { FW_TRY(item, pop()); return appendAll({item}); }
            case 'e': case 0x90: { FW_TRY(items, popMark()); return appendAll(items); }
            case 's': {
                FW_TRY(value, pop());
                FW_TRY(key, pop());
                return setAll({key, value});
            }
            case 'u': { FW_TRY(items, popMark()); return setAll(items); }
            case 'N': push(make(PickleKind::None)); return {};
            case 0x88: pushBool(true); return {};
            case 0x89: pushBool(false); return {};
            case 'J': { FW_TRY(v, number<int32_t>()); pushInt(v); return {}; }
            case 'K': { FW_TRY(v, number<uint8_t>()); pushInt(v); return {}; }
            case 'M': { FW_TRY(v, number<uint16_t>()); pushInt(v); return {}; }
            case 0x8A: { FW_TRY(n, number<uint8_t>()); return longInt(n); }
            case 'G': {
                FW_TRY(bits, number<uint64_t>());
                const PickleId id = make(PickleKind::Double);
                at(id).real = std::bit_cast<double>(__builtin_bswap64(bits));
                push(id);
                return {};
            }
            case 'X': case 'B': { FW_TRY(n, number<uint32_t>()); return pushText(n); }
            case 'U': case 'C': case 0x8C: { FW_TRY(n, number<uint8_t>()); return pushText(n); }
            case 0x8D: case 0x8E: { FW_TRY(n, number<uint64_t>()); return pushText(n); }
            default: return bad(fmt::format("uses opcode 0x{:02x}, which torch.save does not write,", op));
        }
    }

    static constexpr PickleId kNoValue = ~PickleId{0};
    static constexpr size_t kMaxDims = 64;  // torch's own limit
    static constexpr size_t kMaxArgs = 16;  // the longest known, a wrapper subclass, has 10
    size_t spent_ = 0;
    ByteSpan bytes_;
    const std::string& where_;
    size_t at_ = 0;
    Pickle out_;
    std::vector<PickleId> stack_;
    std::vector<size_t> marks_;
    std::vector<PickleId> memo_;
};

}  // namespace

const PickleValue* Pickle::member(const PickleValue& dict, std::string_view key) const {
    if (dict.kind != PickleKind::Dict) return nullptr;
    for (size_t i = dict.items.size(); i >= 2; i -= 2)
        if (at(dict.items[i - 2]).kind == PickleKind::String && at(dict.items[i - 2]).text == key) return &at(dict.items[i - 1]);
    return nullptr;
}

Result<Pickle> readPickle(ByteSpan bytes, const std::string& where) { return Machine(bytes, where).run(); }

}  // namespace fw
