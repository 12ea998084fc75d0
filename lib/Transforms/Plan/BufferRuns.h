//===- BufferRuns.h - The bytes of buffers --------------------*- C++ -*-===//

#pragma once

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
