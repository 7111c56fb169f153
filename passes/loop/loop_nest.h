// What the loop passes ask about a nest: memory strides, trip counts, and rewriting of index expressions. No pass lives here.
#pragma once
#include <set>

#include "core/loop/program.h"

namespace fw {

using Substitution = std::map<std::string, Expr, std::less<>>;

/// Ranges of size symbols and of all loops of the kernel.
Ranges kernelRanges(const Kernel&, const LoopProgram&);
/// Element offset of an access: the sum of coordinate * stride.
Expr linearAddress(const Access&, const LoopProgram&, const Ranges&);
/// Elements between neighbours along `var`; nullopt when the address is not linear in it.
std::optional<Expr> strideAlong(const Access&, std::string_view var, const LoopProgram&, const Ranges&);
/// Trip count for weighing alternatives: exact when constant, else by the example sizes of the capture, else 8192 per unknown symbol
/// (Inductor's assumption). Never decides legality.
int64_t typicalValue(Expr, const LoopProgram&);

/// All accesses below `body`, stores marked.
struct AccessUse { const Access* access; bool store = false; const Stmt* stmt = nullptr; };
std::vector<AccessUse> accessesIn(const std::vector<Stmt>& body);
/// Calls f on every index expression (coordinates, Index values, extents) below `body`.
void forEachIndex(std::vector<Stmt>& body, const std::function<void(Expr&)>& f);
void substituteIn(std::vector<Stmt>& body, const Substitution&);
/// Buffers that are both loaded and stored below `body` with differing coordinates: the order of iterations matters to them.
bool hasOrderedBuffer(const std::vector<Stmt>& body);
/// Some coordinate of a store is data ("%5").
bool hasIndirectStore(const std::vector<Stmt>& body);
/// Some accumulator is read below `body` although it is declared outside: a running value.
bool readsOuterAccumulator(const std::vector<Stmt>& body);
/// The loop that is the only statement of a body, or null.
Loop* onlyLoop(std::vector<Stmt>& body);

}  // namespace fw
