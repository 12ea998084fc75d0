//===- Edits.h - Ways to make a module smaller ------------------*- C++ -*-===//

#ifndef HONE_TOOLS_HONE_REDUCE_EDITS_H
#define HONE_TOOLS_HONE_REDUCE_EDITS_H

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <vector>

namespace hone {

/// One change of one place in a module, which may leave it invalid: a function
/// erased that is called, for example. Edits of one list can be applied
/// together, in order.
using Edit = std::function<void()>;

/// A kind of edit: lists its places in a module, in an order that depends on
/// the module alone.
struct EditKind {
  llvm::StringLiteral name;
  std::vector<Edit> (*list)(mlir::ModuleOp module);
};

/// From those that take most away to those that only shorten text.
llvm::ArrayRef<EditKind> getEditKinds();

/// Erases ops that no result of `module` depends on.
void eraseDeadOps(mlir::ModuleOp module);

} // namespace hone

#endif
