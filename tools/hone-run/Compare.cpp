//===- Compare.cpp - hone-run --compare -----------------------------------===//
//
// Runs functions of two files on the same arguments. Results agree when they
// are near each other, or, with --rmse, when those of the second file are about
// as near to the exact ones as those of the first.
//
//===----------------------------------------------------------------------===//

#include "HoneRun.h"
#include "StepState.h"

#include "hone/Interpreter/Ranks.h"
#include "hone/Interpreter/Stages.h"
#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

namespace {
/// The element at which two results differ most, measured against the bound.
struct Difference {
  double excess = 0; ///< error over bound; above 1 it fails
  double error = 0;  ///< absolute
  int64_t result = 0, index = 0;
  double first = 0, second = 0;
};
} // namespace

/// |first - second| over what is allowed. NaN agrees with NaN, and an infinity
/// with itself.
static double excessOf(double first, double second,
                       const run::CompareOptions &options) {
  if (std::isnan(first) && std::isnan(second))
    return 0;
  if (options.bitwise)
    return llvm::bit_cast<uint64_t>(first) == llvm::bit_cast<uint64_t>(second)
               ? 0
               : infinity;
  if (first == second)
    return 0;
  double error = std::abs(first - second);
  double bound = options.atol + options.rtol * std::abs(second);
  // A NaN or an infinity on one side only is beyond any bound.
  return std::isfinite(error) && bound > 0 ? error / bound : infinity;
}

static Difference worstOf(ArrayRef<Tensor> first, ArrayRef<Tensor> second,
                          const run::CompareOptions &options) {
  Difference worst;
  for (size_t result = 0; result != first.size(); ++result)
    for (int64_t index = 0; index != first[result].size(); ++index) {
      double a = first[result].number(index), b = second[result].number(index);
      double excess = excessOf(a, b, options);
      if (excess > worst.excess)
        worst = {excess, std::abs(a - b), int64_t(result), index, a, b};
    }
  return worst;
}

static bool agreeByElement(StringRef name, ArrayRef<Tensor> before,
                           ArrayRef<Tensor> after,
                           const run::CompareOptions &options) {
  Difference worst = worstOf(before, after, options);
  bool agree = worst.excess <= 1;
  llvm::outs() << "@" << name << ": " << (agree ? "equal" : "different");
  if (worst.excess > 0)
    llvm::outs() << llvm::format(
        ", max error %.3g at result %lld element %lld: %.9g and %.9g",
        worst.error, (long long)worst.result, (long long)worst.index,
        worst.first, worst.second);
  llvm::outs() << "\n";
  return agree;
}

//===----------------------------------------------------------------------===//
// By distance from the exact results
//===----------------------------------------------------------------------===//

/// Root of the mean square of `values - exact`; infinite where one is finite
/// and the other not, or they are different infinities.
static double rmse(const Tensor &values, const Tensor &exact) {
  double sum = 0;
  for (int64_t index = 0; index != exact.size(); ++index) {
    double a = values.number(index), b = exact.number(index);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    sum += std::isfinite(a - b) ? (a - b) * (a - b) : infinity;
  }
  return exact.size() ? std::sqrt(sum / exact.size()) : 0;
}

/// Root of the mean square of the finite elements.
static double rms(const Tensor &values) {
  double sum = 0;
  for (int64_t index = 0; index != values.size(); ++index)
    if (double value = values.number(index); std::isfinite(value))
      sum += value * value;
  return values.size() ? std::sqrt(sum / values.size()) : 0;
}

/// `arguments` with each float moved up or down by half an ulp of fp32.
static Tensors movedByAnUlp(ArrayRef<Tensor> arguments, int64_t seed) {
  std::minstd_rand draw(seed + 1);
  Tensors moved(arguments);
  for (Tensor &argument : moved) {
    if (!argument.isFloat())
      continue;
    std::vector<double> values(argument.floats());
    for (double &value : values)
      value *= draw() & 1024 ? 1 + 0x1p-24 : 1 - 0x1p-24;
    argument = Tensor::floats(argument.element(), argument.shape(),
                              std::move(values), Mode::F64);
  }
  return moved;
}

namespace {
/// The result that is farthest from what is allowed.
struct Excess {
  double factor = 0, error = 0, bound = 0;
  size_t result = 0;
};
} // namespace

/// `after` is compared with `exact`, as far from which `before` may be on moved
/// values. `own` are results of the second function on moved values.
static Excess findExcess(const Tensors &exact, ArrayRef<Tensors> before,
                         const Tensors &after, ArrayRef<Tensors> own,
                         const run::CompareOptions &options) {
  Excess worst;
  for (auto [index, expected] : llvm::enumerate(exact)) {
    double unavoidable = 0;
    for (const Tensors &results : before)
      unavoidable = std::max(unavoidable, rmse(results[index], expected));
    for (const Tensors &results : own)
      unavoidable = std::max(unavoidable, rmse(results[index], after[index]));
    double bound = options.rmse * unavoidable + options.floor * rms(expected);
    double error = rmse(after[index], expected);
    double factor = error == 0 ? 0 : bound > 0 ? error / bound : infinity;
    // Where the first file's own result is no number, nothing is measured.
    if (!std::isinf(unavoidable) && factor > worst.factor)
      worst = {factor, error, bound, index};
  }
  return worst;
}

