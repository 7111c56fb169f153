// oneDNN in our terms: one engine and stream per process, memory descriptors from views, post-ops from PostOp.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>

#include "core/cpu/library_call.h"

namespace fw::cpu {

dnnl::engine& dnnlEngine();
dnnl::stream& dnnlStream();
std::optional<dnnl::memory::data_type> dnnlType(DType);
dnnl::memory::desc descOf(DType, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides);
dnnl::memory::desc anyDesc(DType, const std::vector<int64_t>& sizes);
/// Runs f, turning a dnnl::error into a Device error that names the call.
Result<void> guarded(const std::string& name, const std::function<Result<void>()>& f);

/// The post-ops of a call as a primitive attribute. `operands[i]`: descriptor of the memory post-op `entry[i]` reads.
struct PostOpPlan {
    dnnl::post_ops ops;
    struct Operand {
        int entry;              ///< position in dnnl's list
        ConcreteView view;
        dnnl::memory::desc desc;///< how the primitive wants it
        bool copied = false;    ///< view differs from desc: reordered before the call
    };
    std::vector<Operand> operands;
};
/// `place(view)` gives the descriptor an operand shall have (aligned to the result's dimensions).
using OperandPlacer = std::function<Result<dnnl::memory::desc>(const ConcreteView&)>;
Result<void> appendPostOps(PostOpPlan&, const std::vector<PostOp>&, const BindContext&, const ConcreteView& output, const OperandPlacer&);

/// A primitive with the memories of one call.
class PrimitiveCall : public BoundLibraryCall {
public:
    Result<void> run(std::byte* const* base, uint64_t weightsVersion) override;

    /// An argument whose address is known at each run.
    struct Argument {
        int id = 0;                       ///< DNNL_ARG_...
        BufferId buffer = -1;
        int64_t byteOffset = 0;
        dnnl::memory user;                ///< over the program's memory
        dnnl::memory own;                 ///< what the primitive gets when it wants another layout; empty: `user`
        dnnl::reorder in, out;            ///< between the two, before and after the call
        bool constant = false;            ///< reordered only when the weights move
        uint64_t version = 0;
    };
    std::string name;
    std::vector<Argument> arguments;
    dnnl::primitive primitive;
    std::vector<std::shared_ptr<Storage>> owned;
    dnnl::memory scratchpad;

    /// Adds an argument in the user's layout `user`, handed over in layout `wanted`.
    Result<void> add(int id, const ConcreteView&, const dnnl::memory::desc& user, const dnnl::memory::desc& wanted, bool read, bool written, bool constant);

private:
    std::unordered_map<int, dnnl::memory> table_;
};

}  // namespace fw::cpu
