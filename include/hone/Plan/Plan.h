//===- Plan.h - The plan dialect: the scheduled program ---------*- C++ -*-===//

#ifndef HONE_PLAN_PLAN_H
#define HONE_PLAN_PLAN_H

#include "hone/IR/Hone.h"

#include "mlir/IR/SymbolTable.h"

#include "hone/Plan/PlanDialect.h.inc"

#define GET_OP_CLASSES
#include "hone/Plan/PlanOps.h.inc"

namespace hone::plan {

/// Every arena offset and size is a multiple of this many bytes.
constexpr int64_t alignment = 64;

} // namespace hone::plan

#endif // HONE_PLAN_PLAN_H
