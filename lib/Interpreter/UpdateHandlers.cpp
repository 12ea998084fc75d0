//===- UpdateHandlers.cpp - Handlers of the optimizers --------------------===//

#include "Handlers.h"

#include "llvm/ADT/bit.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

namespace {
/// The arithmetic of formulas (hone/IR/UpdateFormulas.h) on doubles.
struct DoubleArithmetic {
  using Value = double;

  double scalar(OpOperand &operand) const {
    return frame.scalar(operand.get());
  }
  double f64(double x) const { return x; }
  double splat(double x) const { return x; }
  double power(double base, double exponent) const {
    return std::pow(base, exponent);
  }
  double add(double x, double y) const { return x + y; }
  double sub(double x, double y) const { return x - y; }
  double mul(double x, double y) const { return x * y; }
  double div(double x, double y) const { return x / y; }
  double neg(double x) const { return -x; }
  double sqrt(double x) const { return std::sqrt(x); }
  double fma(double x, double y, double z) const { return std::fma(x, y, z); }
  bool less(double x, double y) const { return x < y; }
  bool greater(double x, double y) const { return x > y; }
  double select(bool flag, double yes, double no) const {
    return flag ? yes : no;
  }

  const Frame &frame;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// `value` as a bf16, up with the probability that it lies above the lower
/// neighbour: 16 random bits are added below those that stay.
static double roundStochastically(double value, uint32_t random) {
  float single = float(value);
  if (!std::isfinite(single))
    return single;
  uint32_t bits = llvm::bit_cast<uint32_t>(single) + (random & 0xffff);
  return llvm::bit_cast<float>(bits & 0xffff0000);
}

/// The values of a result of an update, rounded to nearest, or at random where
/// there is a key.
static Tensor roundUpdate(OpResult result, std::vector<double> values,
                          const Frame &frame) {
  ResultSpec spec = frame.spec(result);
  auto random = dyn_cast<RandomOpInterface>(result.getOwner());
  const Tensor *key = random ? frame.optional(random.getRandomKey()) : nullptr;
  if (!key || spec.element != Element::BF16 || spec.mode != Mode::Typed)
    return spec.floats(std::move(values));
  auto update = cast<StochasticUpdateOpInterface>(result.getOwner());
  int64_t shift = firstRandomBit(result);
  PhiloxStream stream(key->ints(), update.getSalt(), placeOf(random, frame));
  for (auto [index, value] : llvm::enumerate(values))
    value = roundStochastically(value, stream.word(index) >> shift);
  return spec.floats(std::move(values));
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// The parameter and the states as they were.
static Tensors keepAll(Operation *op, const Frame &frame) {
  Tensors kept;
  for (AliasPair pair : cast<HoneOpInterface>(op).getReusableOperands())
    kept.push_back(frame[op->getOperand(pair.operand)]);
  return kept;
}

static Tensors keepAll(AdafactorOp op, const Frame &frame) {
  Tensors kept = {frame[op.getParam()]};
  llvm::append_range(kept, frame.all(op.getVariances()));
  return kept;
}

/// `update(op, frame)`, unless the op is not applied, and the working copy of
/// its parameter.
template <typename OpTy, typename Update>
static Tensors applyUpdate(OpTy op, const Frame &frame, Update update) {
  bool isApplied = !op.getApply() || frame[op.getApply()].ints()[0] != 0;
  Tensors results = isApplied ? update(op, frame) : keepAll(op, frame);
  if (results.size() < op->getNumResults()) {
    ArrayRef<double> param = results.front().floats();
    results.push_back(frame.spec(op->getResults().back())
                          .floats({param.begin(), param.end()}));
  }
  return results;
}

using Columns = std::vector<std::vector<double>>;

/// The new values of the parameter and its states, from those of `old`: the
/// parameter, its gradient and its states.
template <typename Formula>
static Columns evaluate(Formula &formula, const Columns &old) {
  Columns values(old.size() - 1);
  for (size_t index = 0; index != old.front().size(); ++index) {
    SmallVector<double> made =
        formula.update([&](unsigned tensor) { return old[tensor][index]; });
    for (auto [column, value] : llvm::zip_equal(values, made))
      column.push_back(value);
  }
  return values;
}

static Tensors updateElements(Operation *op, const Frame &frame) {
  Columns old = {frame[op->getOperand(0)].floats(),
                 frame[op->getOperand(1)].floats()};
  auto reusable = cast<HoneOpInterface>(op).getReusableOperands();
  for (AliasPair pair : ArrayRef(reusable).drop_front())
    old.push_back(frame[op->getOperand(pair.operand)].floats());
  DoubleArithmetic arithmetic{frame};
  Tensors results;
  withUpdateFormula(arithmetic, op, [&](auto &formula) {
    for (std::vector<double> &values : evaluate(formula, old))
      results.push_back(
          roundUpdate(op->getResult(results.size()), std::move(values), frame));
  });
  return results;
}

static Tensors updateCoded(Adamw8bitOp op, const Frame &frame) {
  CodedMoment first = {frame[op.getExpAvg()], frame[op.getExpAvgScale()]},
              second = {frame[op.getExpAvgSq()], frame[op.getExpAvgSqScale()]};
  DoubleArithmetic arithmetic{frame};
  AdamwFormula<DoubleArithmetic> formula(arithmetic, op);
  Columns values = evaluate(formula, {frame[op.getParam()].floats(),
                                      frame[op.getGrad()].floats(),
                                      decodeMoment(first, firstMomentCode),
                                      decodeMoment(second, secondMomentCode)});
  first = encodeMoment(frame.spec(op.getNewExpAvg()),
                       frame.spec(op.getNewExpAvgScale()), values[1],
                       firstMomentCode);
  second = encodeMoment(frame.spec(op.getNewExpAvgSq()),
                        frame.spec(op.getNewExpAvgSqScale()), values[2],
                        secondMomentCode);
  return {frame.spec(op.getNewParam()).floats(std::move(values[0])),
          first.codes, first.scales, second.codes, second.scales};
}

static Tensors updateAdafactor(AdafactorOp op, const Frame &frame) {
  AdafactorOptions options{frame.scalar(op.getLr()),
                           frame.scalar(op.getWeightDecay()),
                           frame.scalar(op.getGradScale()),
                           frame[op.getStep()].ints()[0],
                           op.getBeta2Decay().convertToDouble(),
                           op.getEps1().convertToDouble(),
                           op.getEps2().convertToDouble(),
                           op.getClipThreshold().convertToDouble(),
                           op.getLrScale().convertToDouble(),
                           op.getDecayScale().convertToDouble(),
                           op.getMaximize()};
  return adafactor(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
                   frame.all(op.getVariances()), options);
}

static Tensors updateMuon(MuonOp op, const Frame &frame) {
  MuonOptions options{frame.scalar(op.getLr()),
                      frame.scalar(op.getWeightDecay()),
                      frame.scalar(op.getGradScale()),
                      op.getMomentum().convertToDouble(),
                      op.getEps().convertToDouble(),
                      op.getShapeScale().convertToDouble(),
                      op.getLrScale().convertToDouble(),
                      op.getDecayScale().convertToDouble(),
                      op.getNesterov(),
                      op.getMaximize()};
  return muon(frame.specs(op), frame[op.getParam()], frame[op.getGrad()],
              frame[op.getBuffer()], options);
}

template <typename... OpTys>
void HandlerTable::onUpdates(UpdateList<OpTys...>) {
  (on<OpTys>([](OpTys op, const Frame &frame) {
     return applyUpdate(op, frame, updateElements);
   }),
   ...);
}

void HandlerTable::addState() {
  on<GlobalNormOp>([](GlobalNormOp op, const Frame &frame) {
    return globalNorm(frame.spec(op), frame.all(op.getInputs()));
  });
  onUpdates(ElementUpdates());
  on<Adamw8bitOp>([](Adamw8bitOp op, const Frame &frame) {
    return applyUpdate(op, frame, updateCoded);
  });
  on<AdafactorOp>([](AdafactorOp op, const Frame &frame) {
    return applyUpdate(op, frame, updateAdafactor);
  });
  on<MuonOp>([](MuonOp op, const Frame &frame) {
    return applyUpdate(op, frame, updateMuon);
  });
}
