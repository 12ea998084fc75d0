//===- Plan.cpp - Which dimensions pay to pad -----------------------------===//

#include "hone/Analysis/Padding/Plan.h"

#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace hone;

// A weight takes part in three products per step: its own, and those of the
// gradients of both operands. A value is written once and read about five times
// by forward, backward and update.
static constexpr double productsPerStep = 3, passesPerStep = 6;
// Of the time of the products; a smaller saving is lost in what the model
// leaves out.
static constexpr double leastSaving = 0.005;

static bool isContraction(Operation *op) {
  auto facts = dyn_cast<HoneOpInterface>(op);
  return facts && facts.getNumericClass() == NumericClass::contraction;
}

static int64_t sizeOf(const Dimension &dimension) {
  return cast<RankedTensorType>(dimension.value.getType())
      .getDimSize(dimension.dim);
}

namespace {
class Planner {
public:
  Planner(func::FuncOp forward, const DimensionClasses &classes,
          const TargetDescription &target, const PaddingOptions &options)
      : forward(forward), classes(classes), target(target), options(options) {}

  PaddingPlan run();

private:
  llvm::SmallSetVector<unsigned, 8> candidates();
  void decide(unsigned id);
  std::string whyNotArguments(unsigned id);
  std::string whyNotParts(unsigned id, int64_t size);
  double productSeconds(unsigned id);
  double saving(unsigned id, int64_t from, int64_t to);
  int64_t bestSize(unsigned id, int64_t from);
  std::string nameOf(unsigned id);
  void note(Operation *where, const llvm::Twine &text) {
    plan.notes.push_back({where, text.str()});
  }

  func::FuncOp forward;
  const DimensionClasses &classes;
  const TargetDescription &target;
  const PaddingOptions &options;
  PaddingPlan plan;
};
} // namespace

/// Classes along which rows of a contraction's operand or result run.
llvm::SmallSetVector<unsigned, 8> Planner::candidates() {
  llvm::SmallSetVector<unsigned, 8> ids;
  for (Operation &op : forward.front()) {
    if (!isContraction(&op))
      continue;
    auto consider = [&](Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      if (type.getRank() != 0 && isa<FloatType>(type.getElementType()))
        ids.insert(classes.find(value, type.getRank() - 1));
    };
    llvm::for_each(op.getOperands(), consider);
    llvm::for_each(op.getResults(), consider);
  }
  return ids;
}

/// The parameter that gives the class its name in notes, and where in it.
std::string Planner::nameOf(unsigned id) {
  for (const Dimension &member : classes.members(id))
    if (auto argument = dyn_cast<BlockArgument>(member.value))
      return llvm::formatv(
          "dimension {0} of '{1}'", member.dim,
          argString(forward, argument.getArgNumber(), attr::fqn));
  return llvm::formatv("dimension {0} of this value",
                       classes.members(id).front().dim);
}

/// Why the arguments of the class cannot be padded; empty: they can.
std::string Planner::whyNotArguments(unsigned id) {
  bool hasParameter = false;
  for (const Dimension &member : classes.members(id)) {
    auto argument = dyn_cast<BlockArgument>(member.value);
    if (!argument)
      continue;
    unsigned index = argument.getArgNumber();
    StringRef kind = argString(forward, index, attr::kind);
    std::string name =
        llvm::formatv("'{0}'", argString(forward, index, attr::fqn));
    if (kind != kind::param && kind != kind::buffer)
      return "it is the size of " + kind.str() + " " + name;
    auto init = forward.getArgAttrOfType<DictionaryAttr>(index, attr::init);
    if (init && init.get("data"))
      return "the executable holds the value of " + name;
    hasParameter |= kind == kind::param;
  }
  return hasParameter ? "" : "it comes from no parameter";
}

/// Why the parts that a user asks for cannot be parts of `size` elements;
/// empty: they can.
std::string Planner::whyNotParts(unsigned id, int64_t size) {
  for (const Dimension &member : classes.members(id)) {
    dist::ShardingAttr sharding = dist::annotationOf(member.value);
    if (!sharding)
      continue;
    dist::Mesh mesh(
        *forward->getParentOfType<ModuleOp>().getOps<dist::MeshOp>().begin());
    dist::DimShards shards = toSharding(sharding, mesh).dims[member.dim];
    if (!dist::dividesEvenly(shards, size, mesh))
      return llvm::formatv("{0} elements have no {1} equal parts, as its "
                           "sharding wants",
                           size, mesh.count(shards.axes));
  }
  return "";
}

