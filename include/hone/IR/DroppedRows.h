//===- DroppedRows.h - Rows of experts without a place ----------*- C++ -*-===//
//
// Ranks that send rows to their experts have room for so many. A function
// counts the rows that it had none for, one result for each mixture.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_DROPPEDROWS_H
#define HONE_IR_DROPPEDROWS_H

#include "hone/IR/Hone.h"

namespace hone {

namespace attr {
/// On a result of kind `dropped`: which rows these are, and what has room for
/// more (HoneDialect.td).
constexpr llvm::StringLiteral dropped = "hone.dropped";
} // namespace attr

namespace kind {
/// A result that counts dropped rows of all ranks.
constexpr llvm::StringLiteral dropped = "dropped";
} // namespace kind

} // namespace hone

#endif // HONE_IR_DROPPEDROWS_H
