//===- Gradcheck.cpp - hone-run --gradcheck -------------------------------===//
//
// A function f is made into a @forward with one loss, the sum of its float
// results times random weights; hone-autodiff makes @gradient of it. For each
// differentiated argument and a few random directions d of length 1, the
// derivative along d is taken from central differences at steps h and h/2 with
// one Richardson extrapolation (error of order h^4) in double, and compared
// with the inner product of gradient and d.
//
//===----------------------------------------------------------------------===//

#include "HoneRun.h"
#include "hone/Sharding/IR/Dist.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace hone;
using namespace hone::interp;

/// Steps of the differences. With the first, truncation is about h^4 = 1e-12
/// and rounding epsilon / h = 2e-13, both far below the default tolerance. A
/// function may be too curved for it (a norm over two elements): a gradient is
/// right if it is at any step, since rounding alone hides no wrong one.
static constexpr double steps[] = {1e-3, 1e-3 / 16, 1e-3 / 256};

//===----------------------------------------------------------------------===//
// From a function to @forward
//===----------------------------------------------------------------------===//

static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Whether the argument is the key of a random op.
static bool isKey(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto random = dyn_cast<RandomOp>(user);
    auto dropout = dyn_cast<DropoutOp>(user);
    auto attention = dyn_cast<AttentionOp>(user);
    return (random && random.getKey() == argument) ||
           (dropout && dropout.getRng() == argument) ||
           (attention && attention.getRng() == argument);
  });
}

/// Gives every argument a kind and a name. Without any hone.requires_grad, all
/// float arguments get one.
static void describeArguments(func::FuncOp func) {
  OpBuilder builder(func.getContext());
  bool chosen = false;
  for (unsigned index = 0; index != func.getNumArguments(); ++index)
    chosen |= bool(func.getArgAttr(index, attr::requiresGrad));
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    bool isChecked = chosen ? bool(func.getArgAttr(index, attr::requiresGrad))
                            : isFloatTensor(argument.getType());
    StringRef kind = isChecked         ? kind::param
                     : isKey(argument) ? kind::rng
                                       : kind::input;
    func.setArgAttr(index, attr::kind, builder.getStringAttr(kind));
    func.setArgAttr(index, attr::fqn,
                    builder.getStringAttr("arg" + Twine(index)));
    if (!isChecked)
      continue;
    func.setArgAttr(index, attr::requiresGrad, builder.getUnitAttr());
    if (!func.getArgAttr(index, attr::init))
      func.setArgAttr(
          index, attr::init,
          builder.getDictionaryAttr(
              {builder.getNamedAttr("dist", builder.getStringAttr("normal")),
               builder.getNamedAttr("mean", builder.getF64FloatAttr(0)),
               builder.getNamedAttr("std", builder.getF64FloatAttr(1))}));
  }
}

/// Replaces the results of `func` by one loss: the sum of the float results
/// times weights, which become new arguments.
static LogicalResult makeLoss(func::FuncOp func) {
  auto terminator =
      cast<func::ReturnOp>(func.getBody().front().getTerminator());
  OpBuilder builder(terminator);
  Location loc = terminator.getLoc();
  Value loss;
  for (auto [index, result] : llvm::enumerate(terminator.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!isFloatTensor(result.getType()))
      continue;
    unsigned position = func.getNumArguments();
    auto attributes = builder.getDictionaryAttr(
        {builder.getNamedAttr(attr::kind, builder.getStringAttr(kind::input)),
         builder.getNamedAttr(attr::fqn,
                              builder.getStringAttr("weight" + Twine(index)))});
    func.insertArgument(position, type, attributes, loc);
    Value term = builder.create<MulOp>(loc, result, func.getArgument(position));
    if (type.getRank() != 0)
      term = builder.create<ReduceOp>(
          loc, ReduceKind::sum, term,
          llvm::to_vector(llvm::seq<int64_t>(0, type.getRank())));
    auto scalar = RankedTensorType::get({}, builder.getF32Type());
    if (term.getType() != scalar)
      term = builder.create<CastOp>(loc, scalar, term);
    loss = loss ? builder.create<AddOp>(loc, loss, term) : term;
  }
  if (!loss)
    return func.emitError("has no float result, expected one to differentiate");
  terminator->setOperands(loss);
  func.setType(
      builder.getFunctionType(func.getArgumentTypes(), {loss.getType()}));
  func.setAllResultAttrs(ArrayRef<Attribute>{builder.getDictionaryAttr(
      builder.getNamedAttr(attr::kind, builder.getStringAttr(kind::loss)))});
  return success();
}

