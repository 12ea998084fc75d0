//===- Ranks.h - Ranks of a mesh in one process -----------------*- C++ -*-===//
//
// Collectives for interpretRanks(), and the parts of global tensors that ranks
// have.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_INTERPRETER_RANKS_H
#define HONE_INTERPRETER_RANKS_H

#include "hone/Dist/Sharding.h"
#include "hone/Interpreter/Interpreter.h"

namespace hone::interp {

/// The ops of dialect `dist` among the ranks of `mesh`; sums are taken in
/// double in the order of the ranks and rounded once, under `mode`.
Exchange exchangeIn(const dist::Mesh &mesh, Mode mode);

/// What `rank` has of a tensor, of which a partial sharding gives all to the
/// first rank and nothing (zeros) to the others: sums only.
Tensor partOf(const Tensor &whole, const dist::Sharding &sharding,
              const dist::Mesh &mesh, int64_t rank);

/// The tensor of `shape` that the parts of all ranks make. An error says where
/// two copies of an element differ by a bit (NaNs are equal).
llvm::Expected<Tensor> assemble(llvm::ArrayRef<Tensor> parts,
                                llvm::ArrayRef<int64_t> shape,
                                const dist::Sharding &sharding,
                                const dist::Mesh &mesh);

} // namespace hone::interp

#endif // HONE_INTERPRETER_RANKS_H
