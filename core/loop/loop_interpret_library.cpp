// Matmul and convolution with their post-ops as plain nested loops in double: what the library call must agree with.
#include <fmt/format.h>

#include <cmath>

#include "core/loop/loop_interpret_kernel.h"
#include "core/loop/loop_scalar.h"

namespace fw {
namespace {

using loopmemory::Bound;
using loopmemory::Symbols;
using loopmemory::Window;
using Point = std::vector<int64_t>;

/// Integer products wrap in int64; floats multiply and add in double.
struct Total {
    double f = 0;
    int64_t i = 0;
    void addProduct(loopscalar::Scalar a, loopscalar::Scalar b) {
        f += a.f * b.f;
        i = int64_t(uint64_t(i) + uint64_t(a.i) * uint64_t(b.i));
    }
};

class LibraryRun {
public:
    LibraryRun(const LibraryCall& c, const Progress& progress) : call_(c), progress_(progress) {}

    Result<void> run(const std::vector<Bound>& buffers, const Symbols& symbols) {
        std::string who = "library call " + call_.name;
        if (call_.operands.size() < 2) return fail("two operands are needed");
        for (const auto& v : call_.operands) {
            FW_TRY(w, bindView(v, buffers, symbols, who));
            operands_.push_back(std::move(w));
        }
        FW_TRY(output, bindView(call_.output, buffers, symbols, who));
        output_ = std::move(output);
        for (const auto& p : call_.postOps) {
            std::optional<Window> operand;
            if (p.operand) {
                FW_TRY(w, bindView(*p.operand, buffers, symbols, who));
                FW_TRY_VOID(broadcasts(w, call_.kind == LibraryKind::Convolution && w.sizes.size() == 1));
                operand = std::move(w);
            } else if (p.kind == "add" || p.kind == "mul") return fail("post-op " + p.kind + " has no operand");
            postOperands_.push_back(std::move(operand));
        }
        if (operands_.size() > 2) FW_TRY_VOID(broadcasts(operands_[2], call_.kind == LibraryKind::Convolution));
        for (const auto& w : operands_)
            if (!loopscalar::isStorable(w.memory.dtype)) return unsupported(who + " has operands of type " + std::string(fxName(w.memory.dtype)));
        return call_.kind == LibraryKind::Matmul ? matmul() : convolution();
    }

private:
    Error fail(const std::string& what) const { return {ErrorKind::PassBug, what, "library call " + call_.name, {}}; }

    Result<void> broadcasts(const Window& w, bool perChannel) const {
        const auto& to = output_.sizes;
        if (perChannel) {
            if (w.sizes.size() != 1 || w.sizes[0] != to[1]) return fail("a per-channel operand has another number of channels");
            return {};
        }
        bool fits = w.sizes.size() <= to.size();
        for (size_t d = 0; fits && d < w.sizes.size(); ++d) {
            int64_t s = w.sizes[w.sizes.size() - 1 - d];
            fits = s == 1 || s == to[to.size() - 1 - d];
        }
        if (!fits) return fail("an operand does not broadcast to the result");
        return {};
    }

    loopscalar::Scalar value(const Window& w, const Point& p) const { return loopscalar::load(w.at(p), w.memory.dtype); }
    loopscalar::Scalar broadcastValue(const Window& w, const Point& p) const {
        if (call_.kind == LibraryKind::Convolution && w.sizes.size() == 1) return loopscalar::load(w.at({p[1]}), w.memory.dtype);
        return loopscalar::load(w.atBroadcast(p), w.memory.dtype);
    }

    Result<void> forEachOutput(const std::function<void(const Point&)>& f) const {
        Point p(output_.sizes.size(), 0);
        int64_t n = output_.numel();
        for (int64_t k = 0; k < n; ++k) {
            if ((k & 0xff) == 0) FW_TRY_VOID(progress_.check());
            f(p);
            for (size_t d = p.size(); d-- > 0;) {
                if (++p[d] < output_.sizes[d]) break;
                p[d] = 0;
            }
        }
        return {};
    }

    void finish(const Point& p, Total t) {
        DType type = output_.memory.dtype;
        if (!isFloat(type)) {
            if (operands_.size() > 2) t.i += broadcastValue(operands_[2], p).i;
            loopscalar::store(output_.at(p), type, loopscalar::convert({0, t.i}, DType::I64, type));
            return;
        }
        double v = call_.alpha * t.f;
        if (operands_.size() > 2) v += call_.beta * broadcastValue(operands_[2], p).f;
        for (size_t k = 0; k < call_.postOps.size(); ++k) {
            double other = 0;
            if (postOperands_[k]) other = loopscalar::convert(broadcastValue(*postOperands_[k], p), postOperands_[k]->memory.dtype, DType::F64).f;
            v = post(call_.postOps[k], v, other);
        }
        loopscalar::store(output_.at(p), type, loopscalar::convert({v, 0}, DType::F64, type));
    }

