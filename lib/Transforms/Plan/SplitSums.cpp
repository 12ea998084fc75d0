//===- SplitSums.cpp - Sums of gradients, by the part that has them -------===//

#include "SplitSums.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hone;

static Operation *sumOf(FusedOp group, unsigned number) {
  Operation *yield = group.getBody().front().getTerminator();
  return yield->getOperand(number).getDefiningOp();
}

bool hone::isOfSums(FusedOp group) {
  if (group.getFamily() != KernelFamily::multiTensor)
    return false;
  Operation *yield = group.getBody().front().getTerminator();
  auto isSum = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op && op->getNumResults() == 1 &&
           llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>);
  };
  return llvm::all_of(yield->getOperands(), isSum) &&
         llvm::all_of(group->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

SmallVector<Value> hone::operandsOfSum(FusedOp group, unsigned number) {
  return llvm::map_to_vector(
      sumOf(group, number)->getOperands(), [&](Value operand) -> Value {
        return group.getInputs()[cast<BlockArgument>(operand).getArgNumber()];
      });
}

void hone::cloneSums(OpBuilder &builder, FusedOp group,
                     ArrayRef<unsigned> numbers, IRMapping &mapping) {
  llvm::SetVector<Value> inputs;
  SmallVector<Type> types;
  for (unsigned number : numbers) {
    types.push_back(group->getResult(number).getType());
    for (Value operand : operandsOfSum(group, number))
      inputs.insert(mapping.lookup(operand));
  }
  auto taken = builder.create<FusedOp>(group.getLoc(), types, group.getFamily(),
                                       inputs.getArrayRef());
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&taken.getBody());
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, body->addArgument(input.getType(), input.getLoc()));
  SmallVector<Value> yielded;
  for (unsigned number : numbers) {
    Operation *sum = sumOf(group, number);
    IRMapping own;
    for (auto [operand, value] :
         llvm::zip_equal(sum->getOperands(), operandsOfSum(group, number)))
      own.map(operand, inside.lookup(mapping.lookup(value)));
    yielded.push_back(builder.clone(*sum, own)->getResult(0));
  }
  builder.create<YieldOp>(group.getLoc(), yielded);
  for (auto [number, result] : llvm::zip_equal(numbers, taken->getResults()))
    mapping.map(group->getResult(number), result);
}
