//===- SplitRows.cpp - Cuts row kernels after their sums ------------------===//

#include "SplitRows.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

/// The row group without the tail's result, and with all of the tail's inputs
/// that it makes. `places` gets each yielded value's result.
static FusedOp withoutTail(const RowTail &tail,
                           DenseMap<Value, Value> &places) {
  auto group = cast<FusedOp>(tail.result.getOwner());
  Operation *yield = group.getBodyBlock().getTerminator();
  llvm::SetVector<Value> yielded;
  for (auto [value, output] :
       llvm::zip(yield->getOperands(), group.getOutputs()))
    if (output != tail.result)
      yielded.insert(value);
  for (Value input : tail.inputs)
    if (!isa<BlockArgument>(input))
      yielded.insert(input);
  OpBuilder builder(group);
  auto made = builder.create<FusedOp>(
      group.getLoc(), ValueRange(yielded.getArrayRef()).getTypes(),
      group.getFamily(), group.getInputs());
  made->setDiscardableAttrs(group->getDiscardableAttrDictionary());
  for (auto [value, output] : llvm::zip(yielded, made.getOutputs()))
    places[value] = output;
  for (auto [value, output] :
       llvm::zip(yield->getOperands(), group.getOutputs()))
    if (output != tail.result)
      output.replaceAllUsesWith(places[value]);
  yield->setOperands(yielded.getArrayRef());
  made.getBody().takeBody(group.getBody());
  return made;
}

/// Drops ops whose results nothing reads, then such inputs.
static void dropUnread(FusedOp group) {
  Block &body = group.getBodyBlock();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && op.use_empty())
      op.erase();
  for (unsigned number = body.getNumArguments(); number-- > 0;)
    if (body.getArgument(number).use_empty()) {
      body.eraseArgument(number);
      group->eraseOperand(number);
    }
}

FusedOp hone::splitRows(const RowTail &tail) {
  DenseMap<Value, Value> places;
  Value old = tail.result;
  Block *body = &cast<FusedOp>(tail.result.getOwner()).getBodyBlock();
  Value made = body->getTerminator()->getOperand(tail.result.getResultNumber());
  FusedOp group = withoutTail(tail, places);
  for (auto [argument, input] :
       llvm::zip(body->getArguments(), group.getInputs()))
    places[argument] = input;
  SmallVector<Value> inputs;
  for (Value input : tail.inputs)
    inputs.push_back(places.lookup(input));
  OpBuilder builder(group->getContext());
  builder.setInsertionPointAfter(group);
  auto map = builder.create<FusedOp>(old.getLoc(), old.getType(),
                                     KernelFamily::map, inputs);
  Block *mapBody = builder.createBlock(&map.getBody());
  IRMapping mapping;
  for (Value input : tail.inputs)
    mapping.map(input, mapBody->addArgument(input.getType(), input.getLoc()));
  for (Operation *op : tail.ops)
    builder.clone(*op, mapping);
  builder.create<YieldOp>(old.getLoc(), mapping.lookup(made));
  old.replaceAllUsesWith(map.getOutputs().front());
  tail.result.getOwner()->erase();
  dropUnread(group);
  return map;
}
