//===- Plan.h - The plan dialect: the scheduled program ---------*- C++ -*-===//

#ifndef HONE_PLAN_PLAN_H
#define HONE_PLAN_PLAN_H

#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/SymbolTable.h"

#include "hone/Plan/PlanDialect.h.inc"
#include "hone/Plan/PlanEnums.h.inc"

#define GET_OP_CLASSES
#include "hone/Plan/PlanOps.h.inc"

namespace hone::plan {

/// Every arena offset and size is a multiple of this many bytes.
constexpr int64_t alignment = 64;

/// A unit attribute of a function's argument that lies in the second arena of
/// the program: a kernel that reads it has it copied before, and what it writes
/// over it copied back. Set by hone-offload-state in all functions that have
/// it.
constexpr llvm::StringLiteral hostAttr = "plan.host";
/// Marks an argument of kind boundary or saved of a function that runs for two
/// micro-batches: it is that of the second one (hone-overlap-turns).
constexpr llvm::StringLiteral besideAttr = "plan.beside";

/// From the first byte of a window of `instances` tensors to behind the last,
/// each at a multiple of the alignment.
int64_t windowBytes(mlir::Type type, int64_t instances);

/// Bytes from the start of a buffer to the end of its last element.
int64_t extentBytes(mlir::MemRefType type);
/// Byte offset in the arena of a `plan.buffer` or of a view of one.
int64_t arenaOffset(mlir::Value buffer);
/// Whether two buffers or views may share a byte: their extents do.
bool overlap(mlir::Value a, mlir::Value b);
/// Whether two copies share a byte of the second arena.
bool overlapOnHost(CopyOp a, CopyOp b);
/// The `plan.buffer` under a chain of views.
BufferOp rootBuffer(mlir::Value buffer);

} // namespace hone::plan

#endif // HONE_PLAN_PLAN_H
