//===- OptimizerOps.cpp - Verifiers and facts of the optimizers -----------===//

#include "ShapeChecks.h"
#include "hone/IR/StateCode.h"

using namespace mlir;
using namespace hone;

LogicalResult GlobalNormOp::verify() {
  if (getInputs().empty()) // global_norm_c1
    return emitOpError("has no operand, expected at least one");
  return success();
}

/// The working copy, if any, is a narrower copy of the parameter.
static LogicalResult verifyWorkingCopy(Operation *op, Value param,
                                       Value workingCopy) {
  auto width = [](Value value) {
    return getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  };
  if (failed(expectShape(op, "new_working_copy", workingCopy, shapeOf(param))))
    return failure(); // adamw_c1, adamw_8bit_c1, sgd_c1, lion_c1, adafactor_c1,
                      // muon_c1
  if (!workingCopy || width(workingCopy) < width(param))
    return success();
  // adamw_c3, adamw_8bit_c4, sgd_c4, lion_c3, adafactor_c4, muon_c4
  return op->emitOpError() << "new_working_copy has element type "
                           << getElementTypeOrSelf(workingCopy.getType())
                           << ", expected a narrower one than that of param, "
                           << getElementTypeOrSelf(param.getType());
}

/// Besides, stochastic rounding has a key and something to round.
static LogicalResult verifyLowState(RandomOpInterface op, Value param,
                                    Value workingCopy, ValueRange states) {
  Value rng = op.getRandomKey();
  if (failed(verifyWorkingCopy(op, param, workingCopy)) ||
      failed(expectShape(op, "rng", rng, {3})))
    return failure(); // adamw_c4, sgd_c5, lion_c4
  auto isBF16 = [](Value value) {
    return value && getElementTypeOrSelf(value.getType()).isBF16();
  };
  if (rng && !isBF16(param) && llvm::none_of(states, isBF16))
    return op->emitOpError("has rng, expected param or a state of type bf16");
  return verifyRandomPart(op); // adamw_c5, sgd_c6, lion_c5
}

/// The two decays of an average.
template <typename OpTy> static LogicalResult verifyBetas(OpTy op) {
  return success(succeeded(expectFraction(op, "beta1", op.getBeta1(), true)) &&
                 succeeded(expectFraction(op, "beta2", op.getBeta2(), true)));
}

/// A number is at least `least`.
static LogicalResult expectAtLeast(Operation *op, StringRef what,
                                   const APFloat &attr, double least) {
  double value = attr.convertToDouble();
  if (value >= least)
    return success();
  return op->emitOpError() << what << " is " << value << ", expected " << what
                           << " >= " << int64_t(least);
}

//===----------------------------------------------------------------------===//
// AdamW
//===----------------------------------------------------------------------===//

LogicalResult AdamwOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getParam());
  if (failed(expectShape(*this, "grad", getGrad(), shape)) ||
      failed(expectShape(*this, "exp_avg", getExpAvg(), shape)) ||
      failed(expectShape(*this, "exp_avg_sq", getExpAvgSq(), shape)) ||
      failed(expectType(*this, "new_param", getNewParam(),
                        getParam().getType())) ||
      failed(expectType(*this, "new_exp_avg", getNewExpAvg(),
                        getExpAvg().getType())) ||
      failed(expectType(*this, "new_exp_avg_sq", getNewExpAvgSq(),
                        getExpAvgSq().getType())))
    return failure(); // adamw_c1
  if (failed(verifyBetas(*this)) ||
      failed(expectAtLeast(*this, "eps", getEps(), 0)))
    return failure(); // adamw_c2
  return verifyLowState(*this, getParam(), getNewWorkingCopy(),
                        {getExpAvg(), getExpAvgSq()});
}

/// Elementwise over the parameter's shape; scalars, and the key also where the
/// parameter has its rank, map to nothing.
template <typename Update> static DimensionMapping optimizerMapping(Update op) {
  DimensionMapping mapping = hone::detail::elementwiseMapping(op);
  for (OpOperand &key : MutableOperandRange(op.getRngMutable()))
    mapping.operands[key.getOperandNumber()] = {-1};
  return mapping;
}

DimensionMapping AdamwOp::getDimensionMapping() {
  return optimizerMapping(*this);
}