/// A badly conditioned value shows when arguments and intermediate results move
/// by an ulp: what that changes is unavoidable too. They are moved again where
/// too little seems to be allowed: once tells little of a scalar.
static bool agreeByDistance(func::FuncOp before, func::FuncOp after,
                            ArrayRef<Tensor> arguments,
                            const run::CompareOptions &options, bool &ran) {
  auto evaluate = [&](func::FuncOp func, Tensors on, Mode mode,
                      std::vector<Tensors> &into) {
    FailureOr<Tensors> results = interpret(func, std::move(on), {mode, {}});
    if (mlir::failed(results))
      return false;
    into.push_back(std::move(*results));
    return true;
  };
  Tensors plain(arguments);
  std::vector<Tensors> exact, typed, moved, own;
  ran = evaluate(before, plain, Mode::F64, exact) &&
        evaluate(before, plain, Mode::Typed, moved) &&
        evaluate(after, plain, Mode::Typed, typed);
  Excess worst;
  for (int round = 0; ran && round != 4; ++round) {
    int64_t seed = 2 * options.seed + 1000 * round;
    ran = evaluate(before, movedByAnUlp(plain, seed), Mode::Typed, moved) &&
          evaluate(before, movedByAnUlp(plain, seed + 1), Mode::Moved, moved);
    if (ran && options.either)
      ran = evaluate(after, movedByAnUlp(plain, seed), Mode::Moved, own);
    if (!ran)
      break;
    worst = findExcess(exact[0], moved, typed[0], own, options);
    if (worst.factor <= 1)
      break;
  }
  if (!ran)
    return false;
  bool agree = worst.factor <= 1;
  llvm::outs() << "@" << before.getSymName() << ": "
               << (agree ? "equal" : "different");
  if (worst.factor > 0)
    llvm::outs() << llvm::format(", RMSE %.3g at result %lld, allowed %.3g",
                                 worst.error, (long long)worst.result,
                                 worst.bound);
  llvm::outs() << "\n";
  return agree;
}

//===----------------------------------------------------------------------===//
// All functions
//===----------------------------------------------------------------------===//

/// Compares functions with what the stages of a pipeline compute together.
static int compareWithStages(ArrayRef<func::FuncOp> functions, ModuleOp stages,
                             const run::CompareOptions &options) {
  int code = run::ok;
  for (func::FuncOp func : functions) {
    FailureOr<Tensors> arguments =
        randomArguments(func, options.seed, options.mode);
    if (mlir::failed(arguments))
      return run::failed;
    FailureOr<Tensors> before =
        interpret(func, *arguments, {options.mode, nullptr});
    FailureOr<Tensors> after =
        interpretStages(stages, func, *arguments, options.mode);
    if (mlir::failed(before) || mlir::failed(after))
      return run::failed;
    if (!agreeByElement(func.getSymName(), *before, *after, options))
      code = run::failed;
  }
  llvm::outs().flush();
  return code;
}

/// Compares what a step leaves of each value.
static int compareSteps(ModuleOp first, ModuleOp second,
                        const run::CompareOptions &options) {
  FailureOr<run::Step> step =
      run::randomStep(first, options.seed, options.mode);
  if (mlir::failed(step))
    return run::failed;
  bool hasStages = !second.getOps<ModuleOp>().empty();
  FailureOr<run::State> before = run::runStep(first, *step, options.mode);
  FailureOr<run::State> after =
      mlir::failed(before) ? FailureOr<run::State>(failure())
      : hasStages          ? run::runStagesStep(second, *step, options.mode)
                           : run::runStep(second, *step, options.mode);
  if (mlir::failed(after))
    return run::failed;
  int code = run::ok;
  for (const auto &[key, tensor] : *before) {
    auto found = after->find(key);
    if (found == after->end()) {
      second.emitError("leaves no ") << key.first << " '" << key.second << "'";
      return run::failed;
    }
    if (!agreeByElement(key.first + " " + key.second, tensor, found->second,
                        options))
      code = run::failed;
  }
  llvm::outs().flush();
  return code;
}

int run::compare(MLIRContext &context, StringRef firstPath,
                 StringRef secondPath, const CompareOptions &options) {
  OwningOpRef<ModuleOp> first = load(context, firstPath);
  OwningOpRef<ModuleOp> second = first ? load(context, secondPath) : nullptr;
  if (!second)
    return run::failed;
  if (options.steps)
    return compareSteps(*first, *second, options);
  SmallVector<func::FuncOp> functions = entries(*first, options.entry);
  if (functions.empty())
    return run::failed;
  int code = run::ok;
  if ((*second)->hasAttr(dist::stagesAttr) &&
      !second->getOps<ModuleOp>().empty())
    return compareWithStages(functions, *second, options);
  for (func::FuncOp func : functions) {
    auto other = second->lookupSymbol<func::FuncOp>(func.getSymName());
    if (!other) {
      second->emitError() << "has no function @" << func.getSymName()
                          << " to compare with";
      return run::failed;
    }
    if (!options.ranks && func.getFunctionType() != other.getFunctionType()) {
      other.emitError() << "@" << func.getSymName() << " has type "
                        << other.getFunctionType() << ", expected "
                        << func.getFunctionType();
      return run::failed;
    }
    FailureOr<Tensors> arguments =
        randomArguments(func, options.seed, options.mode);
    if (mlir::failed(arguments))
      return run::failed;
    bool agree, ran = true;
    if (options.rmse > 0) {
      agree = agreeByDistance(func, other, *arguments, options, ran);
    } else {
      FailureOr<Tensors> before =
          interpret(func, *arguments, {options.mode, nullptr});
      FailureOr<Tensors> after =
          options.ranks ? interpretOnRanks(other, *arguments, options.mode)
                        : interpret(other, std::move(*arguments),
                                    {options.mode, nullptr});
      ran = succeeded(before) && succeeded(after);
      agree =
          ran && agreeByElement(func.getSymName(), *before, *after, options);
    }
    if (!ran)
      return run::failed;
    if (!agree)
      code = run::failed;
  }
  llvm::outs().flush();
  return code;
}