/// A module with `func` as @forward, and the mesh that it may name axes of;
/// null after a diagnostic.
static OwningOpRef<ModuleOp> forwardModule(func::FuncOp func) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(func.getLoc());
  for (auto mesh : func->getParentOfType<ModuleOp>().getOps<dist::MeshOp>())
    module->push_back(mesh.clone());
  func::FuncOp forward = func.clone();
  forward.setSymName("forward");
  forward.setPublic();
  module->push_back(forward);
  bool hasLoss = forward.getNumResults() == 1 &&
                 resultString(forward, 0, attr::kind) == kind::loss;
  describeArguments(forward);
  if (!hasLoss && failed(makeLoss(forward)))
    return {};
  return module;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

namespace {
/// The loss as a function of one argument.
class LossAlong {
public:
  LossAlong(func::FuncOp forward, const Tensors &arguments, unsigned argument,
            const Tensor &direction)
      : forward(forward), arguments(arguments), argument(argument),
        direction(direction) {}

  /// The loss at `argument + distance * direction`.
  FailureOr<double> at(double distance) const {
    Tensors moved = arguments;
    const Tensor &start = arguments[argument];
    std::vector<double> values(start.floats());
    for (auto [value, d] : llvm::zip_equal(values, direction.floats()))
      value += distance * d;
    moved[argument] = Tensor::floats(start.element(), start.shape(),
                                     std::move(values), Mode::F64);
    FailureOr<Tensors> results =
        interpret(forward, std::move(moved), {Mode::F64, nullptr});
    if (failed(results))
      return failure();
    return (*results)[0].number(0);
  }

  /// (L(h) - L(-h)) / 2h
  FailureOr<double> centralDifference(double h) const {
    FailureOr<double> above = at(h), below = at(-h);
    if (failed(above) || failed(below))
      return failure();
    return (*above - *below) / (2 * h);
  }

  /// By how much the loss jumps between points so near to each other that only
  /// rounding tells them apart: more than roundings of the loss itself where
  /// large numbers cancel on the way to it, as in a norm over equal numbers.
  FailureOr<double> jitter() const {
    FailureOr<double> here = at(0);
    if (failed(here))
      return failure();
    double most = 0;
    for (int i = 1; i <= 6; ++i) {
      FailureOr<double> near = at(i * 1e-14);
      if (failed(near))
        return failure();
      most = std::max(most, std::abs(*near - *here));
    }
    return most;
  }

  FailureOr<double> slope(double step) const {
    FailureOr<double> coarse = centralDifference(step);
    FailureOr<double> fine = centralDifference(step / 2);
    if (failed(coarse) || failed(fine))
      return failure();
    return (4 * *fine - *coarse) / 3;
  }

private:
  func::FuncOp forward;
  const Tensors &arguments;
  unsigned argument;
  const Tensor &direction;
};
} // namespace

static double norm(ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum);
}

/// A direction of length 1.
static Tensor randomDirection(const Tensor &like, int64_t seed, int64_t salt) {
  Tensor key = Tensor::ints(Element::I64, {3}, {seed, 2, 0});
  ResultSpec spec{Element::F64, Shape(like.shape()), Mode::F64};
  Tensor unit = random(spec, key, Distribution::normal, salt);
  std::vector<double> values(unit.floats());
  double length = norm(values);
  for (double &value : values)
    value /= length;
  return spec.floats(std::move(values));
}

namespace {
/// How far a gradient is from the differences, in the worst direction seen.
struct Deviation {
  double relative = 0;
  bool tolerated = true;
};
} // namespace

/// About how far the loss in double is from exact: some roundings of its size,
/// and in the longest sum that there may be as many as it has terms, at random.
static double roundingOf(func::FuncOp func, double loss) {
  int64_t terms = 0;
  func.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
        terms = std::max(terms, type.getNumElements());
  });
  return (64 + 4 * std::sqrt(double(terms))) *
         std::numeric_limits<double>::epsilon() * std::max(1.0, std::abs(loss));
}

/// Compares `slope` with `gradient . direction`. The error is relative to the
/// larger of the two, and to no less than what a random direction expects
/// (|gradient| / sqrt(n)), so that a product near 0 by chance is no failure.
/// What the differences lose by rounding, `noise` / `step`, is tolerated too.
static Deviation judge(const Tensor &gradient, const Tensor &direction,
                       double slope, double step, double noise,
                       double tolerance) {
  double product = 0;
  for (auto [g, d] : llvm::zip_equal(gradient.floats(), direction.floats()))
    product += g * d;
  double scale =
      std::max({std::abs(product), std::abs(slope),
                norm(gradient.floats()) / std::sqrt(double(gradient.size())),
                std::numeric_limits<double>::min()});
  double error = std::abs(product - slope);
  return {error / scale, error <= tolerance * scale + noise / step};
}

