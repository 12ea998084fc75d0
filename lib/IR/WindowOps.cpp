//===- WindowOps.cpp - Verifiers and facts of ops over windows ------------===//

#include "ShapeChecks.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

int64_t Window::taps() const { return ShapedType::getNumElements(sizes); }

int64_t Window::outputSize(unsigned dim, int64_t inputSize) const {
  int64_t room = inputSize + low[dim] + high[dim] - extent(dim);
  return room < 0 ? 0 : room / strides[dim] + 1;
}

template <typename OpT>
static Window windowOf(OpT op, ArrayRef<int64_t> sizes) {
  return {llvm::to_vector_of<int64_t, 3>(sizes),
          llvm::to_vector_of<int64_t, 3>(op.getStrides()),
          llvm::to_vector_of<int64_t, 3>(op.getLow()),
          llvm::to_vector_of<int64_t, 3>(op.getHigh()),
          llvm::to_vector_of<int64_t, 3>(op.getDilations())};
}

/// Fails unless every list has `rank` entries that are at least `least`.
static LogicalResult
expectEntries(Operation *op, size_t rank, int64_t least,
              ArrayRef<std::pair<StringRef, ArrayRef<int64_t>>> lists) {
  for (auto &[name, entries] : lists) {
    if (entries.size() != rank)
      return op->emitOpError()
             << name << " has " << entries.size() << " entries, expected "
             << rank << ", one per spatial dimension";
    for (int64_t entry : entries)
      if (entry < least)
        return op->emitOpError() << name << " has the entry " << entry
                                 << ", expected at least " << least;
  }
  return success();
}

template <typename OpT> static LogicalResult expectWindow(OpT op, size_t rank) {
  if (failed(expectEntries(
          op, rank, 1,
          {{"strides", op.getStrides()}, {"dilations", op.getDilations()}})))
    return failure();
  return expectEntries(op, rank, 0,
                       {{"low", op.getLow()}, {"high", op.getHigh()}});
}

/// Fails unless `value` has rank 3 or more.
static LogicalResult expectSpatial(Operation *op, StringRef what, Value value) {
  if (shapeOf(value).size() >= 3)
    return success();
  return op->emitOpError() << what << " has rank " << shapeOf(value).size()
                           << ", expected at least 3: batch, spatial "
                              "dimensions, channels";
}

