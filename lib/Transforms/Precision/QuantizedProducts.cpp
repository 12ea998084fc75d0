//===- QuantizedProducts.cpp - Products that will multiply codes of fp8 ---===//

#include "QuantizedProducts.h"

#include "ElementTypes.h"
#include "hone/Analysis/Cost/CodeProducts.h"
#include "hone/Analysis/Cost/QuantizationGain.h"
#include "hone/Transforms/Precision/ProductSizes.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static StringRef policyOf(Fp8Scaling scaling) {
  static constexpr StringLiteral policies[] = {"fp8", "fp8-block", "mxfp8"};
  return policies[size_t(scaling)];
}

/// "--precision=fp8 or --precision=mxfp8": what an architecture has.
static std::string listPolicies(int arch) {
  std::string list;
  for (Fp8Scaling scaling :
       {Fp8Scaling::tensor, Fp8Scaling::block, Fp8Scaling::mx})
    if (hasCodeProducts(scaling, arch))
      list += (list.empty() ? "--precision=" : " or --precision=") +
              policyOf(scaling).str();
  return list.empty() ? "--precision=bf16" : list;
}

LogicalResult hone::checkFp8Target(ModuleOp module, Fp8Scaling scaling) {
  StringRef policy = policyOf(scaling);
  if (isMeshInvariant(module))
    return module.emitError("policy is '")
           << policy
           << "', whose scales depend on how ranks divide rows, and the module "
              "asks for the same bits on any mesh; expected --precision=bf16 "
              "with --exact";
  FailureOr<TargetDescription> target = getTarget(module);
  if (failed(target))
    return failure();
  StringRef name = target->device().arch; // where the module names none
  if (!target->arch.empty())
    name = target->arch;
  int arch = numberOfArch(name);
  if (target->kind == TargetKind::CPU || hasCodeProducts(scaling, arch))
    return success();
  return module.emitError("policy is '")
         << policy << "', whose products sm_" << arch
         << " does not have; expected " << listPolicies(arch)
         << ", --target=cpu or --arch=sm_" << oldestArchOf(scaling);
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

/// What casts and moves make `value` of.
static Value stripMovers(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isMover(op) && !isa<CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The parameter that casts and moves make `value` of, or null.
static BlockArgument findParameter(func::FuncOp func, Value value) {
  auto arg = dyn_cast<BlockArgument>(stripMovers(value));
  if (!arg)
    return nullptr;
  bool isParameter =
      argString(func, arg.getArgNumber(), attr::kind) == kind::param;
  return isParameter ? arg : nullptr;
}

/// Products from which a path leads to the loss without another contraction.
static DenseSet<Operation *> findHeads(func::FuncOp func) {
  DenseSet<Operation *> heads, seen;
  SmallVector<Value> open = {func.front().getTerminator()->getOperand(0)};
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    auto facts = dyn_cast_or_null<HoneOpInterface>(op);
    if (!facts || !seen.insert(op).second)
      continue;
    if (facts.getNumericClass() == NumericClass::contraction)
      heads.insert(op);
    else
      llvm::append_range(open, op->getOperands());
  }
  return heads;
}

/// Whether a call of bf16 computes the GELU, and its gradient.
static bool isInCall(GeluOp gelu, Type element,
                     const TargetDescription &target) {
  Epilogues table = target.epilogues(element, element);
  return gelu.getApproximate() == GeluApproximation::tanh && table.geluAux &&
         table.geluBwd;
}

/// Whether the call of a library computes the op.
static bool isCall(Operation *op) {
  KernelFamily family = cast<HoneOpInterface>(op).getKernelFamily();
  return family == KernelFamily::attention ||
         family == KernelFamily::contraction;
}

/// What makes a product's input.
static CodeNeighbor neighborOfInput(Value input,
                                    const TargetDescription &target) {
  Operation *maker = stripMovers(input).getDefiningOp();
  if (maker && isCall(maker))
    return CodeNeighbor::call;
  if (!maker || !maker->hasTrait<OpTrait::Elementwise>() || !maker->hasOneUse())
    return CodeNeighbor::matrix;
  auto gelu = dyn_cast<GeluOp>(maker);
  return gelu && isInCall(gelu, elementOf(input), target) ? CodeNeighbor::gelu
                                                          : CodeNeighbor::map;
}

/// What reads a product's output. A sum hands its gradient on as it is, and a
/// bias needs sums of it: it is stored. A GELU costs most, whatever else reads.
static CodeNeighbor neighborOfOutput(Value output, Type element,
                                     const TargetDescription &target) {
  auto known = CodeNeighbor::map;
  for (Operation *reader : output.getUsers()) {
    CodeNeighbor own = CodeNeighbor::map;
    if (isMover(reader) || isa<CastOp>(reader))
      own = neighborOfOutput(reader->getResult(0), element, target);
    else if (auto gelu = dyn_cast<GeluOp>(reader))
      own = isInCall(gelu, element, target) ? CodeNeighbor::gelu : own;
    else if (auto add = dyn_cast<AddOp>(reader))
      own = neighborOfOutput(add, element, target) == CodeNeighbor::gelu
                ? CodeNeighbor::gelu
                : CodeNeighbor::matrix;
    else if (!reader->hasTrait<OpTrait::Elementwise>())
      own = isa<HoneOpInterface>(reader) && isCall(reader)
                ? CodeNeighbor::call
                : CodeNeighbor::matrix;
    if (own == CodeNeighbor::gelu)
      return own;
    if (own != CodeNeighbor::map)
      known = own;
  }
  return known;
}

namespace {
/// Decides about the products of one function.
class Marker {
public:
  Marker(func::FuncOp func, Fp8Scaling scaling, llvm::GlobPattern keep,
         const TargetDescription &target, const MarkOptions &options)
      : func(func), scaling(scaling), keep(std::move(keep)), target(target),
        options(options), heads(findHeads(func)) {}

  void run();
  bool hasKept() const { return keptOne; }

private:
  void visit(DotGeneralOp dot);
  std::string whyNot(DotGeneralOp dot, BlockArgument parameter,
                     bool isWeightLast);
  bool isKept(BlockArgument parameter);

  func::FuncOp func;
  Fp8Scaling scaling;
  llvm::GlobPattern keep;
  const TargetDescription &target;
  const MarkOptions &options;
  DenseSet<Operation *> heads;
  bool keptOne = false;
};
} // namespace

/// Whether the pattern matches the parameter's name, or that of a part.
bool Marker::isKept(BlockArgument parameter) {
  unsigned index = parameter.getArgNumber();
  if (keep.match(argString(func, index, attr::fqn)))
    return true;
  auto parts = func.getArgAttrOfType<ArrayAttr>(index, attr::parts);
  return parts && llvm::any_of(parts.getAsRange<PartAttr>(), [&](PartAttr p) {
           return keep.match(p.getName().getValue());
         });
}

/// Why the product stays as it is, in words; "" if it does not.
std::string Marker::whyNot(DotGeneralOp dot, BlockArgument parameter,
                           bool isWeightLast) {
  if (heads.contains(dot))
    return "the loss reads it without another product";
  if (!dot.getLhsBatch().empty())
    return "it has batch dimensions";
  if (isKept(parameter)) {
    keptOne = true;
    return "--fp8-keep names its parameter";
  }
  ProductSizes sizes = sizesOf(dot);
  if (std::optional<int64_t> size = sizes.oddSize())
    return llvm::formatv("a size is {0}, no multiple of {1}", *size,
                         fp8Multiple);
  QuantizedWeight weight = {sizes.depth,
                            isWeightLast ? sizes.columns : sizes.rows};
  Value input = isWeightLast ? dot.getLhs() : dot.getRhs();
  weight.input = neighborOfInput(input, target);
  weight.output = neighborOfOutput(dot, elementOf(input), target);
  if (target.kind == TargetKind::CUDA && !options.small &&
      quantizationGain(target, weight, scaling) < 0)
    return llvm::formatv("codes of a weight [{0}, {1}] cost more than they "
                         "save",
                         weight.n, weight.k);
  return "";
}

void Marker::visit(DotGeneralOp dot) {
  BlockArgument left = findParameter(func, dot.getLhs());
  BlockArgument right = findParameter(func, dot.getRhs());
  if (!left == !right || !elementOf(dot.getLhs()).isBF16())
    return;
  std::string why = whyNot(dot, left ? left : right, bool(right));
  if (why.empty())
    return dot.setQuantizedAttr(QuantizedAttr::get(
        func.getContext(), scaling,
        left ? FactorRole::weight : FactorRole::activation,
        right ? FactorRole::weight : FactorRole::activation));
  if (options.report)
    dot.emitRemark("stays bf16: ") << why;
}

void Marker::run() {
  for (auto dot : func.front().getOps<DotGeneralOp>())
    visit(dot);
}

LogicalResult hone::markProducts(func::FuncOp forward, Fp8Scaling scaling,
                                 const MarkOptions &options) {
  auto module = forward->getParentOfType<ModuleOp>();
  llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(
      options.keep, /*MaxSubPatterns=*/1024); // "" matches no name
  if (!pattern)
    return module.emitError("fp8-keep is '")
           << options.keep << "', expected a glob pattern as layers.{0,31}.*: "
           << llvm::toString(pattern.takeError());
  FailureOr<TargetDescription> target = getTarget(module);
  if (failed(target))
    return failure();
  Marker marker(forward, scaling, std::move(*pattern), *target, options);
  marker.run();
  if (options.keep.empty() || marker.hasKept())
    return success();
  return module.emitError("fp8-keep is '")
         << options.keep << "', which matches no parameter of a product";
}

LogicalResult hone::verifyMarks(func::FuncOp forward,
                                std::optional<Fp8Scaling> scaling) {
  for (auto dot : forward.front().getOps<DotGeneralOp>()) {
    QuantizedAttr mark = dot.getQuantizedAttr();
    if (!mark)
      continue;
    if (!scaling || mark.getScaling() != *scaling)
      return dot.emitOpError("is marked ")
             << mark << ", expected "
             << (scaling ? "the policy's scaling"
                         : "none: hone.precision is no policy of fp8");
    bool isWeightLast = mark.getRhs() == FactorRole::weight;
    FactorRole other = isWeightLast ? mark.getLhs() : mark.getRhs();
    if ((!isWeightLast && mark.getLhs() != FactorRole::weight) ||
        other != FactorRole::activation)
      return dot.emitOpError("is marked ")
             << mark << ", expected an activation and a weight";
  }
  return success();
}
