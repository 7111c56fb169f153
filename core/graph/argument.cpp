// Equality, walking and rewriting of node arguments.
#include "core/graph/argument.h"

namespace fw {

bool operator==(const Argument& a, const Argument& b) {
    // NaN is the same argument as NaN: what is compared is the program, not the number.
    if (auto *x = a.get<double>(), *y = b.get<double>(); x && y && *x != *x && *y != *y) return true;
    return a.v == b.v;
}

bool operator==(const ArgList& a, const ArgList& b) {
    return a.tuple == b.tuple && a.call == b.call && a.keys == b.keys && a.items == b.items;
}

void forEachValue(const Argument& a, const std::function<void(ValueId)>& f) {
    if (auto* r = a.get<ValueRef>()) f(r->id);
    else if (auto* list = a.get<ArgList>())
        for (const Argument& item : list->items) forEachValue(item, f);
}

Argument mapValues(const Argument& a, const std::function<ValueId(ValueId)>& map) {
    if (auto* r = a.get<ValueRef>()) return ValueRef{map(r->id)};
    auto* list = a.get<ArgList>();
    if (!list) return a;
    ArgList out{{}, list->tuple, list->keys, list->call};
    out.items.reserve(list->items.size());
    for (const Argument& item : list->items) out.items.push_back(mapValues(item, map));
    return out;
}

Argument listOfInts(const std::vector<int64_t>& values) {
    ArgList list;
    for (int64_t v : values) list.items.emplace_back(v);
    return list;
}

Argument listOfValues(const std::vector<ValueId>& ids) {
    ArgList list;
    for (ValueId id : ids) list.items.emplace_back(ValueRef{id});
    return list;
}

}  // namespace fw
