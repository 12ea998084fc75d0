//===- UpdateFormulas.h - Formulas of the optimizers ------------*- C++ -*-===//
//
// What each optimizer computes, written once for the interpreter, which takes
// it on doubles, and for kernels, which take it on vectors of IR values. Here
// are the optimizers that update each element alone; Adafactor and Muon,
// which take a parameter as a whole, are made of other ops by
// hone-decompose-updates.
//
// A formula is a class template over its arithmetic `A`:
//
//   A::Value              a scalar of the update in f64, or an element
//   scalar(operand)       the value of a scalar operand, in f64
//   f64(x)                a constant scalar
//   power(x, scalar)      x to an integer power, in f64
//   splat(scalar or x)    the same for every element, in the elements' type
//   add sub mul div neg sqrt fma less greater select
//
// Its constructor reads the op and computes what all elements share.
// `update(read)` returns an element of the new parameter and the new states;
// `read(i)` gives that of the parameter (0), the gradient (1) and the old
// states.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_UPDATEFORMULAS_H
#define HONE_IR_UPDATEFORMULAS_H

#include "hone/IR/Hone.h"

#include "llvm/ADT/TypeSwitch.h"

namespace hone {

/// `hone.adamw`, and `hone.adamw_8bit` on the values of its codes.
template <typename A> class AdamwFormula {
public:
  using Value = typename A::Value;
  using Values = llvm::SmallVector<Value>;

  template <typename OpTy>
  AdamwFormula(A &a, OpTy op)
      : a(a), beta1(op.getBeta1().convertToDouble()),
        beta2(op.getBeta2().convertToDouble()),
        eps(op.getEps().convertToDouble()) {
    double lrScale = op.getLrScale().convertToDouble();
    double decayScale = op.getDecayScale().convertToDouble();
    makeScalars(
        a.scalar(op.getLrMutable()), a.scalar(op.getWeightDecayMutable()),
        a.scalar(op.getStepMutable()), a.scalar(op.getGradScaleMutable()),
        lrScale, decayScale, op.getMaximize());
  }

  Values update(llvm::function_ref<Value(unsigned)> read) {
    Value p = read(0), g = read(1), m = read(2), v = read(3);
    g = a.mul(g, scale);
    // PyTorch's lerp: m + (1 - beta1) (g - m).
    m = a.fma(a.splat(1.0 - beta1), a.sub(g, m), m);
    v = a.fma(a.mul(a.splat(1.0 - beta2), g), g, a.mul(a.splat(beta2), v));
    Value root = a.sqrt(v);
    Value quotient = a.div(m, a.fma(root, rootScale, a.splat(eps)));
    p = a.fma(stepSize, quotient, a.mul(p, keep));
    return {p, m, v};
  }

private:
  void makeScalars(Value lr, Value weightDecay, Value step, Value gradScale,
                   double lrScale, double decayScale, bool maximize) {
    // a = lr lr_scale; corrections 1 - beta^t.
    Value one = a.f64(1.0), rate = a.mul(lr, a.f64(lrScale));
    Value decayRate = a.mul(weightDecay, a.f64(decayScale));
    keep = a.splat(a.sub(one, a.mul(rate, decayRate)));
    Value correction1 = a.sub(one, a.power(beta1, step));
    Value correction2 = a.sub(one, a.power(beta2, step));
    stepSize = a.splat(a.neg(a.div(rate, correction1)));
    // sqrt(v) times this is sqrt(v) / sqrt(1 - beta2^t), to half an ulp more.
    rootScale = a.splat(a.div(one, a.sqrt(correction2)));
    scale = a.splat(maximize ? a.neg(gradScale) : gradScale);
  }

  A &a;
  double beta1, beta2, eps;
  Value keep, stepSize, rootScale, scale;
};

template <typename A> class SgdFormula {
public:
  using Value = typename A::Value;
  using Values = llvm::SmallVector<Value>;

  SgdFormula(A &a, SgdOp op)
      : a(a), hasBuffer(op.getBuffer()), nesterov(op.getNesterov()) {
    Value rate = a.neg(a.mul(a.scalar(op.getLrMutable()),
                             a.f64(op.getLrScale().convertToDouble())));
    Value decay = a.mul(a.scalar(op.getWeightDecayMutable()),
                        a.f64(op.getDecayScale().convertToDouble()));
    Value gradScale = a.scalar(op.getGradScaleMutable());
    scale = a.splat(op.getMaximize() ? a.neg(gradScale) : gradScale);
    rates = a.splat(rate), decays = a.splat(decay);
    momentum = a.splat(op.getMomentum().convertToDouble());
  }

  Values update(llvm::function_ref<Value(unsigned)> read) {
    Value p = read(0);
    Value g = a.mul(read(1), scale);
    g = a.fma(decays, p, g);
    if (!hasBuffer)
      return {a.fma(rates, g, p)};
    Value old = read(2);
    Value velocity = a.fma(momentum, old, g);
    g = nesterov ? a.fma(momentum, velocity, g) : velocity;
    return {a.fma(rates, g, p), velocity};
  }

private:
  A &a;
  bool hasBuffer, nesterov;
  Value scale, rates, decays, momentum;
};

template <typename A> class LionFormula {
public:
  using Value = typename A::Value;
  using Values = llvm::SmallVector<Value>;

  LionFormula(A &a, LionOp op)
      : a(a), beta1(op.getBeta1().convertToDouble()),
        beta2(op.getBeta2().convertToDouble()) {
    Value rate = a.mul(a.scalar(op.getLrMutable()),
                       a.f64(op.getLrScale().convertToDouble()));
    Value decayRate = a.mul(a.scalar(op.getWeightDecayMutable()),
                            a.f64(op.getDecayScale().convertToDouble()));
    keep = a.splat(a.sub(a.f64(1.0), a.mul(rate, decayRate)));
    Value gradScale = a.scalar(op.getGradScaleMutable());
    scale = a.splat(op.getMaximize() ? a.neg(gradScale) : gradScale);
    forward = a.splat(rate), back = a.splat(a.neg(rate));
    zero = a.splat(0.0);
  }

  Values update(llvm::function_ref<Value(unsigned)> read) {
    Value p = read(0);
    Value g = a.mul(read(1), scale);
    Value m = read(2);
    Value direction = a.fma(a.splat(1.0 - beta1), g, a.mul(a.splat(beta1), m));
    // -rate times the sign; of a NaN itself.
    Value move =
        a.select(a.less(direction, zero), forward,
                 a.select(a.greater(direction, zero), back, direction));
    m = a.fma(a.splat(1.0 - beta2), g, a.mul(a.splat(beta2), m));
    return {a.fma(p, keep, move), m};
  }

private:
  A &a;
  double beta1, beta2;
  Value keep, scale, forward, back, zero;
};

/// Results that are rounded at random use 16 bits of their element's random
/// word: the first of those, evenly spread over the parameter, which has the
/// highest, and its states.
inline int64_t firstRandomBit(mlir::OpResult result) {
  auto update = llvm::cast<HoneOpInterface>(result.getOwner());
  int64_t last = update.getReusableOperands().size() - 1;
  return last == 0 ? 16 : 16 - 16 * int64_t(result.getResultNumber()) / last;
}

template <typename A> auto formulaOf(A &a, AdamwOp op) {
  return AdamwFormula<A>(a, op);
}
template <typename A> auto formulaOf(A &a, SgdOp op) {
  return SgdFormula<A>(a, op);
}
template <typename A> auto formulaOf(A &a, LionOp op) {
  return LionFormula<A>(a, op);
}

/// Ops whose operands and results are elements alone, each with a formulaOf.
template <typename... Ops> struct UpdateList {};
using ElementUpdates = UpdateList<AdamwOp, SgdOp, LionOp>;

template <typename A, typename Use, typename... Ops>
bool withUpdateFormula(A &a, mlir::Operation *op, Use use, UpdateList<Ops...>) {
  return llvm::TypeSwitch<mlir::Operation *, bool>(op)
      .template Case<Ops...>([&](auto update) {
        auto formula = formulaOf(a, update);
        use(formula);
        return true;
      })
      .Default(false);
}

/// Calls `use` with the formula of `op`. False for an op that has none.
template <typename A, typename Use>
bool withUpdateFormula(A &a, mlir::Operation *op, Use use) {
  return withUpdateFormula(a, op, use, ElementUpdates());
}

} // namespace hone

#endif // HONE_IR_UPDATEFORMULAS_H
