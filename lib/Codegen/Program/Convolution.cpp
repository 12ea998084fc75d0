//===- Convolution.cpp - Convolutions as calls of a library ---------------===//

#include "Lowering.h"

#include "Codegen/Common/KernelBuilder.h"
#include "hone/Plan/AbiNumbers.h"

using namespace mlir;
using namespace hone;
using namespace hone::plan;

/// The one op of a launch whose tensors lie densely, if it is a convolution of
/// types and dimensions that the library has.
static ConvolutionOpInterface libraryConvolution(LaunchOp launch) {
  Block &body = launch.getBodyBlock();
  auto op = dyn_cast<ConvolutionOpInterface>(body.front());
  if (!op || op->getNextNode() != body.getTerminator() ||
      !llvm::all_of(op->getOperands(), llvm::IsaPred<BlockArgument>) ||
      !llvm::all_of(launch->getOperandTypes(), isContiguous) ||
      op.getWindow().rank() > 3)
    return {};
  Type operand = getElementTypeOrSelf(op->getOperand(0));
  Type result = getElementTypeOrSelf(op->getResult(0));
  bool isEmpty = llvm::any_of(
      ValueRange{op.getImage(), op.getKernel(), op.getOutput()},
      [](Value value) { return llvm::is_contained(shapeOf(value), 0); });
  bool hasTypes = isa<Float32Type, BFloat16Type, Float16Type>(operand) &&
                  (result == operand || result.isF32());
  return hasTypes && !isEmpty ? op : ConvolutionOpInterface();
}

bool ProgramLowering::describeLibraryConvolution(LaunchOp launch) {
  ConvolutionOpInterface op = libraryConvolution(launch);
  if (!op)
    return false;
  Value image = op.getImage(), kernel = op.getKernel(), output = op.getOutput();
  Value result = op->getResult(0);
  auto offset = [&](Value value) {
    Value buffer = launch.getOutputs().front();
    if (value != result)
      buffer = launch.getInputs()[cast<BlockArgument>(value).getArgNumber()];
    return writer.integer(arenaOffset(buffer));
  };
  abi::ConvolutionPart computed = result == image ? abi::ConvolutionPart::image
                                  : result == kernel
                                      ? abi::ConvolutionPart::kernel
                                      : abi::ConvolutionPart::output;
  Window window = op.getWindow();
  int64_t channels = shapeOf(image).back();
  int64_t groups = channels / shapeOf(kernel)[window.rank()];
  SmallVector<int64_t> sizes = {shapeOf(image).front(), channels,
                                shapeOf(output).back(), groups};
  for (unsigned dim = 0; dim != window.rank(); ++dim)
    sizes.append({shapeOf(image)[dim + 1], window.sizes[dim],
                  shapeOf(output)[dim + 1], window.strides[dim],
                  window.dilations[dim], window.low[dim], window.high[dim]});
  SmallVector<Value> operands = nameOperands(launch);
  for (int64_t number :
       {int64_t(computed), abi::dtype(getElementTypeOrSelf(op->getOperand(0))),
        abi::dtype(getElementTypeOrSelf(result)), int64_t(window.rank())})
    operands.push_back(writer.integer(number));
  operands.push_back(writer.array(sizes));
  for (Value value : {image, kernel, output})
    operands.push_back(offset(value));
  writer.call("honert_convolution", operands);
  return true;
}
