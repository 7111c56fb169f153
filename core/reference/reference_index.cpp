// Reading and writing at places given by tensors: gather, scatter, index, index_put and their reducing forms.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/reference/reference_table.h"

namespace fw::reference {
namespace {

enum class Combine { Replace, Sum, Product, Mean, Maximum, Minimum };

template <class T>
T combined(Combine how, T a, T b) {
    if constexpr (std::is_same_v<T, double>)
        if ((how == Combine::Maximum || how == Combine::Minimum) && (std::isnan(a) || std::isnan(b))) return NAN;
    switch (how) {
        case Combine::Replace: return b;
        case Combine::Sum:
        case Combine::Mean:
            if constexpr (std::is_same_v<T, int64_t>) return int64_t(uint64_t(a) + uint64_t(b));
            else return a + b;
        case Combine::Product:
            if constexpr (std::is_same_v<T, int64_t>) return int64_t(uint64_t(a) * uint64_t(b));
            else return a * b;
        case Combine::Maximum: return std::max(a, b);
        case Combine::Minimum: return std::min(a, b);
    }
    return b;
}
template <class T>
T neutral(Combine how, DType type) {
    if (how == Combine::Product) return T(1);
    if (how != Combine::Maximum && how != Combine::Minimum) return T(0);
    if constexpr (std::is_same_v<T, double>) return how == Combine::Maximum ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    bool low = how == Combine::Maximum;
    int bits = itemSize(type) * 8;
    if (isBool(type) || type == DType::U8) return T(low ? 0 : wrapInt(type, -1));
    int64_t top = bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t(1) << (bits - 1)) - 1;
    return T(low ? -top - 1 : top);
}
Result<Combine> combineOf(const OpCall& call, const std::string& name) {
    if (name == "sum" || name == "add") return Combine::Sum;
    if (name == "prod" || name == "multiply") return Combine::Product;
    if (name == "mean") return Combine::Mean;
    if (name == "amax") return Combine::Maximum;
    if (name == "amin") return Combine::Minimum;
    return badCall(call, "unknown reduction " + name);
}

/// Writes of source element j (row-major over `places`) to the linear places of a flat copy of `self`, in order.
template <class T>
void write(Tensor& out, const std::vector<int64_t>& places, const std::vector<T>& source, Combine how, bool includeSelf) {
    auto y = loadAll<T>(out);
    DType step = isLowPrecision(out.dtype()) ? out.dtype() : DType::F64;
    std::vector<int64_t> count(how == Combine::Mean ? y.size() : 0, includeSelf ? 1 : 0);
    if (!includeSelf)
        for (int64_t p : places) y[size_t(p)] = neutral<T>(how, out.dtype());
    for (size_t j = 0; j < places.size(); ++j) {
        T& v = y[size_t(places[j])];
        v = combined(how, v, source[j]);
        if constexpr (std::is_same_v<T, double>)
            if (how == Combine::Mean) v = roundTo(step, v);
        if (how == Combine::Mean) ++count[size_t(places[j])];
    }
    if (how == Combine::Mean) {  // of a sum that half types round at every step
        std::vector<bool> done(y.size(), false);
        for (int64_t p : places) {
            if (done[size_t(p)] || count[size_t(p)] == 0) continue;
            done[size_t(p)] = true;
            if constexpr (std::is_same_v<T, int64_t>) {
                int64_t n = count[size_t(p)], q = y[size_t(p)] / n;
                y[size_t(p)] = y[size_t(p)] % n != 0 && y[size_t(p)] < 0 ? q - 1 : q;
            } else {
                y[size_t(p)] /= double(count[size_t(p)]);
            }
        }
    }
    saveAll(out, y);
}
Result<void> writeAny(OpCall& call, Tensor& out, const std::vector<int64_t>& places, const Tensor& source, Combine how, bool includeSelf = true, double alpha = 1) {
    if (source.numel() != int64_t(places.size())) return badCall(call, "needs a value per place");
    if (countsExactly(out.dtype())) {
        auto values = loadAll<int64_t>(source);
        if (alpha != 1)
            for (int64_t& v : values) v = int64_t(uint64_t(v) * uint64_t(int64_t(alpha)));
        write<int64_t>(out, places, values, how, includeSelf);
    } else {
        auto values = loadAll<double>(source);
        for (double& v : values) v *= alpha;
        write<double>(out, places, values, how, includeSelf);
    }
    return {};
}
Result<Tensor> copyOf(const OpCall& call, const Tensor& self) {
    FW_TRY(out, newOutput(call, 0, self.dtype(), self.sizes()));
    FW_TRY_VOID(copyInto(call, out, self));
    return out;
}

/// Linear places in `self` that gather/scatter along dim visits, one per element of `index`.
Result<std::vector<int64_t>> placesAlong(const OpCall& call, const Sizes& self, int dim, const Tensor& index) {
    Sizes own = self.empty() ? Sizes{1} : self, sizes = index.dim() ? index.sizes() : Sizes{1};
    if (sizes.size() != own.size() && index.numel() > 0) return badCall(call, "index has another number of dimensions");
    auto places = loadAll<int64_t>(index);
    Sizes at(sizes.size(), 0), strides = contiguousStrides(own);
    for (int64_t& p : places) {
        int64_t i = p, linear = 0;  // no negative indices here, as in eager
        if (i < 0 || i >= own[size_t(dim)]) return badCall(call, fmt::format("index {} of {}", p, own[size_t(dim)]));
        for (size_t d = 0; d < own.size(); ++d) {
            if (d != size_t(dim) && at[d] >= own[d]) return badCall(call, "index reaches past the tensor");
            linear += (d == size_t(dim) ? i : at[d]) * strides[d];
        }
        p = linear;
        for (size_t d = sizes.size(); d-- > 0;) {
            if (++at[d] < sizes[d]) break;
            at[d] = 0;
        }
    }
    return places;
}
Result<Tensor> take(const Tensor& self, const std::vector<int64_t>& places, const Sizes& sizes) {
    size_t next = 0;
    return remap(self, sizes, [&](const Sizes&) { return places[next++]; });
}

Result<void> gather(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(index, call.tensor(2));
    FW_TRY(places, placesAlong(call, self.sizes(), dim, index));
    FW_TRY(out, take(self, places, index.sizes()));
    return deliver(call, 0, out);
}
/// A copy of the indices with the negative ones counted from the end.
Result<Tensor> fromTheEnd(const Tensor& index, int64_t n) {
    auto values = loadAll<int64_t>(index);
    for (int64_t& v : values)
        if (v < 0) v += n;
    FW_TRY(out, Tensor::empty(DType::I64, index.sizes()));
    saveAll(out, values);
    return out;
}
Result<void> takeAlongDim(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(index, call.tensor(1));
    if (call.isNone(2)) {
        FW_TRY(flat, index.contiguous());
        FW_TRY(wrapped, fromTheEnd(flat, self.numel()));
        FW_TRY(places, placesAlong(call, {self.numel()}, 0, wrapped.asStrided({wrapped.numel()}, {1}, wrapped.offset())));
        FW_TRY(out, take(self, places, {index.numel()}));
        return deliver(call, 0, out);
    }
    FW_TRY(dim, wrapDim(call, *call.integer(2), self.dim()));
    Sizes a = self.sizes(), b = index.sizes();
    if (a.size() != b.size() || a.empty()) return badCall(call, "index has another number of dimensions");
    a[size_t(dim)] = b[size_t(dim)] = 1;
    FW_TRY(common, broadcastSizes(call, {a, b}));
    Sizes sa = common, sb = common;
    sa[size_t(dim)] = self.size(dim);
    sb[size_t(dim)] = index.size(dim);
    FW_TRY(wrapped, fromTheEnd(index, self.size(dim)));
    FW_TRY(places, placesAlong(call, sa, dim, broadcastTo(wrapped, sb)));
    FW_TRY(out, take(broadcastTo(self, sa), places, sb));
    return deliver(call, 0, out);
}
Result<void> takeFlat(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(index, call.tensor(1));
    auto places = loadAll<int64_t>(index);
    for (int64_t& p : places) {
        if (p < -self.numel() || p >= self.numel()) return badCall(call, fmt::format("index {} of {}", p, self.numel()));
        if (p < 0) p += self.numel();
    }
    FW_TRY(out, take(self, places, index.sizes()));
    return deliver(call, 0, out);
}
Result<void> put(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(index, call.tensor(1));
    FW_TRY(source, call.tensor(2));
    auto places = loadAll<int64_t>(index);
    for (int64_t& p : places) {
        if (p < -self.numel() || p >= self.numel()) return badCall(call, fmt::format("index {} of {}", p, self.numel()));
        if (p < 0) p += self.numel();
    }
    FW_TRY(out, copyOf(call, self));
    FW_TRY_VOID(writeAny(call, out, places, source, booleanOr(call, 3, false) ? Combine::Sum : Combine::Replace));
    return give(call, out);
}

/// The part of `src` that the index covers.
Tensor covered(const Tensor& src, const Tensor& index) {
    return src.dim() == index.dim() ? src.asStrided(index.sizes(), src.strides(), src.offset()) : src;
}
Result<void> scatterWith(OpCall& call, const Tensor& source, Combine how, bool includeSelf = true) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(index, call.tensor(2));
    FW_TRY(places, placesAlong(call, self.sizes(), dim, index));
    for (int d = 0; d < index.dim() && d < source.dim(); ++d)
        if (index.size(d) > source.size(d)) return badCall(call, "index is larger than the source");
    FW_TRY(out, copyOf(call, self));
    Tensor values = source.dim() == 0 && index.dim() > 0 ? broadcastTo(source, index.sizes()) : covered(source, index);
    FW_TRY_VOID(writeAny(call, out, places, values, how, includeSelf));
    return give(call, out);
}
Result<void> scatterSource(OpCall& call) {
    FW_TRY(source, call.tensor(3));
    return scatterWith(call, source, Combine::Replace);
}
Result<void> scatterAdd(OpCall& call) {
    FW_TRY(source, call.tensor(3));
    return scatterWith(call, source, Combine::Sum);
}
Result<Tensor> numberAs(const OpCall& call, size_t i, DType type) {
    if (auto* t = call.optionalTensor(i)) return castTo(*t, type);
    if (countsExactly(type) && i < call.args.size() && !call.args[i].get<double>()) {
        FW_TRY(v, call.integer(i));
        return Tensor::scalarInt(type, v);
    }
    FW_TRY(v, call.number(i));
    return Tensor::scalar(type, v);
}
Result<void> scatterValue(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(value, numberAs(call, 3, self.dtype()));
    return scatterWith(call, value, Combine::Replace);
}
Result<void> scatterReduce(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(source, numberAs(call, 3, self.dtype()));
    FW_TRY(how, combineOf(call, stringOr(call, 4, "sum")));
    return scatterWith(call, source, how, booleanOr(call, 5, true));
}

