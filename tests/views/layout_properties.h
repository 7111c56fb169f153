// What every layout must keep, whatever the graph. Each check returns the first violation as text, empty when there is none.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "views/layered_layout.h"

namespace fw {

inline bool overlaps(const PlacedBox& a, const PlacedBox& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
inline bool inside(const PlacedBox& inner, const PlacedBox& outer) {
    return inner.x >= outer.x && inner.y >= outer.y && inner.x + inner.width <= outer.x + outer.width && inner.y + inner.height <= outer.y + outer.height;
}

/// Boxes of one frame do not overlap; what is in an open group lies inside its box.
inline std::string boxViolation(const LayoutInput& in, const LayoutResult& r) {
    struct Entry { std::string name; PlacedBox box; int parent; };
    std::vector<Entry> all;
    for (size_t n = 0; n < in.nodes.size(); ++n)
        if (r.nodes[n].visible) all.push_back({fmt::format("node {}", in.nodes[n].id), r.nodes[n], in.nodes[n].group});
    for (size_t g = 0; g < in.groups.size(); ++g)
        if (r.groups[g].visible) all.push_back({fmt::format("group {}", in.groups[g].id), r.groups[g], in.groups[g].parent});
    for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].parent >= 0 && !inside(all[i].box, r.groups[size_t(all[i].parent)])) return all[i].name + " sticks out of its group";
        for (size_t j = i + 1; j < all.size(); ++j)
            if (all[i].parent == all[j].parent && overlaps(all[i].box, all[j].box)) return all[i].name + " overlaps " + all[j].name;
    }
    return {};
}

/// No vertical or horizontal line crosses the inside of a node or of a closed group.
inline std::string lineViolation(const LayoutInput& in, const LayoutResult& r) {
    std::vector<std::pair<std::string, PlacedBox>> solid;
    for (size_t n = 0; n < in.nodes.size(); ++n)
        if (r.nodes[n].visible) solid.emplace_back(fmt::format("node {}", in.nodes[n].id), r.nodes[n]);
    for (size_t g = 0; g < in.groups.size(); ++g)
        if (r.groups[g].visible && !r.groups[g].open) solid.emplace_back(fmt::format("group {}", in.groups[g].id), r.groups[g]);
    for (const auto& l : r.lines) {
        if (l.diagonal) continue;
        PlacedBox line{std::min(l.x0, l.x1), std::min(l.y0, l.y1), std::abs(l.x1 - l.x0), std::abs(l.y1 - l.y0), true, false};
        for (const auto& [name, box] : solid) {
            PlacedBox core{box.x + 1, box.y + 1, box.width - 2, box.height - 2, true, false};
            if (overlaps(line, core)) return fmt::format("the line of %{} ({},{})-({},{}) crosses {} ({},{} {}x{})", l.value, l.x0, l.y0, l.x1, l.y1, name, box.x, box.y, box.width, box.height);
        }
    }
    return {};
}

}  // namespace fw
