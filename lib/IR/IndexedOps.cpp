//===- IndexedOps.cpp - Ops that read rows by number ----------------------===//

#include "hone/IR/IndexedOps.h"

using namespace mlir;
using namespace hone;

#include "hone/IR/IndexedOps.cpp.inc"

static int64_t rowsOf(Value table) {
  return cast<RankedTensorType>(table.getType()).getShape().front();
}

/// The classes that a loss over `logits` tells apart.
static int64_t classesOf(Value logits, uint64_t width) {
  return width ? int64_t(width)
               : cast<RankedTensorType>(logits.getType()).getShape().back();
}

static IdOperand operandOf(OpOperand &ids, int64_t size,
                           std::optional<int64_t> ignored = std::nullopt) {
  return {ids.getOperandNumber(), size, ignored};
}

namespace {
struct EmbeddingIds
    : IndexedOpInterface::ExternalModel<EmbeddingIds, EmbeddingOp> {
  SmallVector<IdOperand> getIdOperands(Operation *op) const {
    auto embedding = cast<EmbeddingOp>(op);
    return {operandOf(embedding.getIdsMutable(), rowsOf(embedding.getTable()))};
  }
};

struct EmbeddingBwdIds
    : IndexedOpInterface::ExternalModel<EmbeddingBwdIds, EmbeddingBwdOp> {
  SmallVector<IdOperand> getIdOperands(Operation *op) const {
    auto embedding = cast<EmbeddingBwdOp>(op);
    return {
        operandOf(embedding.getIdsMutable(), rowsOf(embedding.getResult()))};
  }
};

/// The size of the lines that `tensor` has along `dim`.
IdOperand idsOfLine(OpOperand &ids, Value tensor, int64_t dim) {
  return operandOf(ids,
                   cast<RankedTensorType>(tensor.getType()).getDimSize(dim));
}

struct TakeAlongIds
    : IndexedOpInterface::ExternalModel<TakeAlongIds, TakeAlongOp> {
  SmallVector<IdOperand> getIdOperands(Operation *op) const {
    auto take = cast<TakeAlongOp>(op);
    return {idsOfLine(take.getIdsMutable(), take.getOperand(), take.getDim())};
  }
};

struct PutAlongIds
    : IndexedOpInterface::ExternalModel<PutAlongIds, PutAlongOp> {
  SmallVector<IdOperand> getIdOperands(Operation *op) const {
    auto put = cast<PutAlongOp>(op);
    return {idsOfLine(put.getIdsMutable(), put.getResult(), put.getDim())};
  }
};

template <typename LossOp>
struct LossIds : IndexedOpInterface::ExternalModel<LossIds<LossOp>, LossOp> {
  SmallVector<IdOperand> getIdOperands(Operation *op) const {
    auto loss = cast<LossOp>(op);
    return {operandOf(loss.getTargetsMutable(),
                      classesOf(loss.getLogits(), loss.getWidth()),
                      int64_t(loss.getIgnoreIndex()))};
  }
};
} // namespace

void hone::attachIndexedOps(MLIRContext *context) {
  EmbeddingOp::attachInterface<EmbeddingIds>(*context);
  EmbeddingBwdOp::attachInterface<EmbeddingBwdIds>(*context);
  TakeAlongOp::attachInterface<TakeAlongIds>(*context);
  PutAlongOp::attachInterface<PutAlongIds>(*context);
  CrossEntropyOp::attachInterface<LossIds<CrossEntropyOp>>(*context);
  CrossEntropyBwdOp::attachInterface<LossIds<CrossEntropyBwdOp>>(*context);
}