/// Places of whole slices: element j of source along dim goes to index[j].
Result<std::vector<int64_t>> slicePlaces(const OpCall& call, const Tensor& self, int dim, const Tensor& index, const Sizes& sourceSizes) {
    auto rows = loadAll<int64_t>(index);
    Sizes own = self.dim() ? self.sizes() : Sizes{1}, sizes = sourceSizes.empty() ? Sizes{1} : sourceSizes;
    if (sizes.size() != own.size() || sizes[size_t(dim)] != int64_t(rows.size())) return badCall(call, "needs a slice per index");
    for (size_t d = 0; d < own.size(); ++d)
        if (d != size_t(dim) && own[d] != sizes[d]) return badCall(call, "slices have another shape");
    for (int64_t& r : rows) {
        if (r < -own[size_t(dim)] || r >= own[size_t(dim)]) return badCall(call, fmt::format("index {} of {}", r, own[size_t(dim)]));
        if (r < 0) r += own[size_t(dim)];
    }
    std::vector<int64_t> places(size_t(numelOf(sizes)));
    Sizes at(sizes.size(), 0), strides = contiguousStrides(own);
    for (int64_t& p : places) {
        p = 0;
        for (size_t d = 0; d < own.size(); ++d) p += (d == size_t(dim) ? rows[size_t(at[d])] : at[d]) * strides[d];
        for (size_t d = sizes.size(); d-- > 0;) {
            if (++at[d] < sizes[d]) break;
            at[d] = 0;
        }
    }
    return places;
}
Result<void> indexSelect(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(index, call.tensor(2));
    Sizes sizes = self.sizes();
    if (!sizes.empty()) sizes[size_t(dim)] = index.numel();
    FW_TRY(places, slicePlaces(call, self, dim, index, sizes.empty() ? Sizes{index.numel()} : sizes));
    FW_TRY(out, take(self, places, sizes));
    return deliver(call, 0, out);
}
Result<void> indexWrite(OpCall& call, Combine how, bool includeSelf, double alpha) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(index, call.tensor(2));
    FW_TRY(source, call.tensor(3));
    FW_TRY(places, slicePlaces(call, self, dim, index, source.dim() == 0 && self.dim() > 0 ? Sizes{1} : source.sizes()));
    FW_TRY(out, copyOf(call, self));
    FW_TRY_VOID(writeAny(call, out, places, source, how, includeSelf, alpha));
    return give(call, out);
}
Result<void> indexAdd(OpCall& call) { return indexWrite(call, Combine::Sum, true, numberOr(call, 4, 1)); }
Result<void> indexCopy(OpCall& call) { return indexWrite(call, Combine::Replace, true, 1); }
Result<void> indexReduce(OpCall& call) {
    FW_TRY(how, combineOf(call, stringOr(call, 4, "prod")));
    return indexWrite(call, how, booleanOr(call, 5, true), 1);
}
Result<void> indexFill(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(dim, wrapDim(call, integerOr(call, 1, 0), self.dim()));
    FW_TRY(index, call.tensor(2));
    FW_TRY(value, numberAs(call, 3, self.dtype()));
    Sizes sizes = self.dim() ? self.sizes() : Sizes{1};
    sizes[size_t(dim)] = index.numel();
    FW_TRY(places, slicePlaces(call, self, dim, index, sizes));
    FW_TRY(out, copyOf(call, self));
    FW_TRY_VOID(writeAny(call, out, places, broadcastTo(value, {int64_t(places.size())}), Combine::Replace));
    return give(call, out);
}