/// The shape of what `window` makes of `input`, with `channels`.
static FailureOr<SmallVector<int64_t>> outputShape(Operation *op,
                                                   const Window &window,
                                                   ArrayRef<int64_t> input,
                                                   int64_t channels) {
  SmallVector<int64_t> shape = {input.front()};
  for (unsigned dim = 0; dim != window.rank(); ++dim) {
    int64_t size = window.outputSize(dim, input[dim + 1]);
    if (size < 1)
      return op->emitOpError()
             << "window extends over " << window.extent(dim)
             << " positions of spatial dimension " << dim
             << ", expected at most "
             << input[dim + 1] + window.low[dim] + window.high[dim]
             << ", its size with padding";
    shape.push_back(size);
  }
  shape.push_back(channels);
  return shape;
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

Window hone::detail::windowOfConvolution(Operation *op) {
  Value kernel = cast<ConvolutionOpInterface>(op).getKernel();
  ArrayRef<int64_t> sizes = shapeOf(kernel).drop_back(2);
  return llvm::TypeSwitch<Operation *, Window>(op)
      .Case<ConvOp, ConvBwdInputOp, ConvBwdWeightOp>(
          [&](auto conv) { return windowOf(conv, sizes); });
}

/// Names of the three tensors in messages about an op.
struct ConvolutionNames {
  StringRef image, kernel, output;
};

template <typename OpT>
static LogicalResult verifyConvolution(OpT op, ConvolutionNames names) {
  Value image = op.getImage(), kernel = op.getKernel(), output = op.getOutput();
  if (failed(expectSpatial(op, names.image, image)))
    return failure();
  size_t rank = shapeOf(image).size();
  for (auto [value, name] :
       {std::pair(kernel, names.kernel), std::pair(output, names.output)})
    if (shapeOf(value).size() != rank)
      return op.emitOpError()
             << name << " has rank " << shapeOf(value).size() << ", expected "
             << rank << ", that of " << names.image;
  if (failed(expectWindow(op, rank - 2)))
    return failure();
  int64_t channels = shapeOf(image).back();
  int64_t perGroup = shapeOf(kernel)[rank - 2],
          outputs = shapeOf(kernel).back();
  if (perGroup < 1 || channels % perGroup != 0)
    return op.emitOpError()
           << names.kernel << " takes " << perGroup
           << " channels per group, expected a divisor of " << channels;
  if (int64_t groups = channels / perGroup; outputs % groups != 0)
    return op.emitOpError()
           << names.kernel << " makes " << outputs
           << " channels, expected a multiple of the " << groups << " groups";
  if (op.getDepthwise() && (perGroup != 1 || outputs != channels))
    return op.emitOpError() << "is depthwise, but " << names.kernel << " takes "
                            << perGroup << " channels per group and makes "
                            << outputs << ", expected 1 and " << channels;
  for (int64_t size : op.getWindow().sizes)
    if (size < 1)
      return op.emitOpError() << names.kernel << " has a window of size "
                              << size << ", expected at least 1";
  FailureOr<SmallVector<int64_t>> shape =
      outputShape(op, op.getWindow(), shapeOf(image), outputs);
  if (failed(shape) || failed(expectShape(op, names.output, output, *shape)))
    return failure();
  auto operands = op->getOperands();
  return expectElement(op, "operand 1", operands[1], elementOf(operands[0]));
}

// conv_c1, conv_c2, conv_c3, conv_c4, conv_c5, conv_c6
LogicalResult ConvOp::verify() {
  return verifyConvolution(*this, {"input", "weight", "result"});
}

// conv_bwd_input_c1
LogicalResult ConvBwdInputOp::verify() {
  return verifyConvolution(*this, {"result", "weight", "grad"});
}

// conv_bwd_weight_c1
LogicalResult ConvBwdWeightOp::verify() {
  return verifyConvolution(*this, {"input", "result", "grad"});
}

/// Each element of the output is a sum over the taps and the channels of its
/// group.
static OpCost convolutionCost(ConvolutionOpInterface op) {
  OpCost cost = hone::detail::elementwiseCost(op, 0);
  ArrayRef<int64_t> kernel = shapeOf(op.getKernel());
  int64_t outputs = cast<ShapedType>(op.getOutput().getType()).getNumElements();
  cost.flops = 2 * outputs * ShapedType::getNumElements(kernel.drop_back());
  return cost;
}

OpCost ConvOp::getCost() { return convolutionCost(*this); }
OpCost ConvBwdInputOp::getCost() { return convolutionCost(*this); }
OpCost ConvBwdWeightOp::getCost() { return convolutionCost(*this); }

/// The channels of input and output: one factor of a depthwise convolution, two
/// where there is one group, none otherwise. Spatial dimensions are whole.
template <typename OpT> static DimensionMapping convolutionMapping(OpT op) {
  Value image = op.getImage(), kernel = op.getKernel();
  ArrayRef<int64_t> sizes = shapeOf(kernel);
  int64_t channels = shapeOf(image).back(), outputs = sizes.back();
  int64_t perGroup = sizes[sizes.size() - 2];
  // What the op computes decides which factors are summed.
  auto kindOf = [&](bool isInResult) {
    return isInResult ? FactorKind::Parallel : FactorKind::Reduce;
  };
  Value result = op->getResult(0);
  DimensionMapping mapping;
  TensorFactors x(sizes.size(), -1), w(sizes.size(), -1), y(sizes.size(), -1);
  auto add = [&](int64_t size, bool isInResult) {
    mapping.factors.push_back({size, kindOf(isInResult)});
    return int(mapping.factors.size()) - 1;
  };
  x.front() = y.front() = add(shapeOf(image).front(), result != kernel);
  if (op.getDepthwise()) {
    x.back() = w.back() = y.back() = add(channels, true);
  } else if (perGroup == channels) {
    x.back() = w[sizes.size() - 2] = add(channels, result != op.getOutput());
    w.back() = y.back() = add(outputs, result != image);
  }
  auto factorsOf = [&](Value value) {
    return value == image ? x : value == kernel ? w : y;
  };
  for (Value operand : op->getOperands())
    mapping.operands.push_back(factorsOf(operand));
  mapping.results = {factorsOf(result)};
  return mapping;
}

DimensionMapping ConvOp::getDimensionMapping() {
  return convolutionMapping(*this);
}
DimensionMapping ConvBwdInputOp::getDimensionMapping() {
  return convolutionMapping(*this);
}
DimensionMapping ConvBwdWeightOp::getDimensionMapping() {
  return convolutionMapping(*this);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

Window MaxPoolOp::getWindow() { return windowOf(*this, getSizes()); }
Window MaxPoolBwdOp::getWindow() { return windowOf(*this, getSizes()); }

/// Fails unless every window has a position of the input that is no padding.
static LogicalResult expectNoEmptyWindow(Operation *op, const Window &window,
                                         ArrayRef<int64_t> input,
                                         ArrayRef<int64_t> output) {
  for (unsigned dim = 0; dim != window.rank(); ++dim)
    for (int64_t at = 0; at != output[dim + 1]; ++at) {
      int64_t first = at * window.strides[dim] - window.low[dim];
      bool holds = false;
      for (int64_t tap = 0; tap != window.sizes[dim] && !holds; ++tap) {
        int64_t position = first + tap * window.dilations[dim];
        holds = position >= 0 && position < input[dim + 1];
      }
      if (!holds)
        return op->emitOpError()
               << "window " << at << " of spatial dimension " << dim
               << " holds padding alone, expected a position of the input";
    }
  return success();
}

template <typename OpT>
static LogicalResult verifyPool(OpT op, Value input, StringRef inputName,
                                Value output, StringRef outputName) {
  if (failed(expectSpatial(op, inputName, input)))
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  if (failed(
          expectEntries(op, shape.size() - 2, 1, {{"sizes", op.getSizes()}})) ||
      failed(expectWindow(op, shape.size() - 2)))
    return failure();
  FailureOr<SmallVector<int64_t>> expected =
      outputShape(op, op.getWindow(), shape, shape.back());
  if (failed(expected) ||
      failed(expectShape(op, outputName, output, *expected)) ||
      failed(expectShape(op, "taps", op.getTaps(), *expected)))
    return failure();
  if (failed(expectNoEmptyWindow(op, op.getWindow(), shape, *expected)))
    return failure();
  return expectElement(op, "result", op.getResult(),
                       elementOf(op->getOperand(0)));
}

// max_pool_c1, max_pool_c2, max_pool_c3, max_pool_c4
LogicalResult MaxPoolOp::verify() {
  return verifyPool(*this, getInput(), "input", getResult(), "result");
}

// max_pool_bwd_c1
LogicalResult MaxPoolBwdOp::verify() {
  return verifyPool(*this, getResult(), "result", getGrad(), "grad");
}

template <typename OpT> static OpCost poolCost(OpT op, Value output) {
  OpCost cost = hone::detail::elementwiseCost(op, 0);
  cost.flops = cast<ShapedType>(output.getType()).getNumElements() *
               op.getWindow().taps();
  return cost;
}

OpCost MaxPoolOp::getCost() { return poolCost(*this, getResult()); }
OpCost MaxPoolBwdOp::getCost() { return poolCost(*this, getGrad()); }

/// Batch and channels correspond; spatial dimensions are whole.
static DimensionMapping poolMapping(Operation *op) {
  DimensionMapping mapping;
  ArrayRef<int64_t> shape = shapeOf(op->getOperand(0));
  mapping.factors = {{shape.front(), FactorKind::Parallel},
                     {shape.back(), FactorKind::Parallel}};
  TensorFactors dims(shape.size(), -1);
  dims.front() = 0;
  dims.back() = 1;
  mapping.operands.assign(op->getNumOperands(), dims);
  mapping.results.assign(op->getNumResults(), dims);
  return mapping;
}

DimensionMapping MaxPoolOp::getDimensionMapping() { return poolMapping(*this); }
DimensionMapping MaxPoolBwdOp::getDimensionMapping() {
  return poolMapping(*this);
}