LogicalResult Adamw8bitOp::verify() {
  if (getElementTypeOrSelf(getParam().getType()).isF64()) // adamw_8bit_c5
    return emitOpError("param has element type 'f64', expected f32 or less");
  ArrayRef<int64_t> shape = shapeOf(getParam());
  if (shape.empty()) // adamw_8bit_c1
    return emitOpError("param has rank 0, expected at least 1");
  SmallVector<int64_t> scales = stateScaleShape(shape);
  if (failed(expectShape(*this, "grad", getGrad(), shape)) ||
      failed(expectShape(*this, "exp_avg", getExpAvg(), shape)) ||
      failed(expectShape(*this, "exp_avg_sq", getExpAvgSq(), shape)) ||
      failed(expectType(*this, "new_param", getNewParam(),
                        getParam().getType())) ||
      failed(expectShape(*this, "new_exp_avg", getNewExpAvg(), shape)) ||
      failed(expectShape(*this, "new_exp_avg_sq", getNewExpAvgSq(), shape)))
    return failure(); // adamw_8bit_c1
  for (auto [what, value] :
       {std::pair<StringRef, Value>{"exp_avg_scale", getExpAvgScale()},
        {"exp_avg_sq_scale", getExpAvgSqScale()},
        {"new_exp_avg_scale", getNewExpAvgScale()},
        {"new_exp_avg_sq_scale", getNewExpAvgSqScale()}})
    if (failed(expectShape(*this, what, value, scales)))
      return failure(); // adamw_8bit_c2
  if (failed(verifyBetas(*this)) ||
      failed(expectAtLeast(*this, "eps", getEps(), 0)))
    return failure(); // adamw_8bit_c3
  return verifyWorkingCopy(*this, getParam(), getNewWorkingCopy());
}

int64_t Adamw8bitOp::getStateBlock() { return stateBlock; }

/// Blocks are independent, elements of one share its scale. Rows that are no
/// whole number of blocks are not divided.
DimensionMapping Adamw8bitOp::getDimensionMapping() {
  ArrayRef<int64_t> shape = shapeOf(getParam());
  DimensionMapping mapping;
  TensorFactors codes, scales;
  for (auto [dim, size] : llvm::enumerate(shape.drop_back())) {
    mapping.factors.push_back({size, FactorKind::Parallel});
    codes.push_back(int(dim));
    scales.push_back(int(dim));
  }
  int last = codes.size();
  int64_t width = shape.back();
  if (width % stateBlock == 0) {
    mapping.factors.push_back({width / stateBlock, FactorKind::Parallel});
    mapping.factors.push_back({stateBlock, FactorKind::Replicate});
    codes.push_back(ArrayRef<int>{last, last + 1});
    scales.push_back(last);
  } else {
    mapping.factors.push_back({width, FactorKind::Replicate});
    codes.push_back(last);
    scales.push_back(-1);
  }
  auto factors = [&](Value value) -> TensorFactors {
    if (shapeOf(value).empty()) // a scalar
      return {};
    return shapeOf(value) == shape ? codes : scales;
  };
  for (Value operand : getOperands())
    mapping.operands.push_back(factors(operand));
  for (Value result : getResults())
    mapping.results.push_back(factors(result));
  return mapping;
}

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

LogicalResult SgdOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getParam());
  if (failed(expectShape(*this, "grad", getGrad(), shape)) ||
      failed(expectShape(*this, "buffer", getBuffer(), shape)) ||
      failed(
          expectType(*this, "new_param", getNewParam(), getParam().getType())))
    return failure(); // sgd_c1
  bool momentum = !getMomentum().isZero();
  if (size_t most = momentum ? 2 : 1; getOthers().size() > most) // sgd_c2
    return emitOpError() << "has " << getOthers().size()
                         << " results after new_param, expected at most "
                         << most;
  if (bool(getBuffer()) != momentum || bool(getNewBuffer()) != momentum)
    return emitOpError() // sgd_c2
           << "has momentum " << getMomentum().convertToDouble() << " and "
           << (getBuffer() ? "a" : "no") << " buffer operand and "
           << (getNewBuffer() ? "a" : "no")
           << " buffer result, expected buffers exactly with momentum";
  if (getNewBuffer() && failed(expectType(*this, "new_buffer", getNewBuffer(),
                                          getBuffer().getType())))
    return failure();             // sgd_c1
  if (getNesterov() && !momentum) // sgd_c3
    return emitOpError("is nesterov without momentum, expected momentum");
  SmallVector<Value> states;
  if (getBuffer())
    states.push_back(getBuffer());
  return verifyLowState(*this, getParam(), getNewWorkingCopy(), states);
}

// Without momentum the only other result is the working copy.
Value SgdOp::getNewBuffer() {
  bool present = !getMomentum().isZero() && !getOthers().empty();
  return present ? getOthers().front() : Value();
}

Value SgdOp::getNewWorkingCopy() {
  size_t index = getMomentum().isZero() ? 0 : 1;
  return getOthers().size() > index ? getOthers()[index] : Value();
}