/// Advanced indexing: linear places in `self` and the shape of what they select. Bool masks become their true places.
struct Selection {
    std::vector<int64_t> places;
    Sizes sizes;
};
Result<Selection> select(const OpCall& call, const Tensor& self, const std::vector<std::optional<Tensor>>& given, bool clampPlaces = false) {
    struct Axis { std::vector<int64_t> rows; Sizes sizes; };
    std::vector<std::optional<Axis>> axes;
    for (const auto& t : given) {
        if (!t) {
            axes.push_back(std::nullopt);
            continue;
        }
        auto values = loadAll<int64_t>(*t);
        if (!isBool(t->dtype()) && t->dtype() != DType::U8) {
            axes.push_back(Axis{values, t->sizes()});
            continue;
        }
        size_t first = axes.size();
        for (int d = 0; d < t->dim(); ++d) {
            if (int(first) + d >= self.dim() || self.size(int(first) + d) != t->size(d)) return badCall(call, "the mask has another shape");
            axes.push_back(Axis{{}, {}});
        }
        if (t->dim() == 0) return unsupported(call.node.target + " with a 0-dimensional mask");
        for (int64_t i = 0; i < int64_t(values.size()); ++i) {
            if (!values[size_t(i)]) continue;
            int64_t rest = i;
            for (int d = t->dim(); d-- > 0;) {
                axes[first + size_t(d)]->rows.push_back(rest % t->size(d));
                rest /= t->size(d);
            }
        }
        for (int d = 0; d < t->dim(); ++d) axes[first + size_t(d)]->sizes = {int64_t(axes[first]->rows.size())};
    }
    if (int(axes.size()) > self.dim()) return badCall(call, "has more indices than dimensions");
    axes.resize(size_t(self.dim()));
    std::vector<Sizes> shapes;
    int firstIndexed = -1, lastIndexed = -1, indexed = 0;
    for (int d = 0; d < self.dim(); ++d)
        if (axes[size_t(d)]) {
            shapes.push_back(axes[size_t(d)]->sizes);
            if (firstIndexed < 0) firstIndexed = d;
            lastIndexed = d;
            ++indexed;
        }
    FW_TRY(common, broadcastSizes(call, shapes));
    // Indexed dimensions that are neighbours stay in place; otherwise their result comes first.
    bool together = indexed == 0 || lastIndexed - firstIndexed + 1 == indexed;
    size_t at = together && indexed ? size_t(firstIndexed) : 0;
    Selection s;
    for (int d = 0; d < self.dim(); ++d)
        if (!axes[size_t(d)]) s.sizes.push_back(self.size(d));
    s.sizes.insert(s.sizes.begin() + long(at), common.begin(), common.end());
    FW_TRY(count, checkedNumel(s.sizes));
    s.places.reserve(size_t(count));
    Sizes index(s.sizes.size(), 0), strides = contiguousStrides(self.sizes());
    for (int64_t i = 0; i < count; ++i) {
        int64_t linear = 0;
        size_t plain = 0;
        for (int d = 0; d < self.dim(); ++d) {
            int64_t row = 0;
            if (const auto& axis = axes[size_t(d)]) {
                int64_t from = 0;
                size_t lead = common.size() - axis->sizes.size();
                for (size_t k = 0; k < axis->sizes.size(); ++k) from = from * axis->sizes[k] + (axis->sizes[k] == 1 ? 0 : index[at + lead + k]);
                row = axis->rows[size_t(from)];
                int64_t n = self.size(d);
                if (clampPlaces) row = std::clamp<int64_t>(row, -n, n - 1);
                if (row < -n || row >= n) return badCall(call, fmt::format("index {} of {}", row, n));
                if (row < 0) row += n;
            } else {
                if (plain == at) plain += common.size();
                row = index[plain++];
            }
            linear += row * strides[size_t(d)];
        }
        s.places.push_back(linear);
        for (size_t d = s.sizes.size(); d-- > 0;) {
            if (++index[d] < s.sizes[d]) break;
            index[d] = 0;
        }
    }
    return s;
}
Result<void> index(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(s, select(call, self, call.optionalTensors(1)));
    FW_TRY(out, take(self, s.places, s.sizes));
    return deliver(call, 0, out);
}
Result<void> indexPut(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(values, call.tensor(2));
    FW_TRY(s, select(call, self, call.optionalTensors(1)));
    FW_TRY(fits, broadcastSizes(call, {s.sizes, values.sizes()}));
    if (fits != s.sizes) return badCall(call, fmt::format("{} does not fit the selection", values.describe()));
    FW_TRY(out, copyOf(call, self));
    FW_TRY_VOID(writeAny(call, out, s.places, broadcastTo(values, s.sizes), booleanOr(call, 3, false) ? Combine::Sum : Combine::Replace));
    return give(call, out);
}
/// Inductor's masked forms: where the mask is false nothing is read or written.
Result<void> maskedIndex(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(mask, call.tensor(1));
    FW_TRY(fill, numberAs(call, 3, self.dtype()));
    FW_TRY(s, select(call, self, call.optionalTensors(2), true));
    FW_TRY(sizes, broadcastSizes(call, {s.sizes, mask.sizes()}));
    if (sizes != s.sizes) return badCall(call, "the mask does not fit the selection");
    auto kept = loadAll<int64_t>(broadcastTo(mask, sizes));
    size_t next = 0;
    FW_TRY(out, remap(self, sizes, [&](const Sizes&) { size_t i = next++; return kept[i] ? s.places[i] : -1; }, &fill));
    return deliver(call, 0, out);
}
Result<void> maskedIndexPut(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(mask, call.tensor(1));
    FW_TRY(values, call.tensor(3));
    FW_TRY(s, select(call, self, call.optionalTensors(2), true));
    FW_TRY(sizes, broadcastSizes(call, {s.sizes, mask.sizes(), values.sizes()}));
    if (sizes != s.sizes) return badCall(call, "mask or values do not fit the selection");
    auto kept = loadAll<int64_t>(broadcastTo(mask, sizes));
    auto given = loadAll<double>(broadcastTo(values, sizes));
    std::vector<int64_t> places;
    std::vector<double> written;
    for (size_t i = 0; i < kept.size(); ++i)
        if (kept[i]) {
            places.push_back(s.places[i]);
            written.push_back(given[i]);
        }
    FW_TRY(source, Tensor::empty(self.dtype(), {int64_t(written.size())}));
    saveAll(source, written);
    FW_TRY(out, copyOf(call, self));
    FW_TRY_VOID(writeAny(call, out, places, source, Combine::Sum));
    return give(call, out);
}