    double post(const PostOp& op, double x, double other) {
        const std::string& k = op.kind;
        auto clamp = [](double v, double lo, double hi) { return std::isnan(v) ? v : v < lo ? lo : v > hi ? hi : v; };
        if (k == "relu") return std::isnan(x) ? x : x > 0 ? x : 0;
        if (k == "gelu_erf") return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
        if (k == "gelu_tanh") return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
        if (k == "tanh") return std::tanh(x);
        if (k == "sigmoid") return 1 / (1 + std::exp(-x));
        if (k == "silu") return x / (1 + std::exp(-x));
        if (k == "hardswish") return x * clamp(x + 3, 0, 6) / 6;
        if (k == "hardsigmoid") return clamp(x + 3, 0, 6) / 6;
        if (k == "clamp") return clamp(x, op.alpha, op.beta);
        if (k == "linear") return op.alpha * x + op.beta;
        if (k == "add") return x + other;
        if (k == "mul") return x * other;
        unknown_ = k;
        return x;
    }

    Result<void> finished(Result<void> r) {
        if (r.ok() && !unknown_.empty()) return fail("unknown post-op " + unknown_);
        return r;
    }

    Result<void> matmul() {
        const Window &a = operands_[0], &b = operands_[1];
        size_t rank = output_.sizes.size();
        if (rank < 2 || a.sizes.size() < 2 || b.sizes.size() < 2 || a.sizes.size() > rank || b.sizes.size() > rank) return fail("operands of a matmul have two dimensions or more, at most those of the result");
        int64_t m = output_.sizes[rank - 2], n = output_.sizes[rank - 1], depth = a.sizes.back();
        if (a.sizes[a.sizes.size() - 2] != m || b.sizes.back() != n || b.sizes[b.sizes.size() - 2] != depth) return fail("the shapes of a matmul do not match");
        for (const Window* w : {&a, &b})
            for (size_t d = 0; d + 2 < w->sizes.size(); ++d)
                if (int64_t s = w->sizes[d]; s != 1 && s != output_.sizes[rank - w->sizes.size() + d]) return fail("the batch dimensions of a matmul do not match");
        auto coordinate = [&](const Window& w, const Point& p, int64_t row, int64_t column) {
            Point q(w.sizes.size());
            for (size_t d = 0; d + 2 < q.size(); ++d) q[d] = w.sizes[d] == 1 ? 0 : p[rank - q.size() + d];
            q[q.size() - 2] = row;
            q[q.size() - 1] = column;
            return q;
        };
        return finished(forEachOutput([&](const Point& p) {
            Total t;
            for (int64_t k = 0; k < depth; ++k) t.addProduct(value(a, coordinate(a, p, p[rank - 2], k)), value(b, coordinate(b, p, k, p[rank - 1])));
            finish(p, t);
        }));
    }

    Result<void> convolution() {
        const Window &in = operands_[0], &w = operands_[1];
        size_t rank = output_.sizes.size();
        if (rank < 3 || in.sizes.size() != rank || w.sizes.size() != rank) return fail("operands of a convolution have the dimensions of the result");
        size_t spatial = rank - 2;
        if (call_.stride.size() != spatial || call_.padding.size() != spatial || call_.dilation.size() != spatial || call_.groups < 1) return fail("attributes do not match the dimensions");
        for (int64_t s : call_.stride)
            if (s < 1) return fail("a stride is at least 1");
        int64_t groups = call_.groups, inPerGroup = in.sizes[1] / groups, outPerGroup = output_.sizes[1] / groups;
        Point expected = call_.transposed ? Point{in.sizes[1], outPerGroup} : Point{output_.sizes[1], inPerGroup};
        if (in.sizes[1] % groups != 0 || output_.sizes[1] % groups != 0 || w.sizes[0] != expected[0] || w.sizes[1] != expected[1] || in.sizes[0] != output_.sizes[0]) return fail("the shapes of a convolution do not match");
        int64_t taps = 1;
        for (size_t d = 0; d < spatial; ++d) taps *= w.sizes[2 + d];
        return finished(forEachOutput([&](const Point& p) {
            Total t;
            Point tap(spatial, 0), q(rank), r(rank);
            q[0] = p[0];
            for (int64_t k = 0; k < taps; ++k) {
                bool inside = true;
                for (size_t d = 0; d < spatial && inside; ++d) {
                    int64_t i = call_.transposed ? p[2 + d] + call_.padding[d] - tap[d] * call_.dilation[d] : p[2 + d] * call_.stride[d] - call_.padding[d] + tap[d] * call_.dilation[d];
                    if (call_.transposed) {
                        inside = i % call_.stride[d] == 0;
                        i /= call_.stride[d];
                    }
                    inside = inside && i >= 0 && i < in.sizes[2 + d];
                    q[2 + d] = i;
                    r[2 + d] = tap[d];
                }
                if (inside) {
                    int64_t group = p[1] / outPerGroup;
                    for (int64_t c = 0; c < inPerGroup; ++c) {
                        q[1] = group * inPerGroup + c;
                        r[0] = call_.transposed ? q[1] : p[1];
                        r[1] = call_.transposed ? p[1] % outPerGroup : c;
                        t.addProduct(value(in, q), value(w, r));
                    }
                }
                for (size_t d = spatial; d-- > 0;) {
                    if (++tap[d] < w.sizes[2 + d]) break;
                    tap[d] = 0;
                }
            }
            finish(p, t);
        }));
    }

    const LibraryCall& call_;
    const Progress& progress_;
    std::vector<Window> operands_;
    std::vector<std::optional<Window>> postOperands_;
    Window output_;
    std::string unknown_;
};

}  // namespace

Result<void> interpretLibraryCall(const LibraryCall& c, const std::vector<Bound>& buffers, const Symbols& symbols, const Progress& progress) { return LibraryRun(c, progress).run(buffers, symbols); }

}  // namespace fw