/// Compares a gradient along one direction, with smaller steps where it seems
/// wrong.
static FailureOr<Deviation> compareAlong(const LossAlong &line,
                                         const Tensor &gradient,
                                         const Tensor &direction, double noise,
                                         double tolerance) {
  Deviation found;
  bool measured = false;
  for (double step : steps) {
    FailureOr<double> slope = line.slope(step);
    if (failed(slope))
      return failure();
    found = judge(gradient, direction, *slope, step, noise, tolerance);
    if (found.tolerated)
      return found;
    if (measured)
      continue;
    FailureOr<double> jitter = line.jitter();
    if (failed(jitter))
      return failure();
    noise = std::max(noise, 8 * *jitter);
    measured = true;
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

/// Index of the result of `func` that is the gradient of `fqn`, or -1.
static int findGradient(func::FuncOp func, StringRef fqn) {
  for (unsigned index = 0; index != func.getNumResults(); ++index)
    if (resultString(func, index, attr::kind) == kind::grad &&
        resultString(func, index, attr::fqn) == fqn)
      return index;
  return -1;
}

static FailureOr<bool> check(func::FuncOp func,
                             const run::GradcheckOptions &options) {
  OwningOpRef<ModuleOp> plain = forwardModule(func);
  if (!plain)
    return failure();
  OwningOpRef<ModuleOp> derived(plain->clone());
  if (failed(run::runPasses(*derived, "hone-autodiff")))
    return failure();
  auto forward = plain->lookupSymbol<func::FuncOp>("forward");
  auto gradient = derived->lookupSymbol<func::FuncOp>("gradient");
  if (!gradient || gradient.getArgumentTypes() != forward.getArgumentTypes())
    return func.emitError("hone-autodiff made no @gradient with the arguments "
                          "of @forward, expected one");
  FailureOr<Tensors> arguments =
      randomArguments(forward, options.seed, Mode::F64);
  if (failed(arguments))
    return failure();
  FailureOr<Tensors> losses =
      interpret(forward, *arguments, {Mode::F64, nullptr});
  FailureOr<Tensors> results =
      interpret(gradient, *arguments, {Mode::F64, nullptr});
  if (failed(losses) || failed(results))
    return failure();
  double loss = (*losses)[0].number(0);
  if (std::isnan(loss)) {
    llvm::outs() << "@" << func.getSymName()
                 << " has a loss that is nan here: nothing to compare\n";
    return false;
  }

  double noise = roundingOf(forward, loss);
  bool good = true;
  for (unsigned index = 0; index != forward.getNumArguments(); ++index) {
    if (!forward.getArgAttr(index, attr::requiresGrad))
      continue;
    StringRef fqn = argString(forward, index, attr::fqn);
    int position = findGradient(gradient, fqn);
    const Tensor &argument = (*arguments)[index];
    // An argument the loss does not depend on has no gradient: zero.
    Tensor gradientTensor =
        position < 0
            ? Tensor::floats(argument.element(), argument.shape(),
                             std::vector<double>(argument.size()), Mode::F64)
            : (*results)[position];
    if (gradientTensor.shape() != argument.shape())
      return func.emitError()
             << "gradient of argument " << index << " has type "
             << gradientTensor.typeName() << ", expected the shape of "
             << argument.typeName();
    Deviation worst;
    for (int64_t r = 0; r != options.directions && argument.size(); ++r) {
      Tensor direction = randomDirection(argument, options.seed,
                                         index * options.directions + r);
      FailureOr<Deviation> found =
          compareAlong(LossAlong(forward, *arguments, index, direction),
                       gradientTensor, direction, noise, options.tolerance);
      if (failed(found))
        return failure();
      if (!(found->relative <= worst.relative)) // a NaN stays
        worst.relative = found->relative;
      worst.tolerated &= found->tolerated;
    }
    good &= worst.tolerated;
    llvm::outs() << "@" << func.getSymName() << " argument " << index << " "
                 << argument.typeName() << ": "
                 << (worst.tolerated ? "ok" : "WRONG")
                 << llvm::format(", relative error %.3g over ", worst.relative)
                 << (argument.size() ? options.directions : 0)
                 << " directions\n";
  }
  return good;
}

int run::gradcheck(MLIRContext &context, StringRef path,
                   const GradcheckOptions &options) {
  OwningOpRef<ModuleOp> module = load(context, path);
  if (!module)
    return run::failed;
  SmallVector<func::FuncOp> functions = entries(*module, options.entry);
  int code = functions.empty() ? run::failed : run::ok;
  for (func::FuncOp func : functions) {
    FailureOr<bool> good = check(func, options);
    if (mlir::failed(good))
      return run::failed;
    if (!*good)
      code = run::failed;
  }
  llvm::outs().flush();
  return code;
}
