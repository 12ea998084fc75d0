//===- OptimizerKernels.cpp - Kernels of updates --------------------------===//

#include "OptimizerKernels.h"

#include "Codegen/Common/UpdateEmitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hone;

static void emitAdamw(UpdateEmitter &b, AdamwOp op) {
  AdamwFormula formula(b, op);
  auto body = [&](Value at, Value mask) -> SmallVector<Value> {
    AdamwFormula::Elements made =
        formula.update({b.input(op.getParamMutable(), at, mask),
                        b.input(op.getGradMutable(), at, mask),
                        b.input(op.getExpAvgMutable(), at, mask),
                        b.input(op.getExpAvgSqMutable(), at, mask)});
    return {made.param, made.expAvg, made.expAvgSq};
  };
  b.emit(body, op.getApply(), op.getRng());
}

static void emitSgd(UpdateEmitter &b, SgdOp op) {
  Value rate = b.neg(b.mul(b.scalar(op.getLrMutable()),
                           b.f64(op.getLrScale().convertToDouble())));
  Value decay = b.mul(b.scalar(op.getWeightDecayMutable()),
                      b.f64(op.getDecayScale().convertToDouble()));
  Value gradScale = b.scalar(op.getGradScaleMutable());
  gradScale = b.splat(op.getMaximize() ? b.neg(gradScale) : gradScale);
  Value rates = b.splat(rate), decays = b.splat(decay);
  Value momentum = b.splat(op.getMomentum().convertToDouble());

  auto body = [&](Value at, Value mask) -> SmallVector<Value> {
    Value p = b.input(op.getParamMutable(), at, mask);
    Value g = b.mul(b.input(op.getGradMutable(), at, mask), gradScale);
    g = b.fma(decays, p, g);
    if (!op.getBuffer())
      return {b.fma(rates, g, p)};
    Value old = b.input(*op.getBufferMutable().begin(), at, mask);
    Value velocity = b.fma(momentum, old, g);
    g = op.getNesterov() ? b.fma(momentum, velocity, g) : velocity;
    return {b.fma(rates, g, p), velocity};
  };
  b.emit(body, op.getApply(), op.getRng());
}

static void emitLion(UpdateEmitter &b, LionOp op) {
  double beta1 = op.getBeta1().convertToDouble();
  double beta2 = op.getBeta2().convertToDouble();
  Value rate = b.mul(b.scalar(op.getLrMutable()),
                     b.f64(op.getLrScale().convertToDouble()));
  Value decayRate = b.mul(b.scalar(op.getWeightDecayMutable()),
                          b.f64(op.getDecayScale().convertToDouble()));
  Value keep = b.splat(b.sub(b.f64(1.0), b.mul(rate, decayRate)));
  Value gradScale = b.scalar(op.getGradScaleMutable());
  gradScale = b.splat(op.getMaximize() ? b.neg(gradScale) : gradScale);
  Value forward = b.splat(rate), back = b.splat(b.neg(rate));
  Value zero = b.splat(0.0);

  auto body = [&](Value at, Value mask) -> SmallVector<Value> {
    Value p = b.input(op.getParamMutable(), at, mask);
    Value g = b.mul(b.input(op.getGradMutable(), at, mask), gradScale);
    Value m = b.input(op.getExpAvgMutable(), at, mask);
    Value direction = b.fma(b.splat(1.0 - beta1), g, b.mul(b.splat(beta1), m));
    auto is = [&](arith::CmpFPredicate predicate) {
      return b.create<arith::CmpFOp>(predicate, direction, zero);
    };
    // -rate times the sign; of a NaN itself.
    Value move = b.create<arith::SelectOp>(
        is(arith::CmpFPredicate::OLT), forward,
        b.create<arith::SelectOp>(is(arith::CmpFPredicate::OGT), back,
                                  direction));
    m = b.fma(b.splat(1.0 - beta2), g, b.mul(b.splat(beta2), m));
    return {b.fma(p, keep, move), m};
  };
  b.emit(body, op.getApply(), op.getRng());
}

bool hone::emitUpdate(UpdateEmitter &b) {
  return llvm::TypeSwitch<Operation *, bool>(b.op)
      .Case([&](AdamwOp op) { return emitAdamw(b, op), true; })
      .Case([&](SgdOp op) { return emitSgd(b, op), true; })
      .Case([&](LionOp op) { return emitLion(b, op), true; })
      .Default(false);
}

FailureOr<Kernel> hone::emitUpdates(OpBuilder &builder, StringRef name,
                                    plan::LaunchOp launch) {
  FailureOr<UpdateTable> table = UpdateTable::of(launch);
  if (failed(table))
    return failure();
  UpdateEmitter b(builder, name, launch, *table);
  if (auto coded = dyn_cast<Adamw8bitOp>(table->op))
    emitCodedAdamw(b, coded);
  else if (!emitUpdate(b))
    return launch.emitOpError("holds an update that has no kernel, ")
           << table->op->getName()
           << ": expected hone-decompose-updates before";
  return Kernel{b.func, table->tensors.items(), 1, table->tensors};
}
