//===- Ranks.h - Ranks of a mesh in one process -----------------*- C++ -*-===//
//
// Collectives for interpretRanks(), and the parts of global tensors that ranks
// have.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_INTERPRETER_RANKS_H
#define HONE_INTERPRETER_RANKS_H

#include "hone/Interpreter/Interpreter.h"
#include "hone/Sharding/IR/Sharding.h"

namespace hone::interp {

/// The ops of dialect `dist` among the ranks of `mesh`; sums are taken in
/// double in the order of the ranks and rounded once, under `mode`.
CollectiveFunction collectivesOn(const dist::Mesh &mesh, Mode mode);

/// What `rank` has of a tensor, of which a partial sharding gives all to the
/// first rank and nothing (zeros) to the others: sums only.
Tensor partOf(const Tensor &whole, const dist::Sharding &sharding,
              const dist::Mesh &mesh, int64_t rank);

/// The tensor of `shape` that the parts of all ranks make, terms summed in the
/// order of the ranks. An error says where two copies of an element differ by a
/// bit (NaNs are equal).
llvm::Expected<Tensor> assemble(llvm::ArrayRef<Tensor> parts,
                                llvm::ArrayRef<int64_t> shape,
                                const dist::Sharding &sharding,
                                const dist::Mesh &mesh);

/// The types of the global tensors of which a local function takes and gives
/// parts, by the shardings of its arguments and results; reported where one has
/// none.
mlir::FailureOr<mlir::FunctionType> wholeTypeOf(mlir::func::FuncOp func,
                                                const dist::Mesh &mesh);

/// What all ranks of the module's mesh compute together: `func` is what each of
/// them runs, on its parts of `arguments`. The results are global tensors;
/// copies that differ in a bit are an error.
mlir::FailureOr<Tensors> interpretOnRanks(mlir::func::FuncOp func,
                                          llvm::ArrayRef<Tensor> arguments,
                                          Mode mode);

} // namespace hone::interp

#endif // HONE_INTERPRETER_RANKS_H
