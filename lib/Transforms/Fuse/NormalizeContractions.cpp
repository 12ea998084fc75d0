//===- NormalizeContractions.cpp - One stride per index of a product ------===//

#include "hone/Analysis/Layout/Strides.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace hone {
#define GEN_PASS_DEF_NORMALIZECONTRACTIONS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
struct NormalizeContractions
    : hone::impl::NormalizeContractionsBase<NormalizeContractions> {
  void runOnOperation() override {
    SmallVector<DotGeneralOp> dots(
        getOperation().getBody().front().getOps<DotGeneralOp>());
    for (DotGeneralOp dot : dots)
      normalize(dot);
  }

  void normalize(DotGeneralOp dot) {
    SmallVector<int64_t> lhsBatch(dot.getLhsBatch()),
        rhsBatch(dot.getRhsBatch()), lhsContract(dot.getLhsContract()),
        rhsContract(dot.getRhsContract());
    OpBuilder builder(dot);
    // The operand in the order [batch, free, contract], and the lists with it.
    auto transpose = [&](Value operand, SmallVector<int64_t> &batch,
                         ArrayRef<int64_t> free,
                         SmallVector<int64_t> &contract) -> Value {
      if (isStridedMatrix(shapeOf(operand), batch, free, contract))
        return operand;
      SmallVector<int64_t> order(batch);
      llvm::append_range(order, free);
      llvm::append_range(order, contract);
      int64_t first = batch.size() + free.size();
      batch = llvm::to_vector(llvm::seq<int64_t>(0, batch.size()));
      contract =
          llvm::to_vector(llvm::seq<int64_t>(first, first + contract.size()));
      return builder.create<TransposeOp>(dot.getLoc(), operand, order);
    };
    Value lhs =
        transpose(dot.getLhs(), lhsBatch, dot.getLhsFree(), lhsContract);
    Value rhs =
        transpose(dot.getRhs(), rhsBatch, dot.getRhsFree(), rhsContract);
    if (lhs == dot.getLhs() && rhs == dot.getRhs())
      return;
    auto replacement = builder.create<DotGeneralOp>(
        dot.getLoc(), dot.getType(), lhs, rhs, lhsBatch, rhsBatch, lhsContract,
        rhsContract);
    dot.replaceAllUsesWith(replacement.getResult());
    dot.erase();
  }
};
} // namespace
