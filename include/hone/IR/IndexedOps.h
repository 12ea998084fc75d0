//===- IndexedOps.h - Ops that read rows by number --------------*- C++ -*-===//

#ifndef HONE_IR_INDEXEDOPS_H
#define HONE_IR_INDEXEDOPS_H

#include "hone/IR/Hone.h"

#include <optional>

namespace hone {

/// Names of what the dialect says of ids (HoneDialect.td).
namespace attr {
/// On an input: the id outside [0, hone.vocab) that its files may hold.
constexpr llvm::StringLiteral ignore = "hone.ignore";
/// On a result of kind `id_check`: which ids it checks.
constexpr llvm::StringLiteral ids = "hone.ids";
} // namespace attr

namespace kind {
/// A result that is 0, or an id outside its table.
constexpr llvm::StringLiteral idCheck = "id_check";
} // namespace kind

/// An operand whose elements must lie in [0, size), or be `ignored`.
struct IdOperand {
  unsigned index;
  int64_t size;
  std::optional<int64_t> ignored;
};

/// Gives the ops of the dialect their interfaces of this header.
void attachIndexedOps(mlir::MLIRContext *context);

} // namespace hone

#include "hone/IR/IndexedOps.h.inc"

#endif // HONE_IR_INDEXEDOPS_H