DimensionMapping SgdOp::getDimensionMapping() {
  return optimizerMapping(*this);
}

SmallVector<AliasPair> SgdOp::getReusableOperands() {
  SmallVector<AliasPair> pairs = {{0, 0}};
  if (getBuffer())
    pairs.push_back({5, 1});
  return pairs;
}

//===----------------------------------------------------------------------===//
// Lion, Adafactor and Muon
//===----------------------------------------------------------------------===//

LogicalResult LionOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getParam());
  if (failed(expectShape(*this, "grad", getGrad(), shape)) ||
      failed(expectShape(*this, "exp_avg", getExpAvg(), shape)) ||
      failed(expectType(*this, "new_param", getNewParam(),
                        getParam().getType())) ||
      failed(expectType(*this, "new_exp_avg", getNewExpAvg(),
                        getExpAvg().getType())))
    return failure(); // lion_c1
  if (failed(verifyBetas(*this)))
    return failure(); // lion_c2
  return verifyLowState(*this, getParam(), getNewWorkingCopy(), getExpAvg());
}

DimensionMapping LionOp::getDimensionMapping() {
  return optimizerMapping(*this);
}

LogicalResult AdafactorOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getParam());
  size_t means = shape.size() < 2 ? 1 : 2;
  if (getVariances().size() != means) // adafactor_c2
    return emitOpError() << "has " << getVariances().size()
                         << " variances, expected " << means << " for rank "
                         << shape.size();
  if (getOthers().size() != means && getOthers().size() != means + 1)
    return emitOpError() << "has " << getOthers().size() // adafactor_c1
                         << " results after new_param, expected " << means
                         << ", and one more for a working copy";
  if (failed(expectShape(*this, "grad", getGrad(), shape)) ||
      failed(
          expectType(*this, "new_param", getNewParam(), getParam().getType())))
    return failure(); // adafactor_c1
  SmallVector<SmallVector<int64_t>> expected(means,
                                             SmallVector<int64_t>(shape));
  if (means == 2) {
    expected[0].pop_back();
    expected[1].erase(expected[1].end() - 2);
  }
  for (auto [index, old, shape] : llvm::enumerate(getVariances(), expected)) {
    if (failed(expectShape(*this, "variance " + std::to_string(index), old,
                           shape))) // adafactor_c2
      return failure();
    if (failed(expectType(*this, "new variance " + std::to_string(index),
                          getOthers()[index], old.getType())))
      return failure(); // adafactor_c1
  }
  if (!(getBeta2Decay().convertToDouble() <= 0)) // adafactor_c3
    return emitOpError() << "beta2_decay is "
                         << getBeta2Decay().convertToDouble()
                         << ", expected beta2_decay <= 0";
  if (failed(expectAtLeast(*this, "eps1", getEps1(), 0)) ||
      failed(expectAtLeast(*this, "eps2", getEps2(), 0)) ||
      failed(expectAtLeast(*this, "clip_threshold", getClipThreshold(), 1)))
    return failure(); // adafactor_c3
  return verifyWorkingCopy(*this, getParam(), getNewWorkingCopy());
}

Value AdafactorOp::getNewWorkingCopy() {
  size_t means = getVariances().size();
  return getOthers().size() > means ? getOthers()[means] : Value();
}

LogicalResult MuonOp::verify() {
  ArrayRef<int64_t> shape = shapeOf(getParam());
  if (shape.size() != 2) // muon_c2
    return emitOpError() << "param has rank " << shape.size() << ", expected 2";
  if (failed(expectShape(*this, "grad", getGrad(), shape)) ||
      failed(expectShape(*this, "buffer", getBuffer(), shape)) ||
      failed(expectType(*this, "new_param", getNewParam(),
                        getParam().getType())) ||
      failed(expectType(*this, "new_buffer", getNewBuffer(),
                        getBuffer().getType())))
    return failure(); // muon_c1
  if (failed(expectFraction(*this, "momentum", getMomentum(), true)) ||
      failed(expectAtLeast(*this, "eps", getEps(), 0)))
    return failure(); // muon_c3
  return verifyWorkingCopy(*this, getParam(), getNewWorkingCopy());
}

/// Three products a step, of which two have the smaller side twice.
OpCost MuonOp::getCost() {
  OpCost cost = hone::detail::elementwiseCost(*this, 0);
  ArrayRef<int64_t> shape = shapeOf(getParam());
  int64_t small = std::min(shape[0], shape[1]);
  int64_t large = std::max(shape[0], shape[1]);
  cost.flops =
      iterations * 2 * (2 * small * small * large + small * small * small);
  return cost;
}
