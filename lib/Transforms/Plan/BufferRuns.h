//===- BufferRuns.h - The bytes of buffers ----------------------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_BUFFERRUNS_H
#define HONE_LIB_TRANSFORMS_PLAN_BUFFERRUNS_H

#include "hone/Plan/Plan.h"

namespace hone::plan {
/// Calls `visit(begin, end)` for the runs of bytes that a buffer at byte
/// `begin` of the arena consists of.
void forEachRun(mlir::MemRefType type, int64_t begin,
                llvm::function_ref<void(int64_t, int64_t)> visit);

/// Whether two buffers have a byte in common. The columns of two parts of a
/// value lie between each other and have none.
bool shareBytes(mlir::Value a, mlir::Value b);

/// Whether element i of both buffers is at one address, for every i.
bool isSamePlace(mlir::Value a, mlir::Value b);
} // namespace hone::plan

#endif // HONE_LIB_TRANSFORMS_PLAN_BUFFERRUNS_H