/// Seconds per step of the products along the class, were they aligned.
double Planner::productSeconds(unsigned id) {
  double flops = 0;
  for (Operation *op : classes.users(id))
    if (isContraction(op))
      flops += double(cast<HoneOpInterface>(op).getCost().flops);
  return productsPerStep * flops / target.matmulFlopsPerSecond(options.element);
}

/// Seconds per step that the size `to` saves over `from`.
double Planner::saving(unsigned id, int64_t from, int64_t to) {
  double growth = double(to) / double(from);
  auto slowness = [&](int64_t size) {
    double ofCodes = size % options.codeMultiple == 0 ? 1 : 2;
    return ofCodes + target.misalignment(options.element, size);
  };
  double before = slowness(from), after = slowness(to);
  double seconds = productSeconds(id) * (before - growth * after);
  double bytes = 0;
  Value last;
  for (const Dimension &member : classes.members(id)) {
    bool isView = false;
    if (auto op = member.value.getDefiningOp<HoneOpInterface>())
      isView = op.getKernelFamily() == KernelFamily::view;
    if (member.value != last && !isView)
      bytes += double(byteSize(member.value.getType())) * (growth - 1);
    last = member.value;
  }
  return seconds - passesPerStep * bytes / target.bytesPerSecond();
}

/// The size that saves most, of the multiples down to the library's smallest.
int64_t Planner::bestSize(unsigned id, int64_t from) {
  if (options.multiple > 0)
    return llvm::alignTo(from, options.multiple);
  int64_t best = from;
  double most = leastSaving * productSeconds(id);
  for (int64_t multiple = target.paddingMultiple(options.element); multiple > 1;
       multiple /= 2) {
    int64_t to = llvm::alignTo(from, multiple);
    if (double saved = saving(id, from, to); to != from && saved > most) {
      most = saved;
      best = to;
    }
  }
  return best;
}

void Planner::decide(unsigned id) {
  int64_t from = sizeOf(classes.members(id).front());
  int64_t multiple = options.multiple > 0
                         ? options.multiple
                         : target.paddingMultiple(options.element);
  if (from == 0 || from % multiple == 0)
    return;
  std::string name = nameOf(id);
  std::string start = llvm::formatv("{0} ({1}) is not padded: ", name, from);
  Operation *source = classes.members(id).front().value.getDefiningOp();
  if (std::string why = whyNotArguments(id); !why.empty())
    return note(source ? source : forward, start + why);
  PaddingEffects effects = findPaddingEffects(classes, id, from);
  if (effects.refuser)
    return note(effects.refuser, start + "this is " + effects.refusal);
  int64_t to = bestSize(id, from);
  if (to == from) {
    int64_t expected = llvm::alignTo(from, multiple);
    double saved = saving(id, from, expected);
    std::string what =
        saved < 0 ? llvm::formatv("take {0:f1} us more", -1e6 * saved).str()
                  : llvm::formatv("save {0:f2} % of its products' time only",
                                  1e2 * saved / productSeconds(id))
                        .str();
    return note(
        forward,
        start + llvm::formatv("{0} elements would {1}", expected, what).str());
  }
  if (std::string why = whyNotParts(id, to); !why.empty())
    return note(forward, start + why);
  std::string why = options.multiple > 0
                        ? llvm::formatv("a multiple of {0}", multiple).str()
                        : llvm::formatv("which saves {0:f1} us per step",
                                        1e6 * saving(id, from, to))
                              .str();
  note(forward, llvm::formatv("{0} is padded from {1} to {2}, {3}; {4} masks, "
                              "{5} widths",
                              name, from, to, why, effects.masks.size(),
                              effects.widths.size())
                    .str());
  plan.classes.push_back({id, from, to, std::move(effects)});
}

PaddingPlan Planner::run() {
  for (unsigned id : candidates())
    decide(id);
  return std::move(plan);
}

PaddingPlan hone::planPadding(func::FuncOp forward,
                              const DimensionClasses &classes,
                              const TargetDescription &target,
                              const PaddingOptions &options) {
  return Planner(forward, classes, target, options).run();
}
