//===- FreeValues.cpp - Copies of values that cost nothing ----------------===//

#include "FreeValues.h"

#include "hone/Analysis/Fusion/Groups.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

// Readers come before what they read in this order, so chains of free values
// follow.
void hone::copyFreeValues(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isa<HoneDialect>(op.getDialect()) || !isFreeValue(&op))
      continue;
    if (op.use_empty()) {
      op.erase();
      continue;
    }
    llvm::SmallSetVector<Operation *, 4> readers(op.user_begin(),
                                                 op.user_end());
    for (Operation *reader : llvm::drop_begin(readers)) {
      Operation *copy = OpBuilder(reader).clone(op);
      reader->replaceUsesOfWith(op.getResult(0), copy->getResult(0));
    }
    op.moveBefore(readers.front());
  }
}
