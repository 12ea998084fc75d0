//===- GroupedProduct.cpp - Products of groups of rows as library calls ---===//

#include "Lowering.h"

#include "Codegen/Common/KernelBuilder.h"
#include "hone/Analysis/Cost/GroupedTiles.h"
#include "hone/Plan/AbiNumbers.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

bool hone::isGroupedProduct(LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  Operation *op = &body.front();
  return op->getNextNode() == body.getTerminator() &&
         llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>) &&
         llvm::equal(body.getTerminator()->getOperands(), op->getResults()) &&
         llvm::all_of(launch->getOperandTypes(), isContiguous);
}

bool ProgramLowering::describeGroupedProduct(LaunchOp launch) {
  Operation *op = &launch.getBodyBlock().front();
  if (!isGroupedProduct(launch) || !hasGroupedTypes(op))
    return false;
  auto dot = dyn_cast<GroupedDotOp>(op);
  abi::GroupedProduct product = !dot ? abi::GroupedProduct::weights
                                : dot.getContract() == 1
                                    ? abi::GroupedProduct::plain
                                    : abi::GroupedProduct::transposed;
  Value a = op->getOperand(0), ends = op->getOperand(2);
  int64_t n = shapeOf(op->getResult(0)).back();
  SmallVector<Value> operands = nameOperands(launch);
  for (int64_t number :
       {int64_t(product), abi::dtype(getElementTypeOrSelf(a.getType())),
        abi::dtype(getElementTypeOrSelf(op->getResult(0))),
        abi::dtype(getElementTypeOrSelf(ends.getType())), shapeOf(ends)[0],
        shapeOf(a)[0], n, shapeOf(a)[1]})
    operands.push_back(writer.integer(number));
  for (Value operand : op->getOperands()) {
    unsigned input = cast<BlockArgument>(operand).getArgNumber();
    operands.push_back(writer.integer(arenaOffset(launch.getInputs()[input])));
  }
  operands.push_back(writer.integer(arenaOffset(launch.getOutputs()[0])));
  writer.call("honert_grouped_matmul", operands);
  return true;
}
