//===- Threads.h - What the threads of a block do together ------*- C++ -*-===//

#ifndef HONE_LIB_CODEGEN_GPU_THREADS_H
#define HONE_LIB_CODEGEN_GPU_THREADS_H

#include "GridKernel.h"
#include "hone/IR/Hone.h"

#include "mlir/IR/Builders.h"

namespace hone {

/// Emits code of a kernel that several threads run together. Reductions are
/// trees over lanes and warps: their order depends on the number of threads
/// alone.
class DeviceThreads {
public:
  DeviceThreads(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// Starts a kernel with blocks of `blockThreads`, and stands at its end,
  /// before the return.
  mlir::gpu::GPUFuncOp begin(llvm::StringRef name, mlir::TypeRange arguments,
                             int64_t blockThreads);

  mlir::Value threadNumber();
  mlir::Value blockNumber();
  void barrier();

  /// A partial result of each thread, and how they are joined.
  struct Partial {
    ReduceKind kind;
    mlir::Value value; ///< of the type that is computed with
  };
  /// Joins partial results of `warps` warps whose lanes all take part; all of
  /// these threads get the totals. Several warps are the whole block, and meet
  /// at a barrier. Before they join again in the same call, as in a loop, they
  /// must meet at another.
  llvm::SmallVector<mlir::Value> reduce(llvm::ArrayRef<Partial> partials,
                                        int64_t warps);

  /// The value that lane `lane` of this warp has, all of whose lanes come here.
  mlir::Value broadcast(mlir::Value value, int64_t lane);

  /// Shared memory: rows of an element per lane.
  using Table = mlir::Value;
  Table table(int64_t rows, mlir::Type element);
  void store(mlir::Value value, Table table, mlir::Value row, mlir::Value lane);
  mlir::Value load(Table table, mlir::Value row, mlir::Value lane);

private:
  mlir::Value index(int64_t value);
  mlir::Value reduceWarp(ReduceKind kind, mlir::Value value, int64_t lanes);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp func;
};

} // namespace hone

#endif // HONE_LIB_CODEGEN_GPU_THREADS_H