Result<void> nonzero(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    std::vector<int64_t> rows;
    auto values = loadAll<double>(self);
    int64_t count = 0;
    for (int64_t i = 0; i < int64_t(values.size()); ++i) {
        if (values[size_t(i)] == 0) continue;
        ++count;
        Sizes index(self.sizes().size());
        int64_t rest = i;
        for (size_t d = index.size(); d-- > 0;) {
            index[d] = rest % self.sizes()[d];
            rest /= self.sizes()[d];
        }
        rows.insert(rows.end(), index.begin(), index.end());
    }
    FW_TRY(out, Tensor::empty(DType::I64, {count, self.dim()}));
    saveAll(out, rows);
    return give(call, out);
}
Result<void> maskedSelect(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(mask, call.tensor(1));
    FW_TRY(sizes, broadcastSizes(call, {self.sizes(), mask.sizes()}));
    auto kept = loadAll<int64_t>(broadcastTo(mask, sizes));
    std::vector<int64_t> places;
    for (size_t i = 0; i < kept.size(); ++i)
        if (kept[i]) places.push_back(int64_t(i));
    FW_TRY(out, take(broadcastTo(self, sizes), places, {int64_t(places.size())}));
    return give(call, out);
}
Result<void> maskedScatter(OpCall& call) {
    FW_TRY(self, call.tensor(0));
    FW_TRY(mask, call.tensor(1));
    FW_TRY(source, call.tensor(2));
    FW_TRY(sizes, broadcastSizes(call, {self.sizes(), mask.sizes()}));
    auto kept = loadAll<int64_t>(broadcastTo(mask, sizes));
    std::vector<int64_t> places;
    for (size_t i = 0; i < kept.size(); ++i)
        if (kept[i]) places.push_back(int64_t(i));
    if (int64_t(places.size()) > source.numel()) return badCall(call, "the source has fewer elements than the mask");
    FW_TRY(out, newOutput(call, 0, self.dtype(), sizes));
    FW_TRY_VOID(copyInto(call, out, self));
    FW_TRY(flat, source.contiguous());
    FW_TRY_VOID(writeAny(call, out, places, flat.asStrided({int64_t(places.size())}, {1}, flat.offset()), Combine::Replace));
    return give(call, out);
}

}  // namespace

void addIndexKernels(KernelTable& t) {
    t["aten.gather.default"] = gather;
    t["aten.take_along_dim.default"] = takeAlongDim;
    t["aten.take.default"] = takeFlat;
    t["aten.put.default"] = put;
    t["aten.scatter.src"] = scatterSource;
    t["aten.scatter.value"] = scatterValue;
    t["aten.scatter.reduce"] = t["aten.scatter.value_reduce"] = t["aten.scatter_reduce.two"] = scatterReduce;
    t["aten.scatter_add.default"] = scatterAdd;
    t["aten.index_select.default"] = indexSelect;
    t["aten.index_add.default"] = indexAdd;
    t["aten.index_copy.default"] = indexCopy;
    t["aten.index_reduce.default"] = indexReduce;
    t["aten.index_fill.int_Scalar"] = t["aten.index_fill.int_Tensor"] = indexFill;
    t["aten.index.Tensor"] = index;
    t["aten.index_put.default"] = indexPut;
    t["aten._unsafe_masked_index.default"] = maskedIndex;
    t["aten._unsafe_masked_index_put_accumulate.default"] = maskedIndexPut;
    t["aten.nonzero.default"] = nonzero;
    t["aten.masked_select.default"] = maskedSelect;
    t["aten.masked_scatter.default"] = maskedScatter;
}

}  // namespace fw::reference
