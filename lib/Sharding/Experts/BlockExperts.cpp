//===- BlockExperts.cpp - Mixtures of experts in blocks -------------------===//

#include "ExpertTraffic.h"
#include "hone/IR/DroppedRows.h"
#include "hone/IR/IndexedOps.h"
#include "hone/IR/Locations.h"
#include "hone/Sharding/IR/Sharding.h"
#include "hone/Sharding/Passes.h"
#include "hone/Sharding/Propagate/Recipe.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace hone {
#define GEN_PASS_DEF_DISTBLOCKEXPERTS
#include "hone/Sharding/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;
using namespace hone::dist;

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks of ids that are within their tables by construction: the values that
/// they read are needed no longer.
static void dropProvenChecks(func::FuncOp func,
                             const RoutingAnalysis &routing) {
  Operation *end = func.front().getTerminator();
  for (OpOperand &result : end->getOpOperands()) {
    auto kind = func.getResultAttrOfType<StringAttr>(result.getOperandNumber(),
                                                     attr::kind);
    if (!kind || kind.getValue() != kind::idCheck)
      continue;
    std::optional<RoutedValue> value = routing.lookup(result.get());
    if (!value || !value->isConstant() || value->low != 0)
      continue;
    OpBuilder builder(end);
    auto type = llvm::cast<RankedTensorType>(result.get().getType());
    result.set(builder.create<ConstantOp>(
        result.get().getLoc(),
        DenseElementsAttr::get(type, Attribute(builder.getIntegerAttr(
                                         type.getElementType(), 0)))));
  }
}

static void eraseUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// "model.layers.0.mlp at FILE:LINE:COL": the module that the user named, and
/// where.
static std::string describePlace(Location loc) {
  std::string name;
  loc->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner); named && name.empty())
      name = named.getName().str();
    return WalkResult::advance();
  });
  std::string place = describeLocation(loc);
  if (name.empty() || place == name)
    return place;
  return place.empty() ? name : name + " at " + place;
}

/// Adds a count of dropped rows to the results of `func`.
static void addDropped(func::FuncOp func, Value count, DictionaryAttr fact) {
  Operation *end = func.front().getTerminator();
  Builder b(func.getContext());
  size_t number = findResults(func, kind::dropped).size();
  unsigned index = end->getNumOperands();
  end->insertOperands(index, count);
  func.insertResult(
      index, count.getType(),
      b.getDictionaryAttr(
          {b.getNamedAttr(attr::kind, b.getStringAttr(kind::dropped)),
           b.getNamedAttr(attr::fqn,
                          b.getStringAttr("dropped." + Twine(number))),
           b.getNamedAttr(attr::dropped, fact)}));
}

namespace {
/// What was taken for all mixtures of a function, and what both send.
struct Lowering {
  bool isExchange = false;
  double factor = 0, enough = 0;
  ExpertTraffic gather, exchange;
};

struct DistBlockExperts : hone::impl::DistBlockExpertsBase<DistBlockExperts> {
  using DistBlockExpertsBase::DistBlockExpertsBase;

  void runOnOperation() override {
    if (failed(checkOptions()))
      return signalPassFailure();
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(divide(func)))
        return signalPassFailure();
  }

private:
  LogicalResult checkOptions();
  LogicalResult divide(func::FuncOp func);
  FailureOr<SmallVector<Mixture>> findMixtures(func::FuncOp func,
                                               const RoutingAnalysis &routing);
  LogicalResult check(const Mixture &mixture, Operation *op);
  FailureOr<Group> linksOfGroups();
  FailureOr<Lowering> choose(func::FuncOp func, ArrayRef<Mixture> mixtures);
  LogicalResult checkExact(func::FuncOp func, const Lowering &chosen);
  void record(func::FuncOp func, const Lowering &chosen);
  Value build(func::FuncOp func, const Mixture &mixture,
              const Lowering &chosen);

  MixtureParts parts() const { return {groups, blocks}; }
};
} // namespace

LogicalResult DistBlockExperts::checkOptions() {
  auto expect = [&](bool isRight, const Twine &text) -> LogicalResult {
    return isRight ? success() : getOperation().emitError(text);
  };
  return success(
      succeeded(expect(groups >= 1 && blocks >= 1,
                       "groups is " + Twine(groups) + " and blocks " +
                           Twine(blocks) + ", expected at least 1")) &&
      succeeded(
          expect(llvm::is_contained({"gather", "all-to-all", "auto"}, lowering),
                 "lowering is '" + Twine(lowering) +
                     "', expected gather, all-to-all or auto")) &&
      succeeded(expect(overflow == "drop" || overflow == "error",
                       "overflow is '" + Twine(overflow) +
                           "', expected drop or error")) &&
      succeeded(expect(factor >= 0, "factor is negative, expected a number "
                                    "above 0, or 0 for 1.25")));
}

LogicalResult DistBlockExperts::check(const Mixture &mixture, Operation *op) {
  int64_t ranks = groups * blocks;
  int64_t tokens = mixture.slots() / mixture.slotsPerToken;
  if (mixture.experts % groups != 0)
    return op->emitError() << "has " << mixture.experts
                           << " experts, expected a multiple of "
                           << int64_t(groups) << ", the ranks along axis ep";
  if (tokens % ranks != 0)
    return op->emitError() << "has " << tokens
                           << " tokens, expected a multiple of " << ranks
                           << ", the ranks that share the batch";
  return success();
}

FailureOr<SmallVector<Mixture>>
DistBlockExperts::findMixtures(func::FuncOp func,
                               const RoutingAnalysis &routing) {
  SmallVector<Mixture> mixtures;
  llvm::SmallPtrSet<Operation *, 8> seen;
  for (auto product : func.getOps<GroupedDotOp>()) {
    if (seen.contains(product))
      continue;
    std::variant<Mixture, MixtureProblem> found = findMixture(product, routing);
    if (auto *problem = std::get_if<MixtureProblem>(&found)) {
      if (groups == 1) // every rank computes all rows
        continue;
      InFlightDiagnostic error = product.emitError(
          "is in no mixture of experts that axis ep can divide");
      error.attachNote(problem->op->getLoc())
          << "expected " << problem->expected << " at this '"
          << problem->op->getName() << "'";
      return error;
    }
    auto &mixture = std::get<Mixture>(found);
    seen.insert(mixture.ops.begin(), mixture.ops.end());
    // dist-annotate reports a batch that its ranks cannot share.
    if (groups == 1 && mixture.slots() / mixture.slotsPerToken % blocks != 0)
      continue;
    if (failed(check(mixture, product)))
      return failure();
    mixtures.push_back(std::move(mixture));
  }
  return mixtures;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The ranks along axis ep of the option `mesh`; without one, of a host.
FailureOr<Group> DistBlockExperts::linksOfGroups() {
  FailureOr<Network> network = Network::of(getOperation());
  if (failed(network))
    return failure();
  SmallVector<Mesh::Axis> axes;
  for (StringRef text : llvm::split(mesh, ',')) {
    if (mesh.empty())
      break;
    llvm::Expected<AxisText> axis = parseAxis(text);
    if (!axis)
      return getOperation().emitError()
             << "mesh has axis " << llvm::toString(axis.takeError());
    axes.push_back({axis->name.str(), axis->size, axis->link.str()});
  }
  if (axes.empty())
    axes.push_back({"ep", groups, ""});
  Mesh all(axes, *network);
  std::optional<unsigned> axis = all.find("ep");
  return axis ? all.group({*axis}) : Group();
}

FailureOr<Lowering> DistBlockExperts::choose(func::FuncOp func,
                                             ArrayRef<Mixture> mixtures) {
  constexpr double defaultFactor = 1.25;
  Lowering chosen;
  chosen.factor = factor == 0 ? defaultFactor : double(factor);
  FailureOr<Group> group = linksOfGroups();
  if (failed(group))
    return failure();
  for (const Mixture &mixture : mixtures) {
    chosen.enough = std::max(chosen.enough, safeFactor(mixture, parts()));
    chosen.gather += trafficOfGather(mixture, parts(), *group);
    chosen.exchange += trafficOfExchange(
        mixture, parts(), capacityOf(mixture, parts(), chosen.factor), *group);
  }
  // What may drop is not taken unless it is asked for.
  bool isLess = mesh.empty() ? chosen.exchange.bytes < chosen.gather.bytes
                             : chosen.exchange.seconds < chosen.gather.seconds;
  chosen.isExchange =
      lowering == "all-to-all" ||
      (lowering == "auto" && factor != 0 && !isMeshInvariant(func) && isLess);
  return chosen;
}

LogicalResult DistBlockExperts::checkExact(func::FuncOp func,
                                           const Lowering &chosen) {
  if (!chosen.isExchange || !isMeshInvariant(func) ||
      chosen.factor >= chosen.enough)
    return success();
  return func.emitError()
         << "is mesh-invariant (--exact), and an all-to-all of experts may "
            "drop rows, which depends on the mesh: expected "
            "--recipe=ep-gather, which drops none, or --moe-factor="
         << llvm::formatv("{0:F2}", chosen.enough).str()
         << ", which has room for any routing";
}

void DistBlockExperts::record(func::FuncOp func, const Lowering &chosen) {
  Builder b(&getContext());
  auto traffic = [&](const ExpertTraffic &figures) {
    return b.getDictionaryAttr(
        {b.getNamedAttr("bytes", b.getI64IntegerAttr(int64_t(figures.bytes))),
         b.getNamedAttr("seconds", b.getF64FloatAttr(figures.seconds))});
  };
  StringRef name = chosen.isExchange ? "all-to-all" : "gather";
  getOperation()->setAttr(
      expertsAttr,
      b.getDictionaryAttr(
          {b.getNamedAttr("lowering", b.getStringAttr(name)),
           b.getNamedAttr("factor", b.getF64FloatAttr(chosen.factor)),
           b.getNamedAttr("enough", b.getF64FloatAttr(chosen.enough)),
           b.getNamedAttr("gather", traffic(chosen.gather)),
           b.getNamedAttr("all_to_all", traffic(chosen.exchange))}));
  if (report)
    emitRemark(func.getLoc())
        << "experts by " << name << ": ep-gather sends "
        << int64_t(chosen.gather.bytes) << " bytes along ep, ep-all-to-all "
        << int64_t(chosen.exchange.bytes);
}

//===----------------------------------------------------------------------===//
// A function
//===----------------------------------------------------------------------===//

Value DistBlockExperts::build(func::FuncOp func, const Mixture &mixture,
                              const Lowering &chosen) {
  if (!chosen.isExchange)
    return buildGathered(mixture, parts());
  ExchangedMixture made = buildExchanged(
      mixture, parts(), capacityOf(mixture, parts(), chosen.factor));
  if (!made.dropped)
    return made.sums;
  Builder b(&getContext());
  Location loc = mixture.tail.front()->getLoc();
  addDropped(
      func, made.dropped,
      b.getDictionaryAttr(
          {b.getNamedAttr("source", b.getStringAttr(describePlace(loc))),
           b.getNamedAttr("rows", b.getI64IntegerAttr(mixture.slots())),
           b.getNamedAttr("factor", b.getF64FloatAttr(chosen.factor)),
           b.getNamedAttr("enough", b.getF64FloatAttr(chosen.enough)),
           b.getNamedAttr("stops", b.getBoolAttr(overflow == "error"))}));
  return made.sums;
}

LogicalResult DistBlockExperts::divide(func::FuncOp func) {
  RoutingAnalysis routing(func);
  FailureOr<SmallVector<Mixture>> mixtures = findMixtures(func, routing);
  if (failed(mixtures))
    return failure();
  if (mixtures->empty())
    return groups != 1 && func.getName() == "forward"
               ? func.emitError("has no products of groups of rows "
                                "(hone.grouped_dot), expected experts for axis "
                                "ep")
               : success();
  Lowering chosen;
  if (groups != 1) {
    FailureOr<Lowering> found = choose(func, *mixtures);
    if (failed(found) || failed(checkExact(func, *found)))
      return failure();
    chosen = *found;
    record(func, chosen);
  }
  for (const Mixture &mixture : *mixtures)
    mixture.tail.back()->getResult(0).replaceAllUsesWith(
        build(func, mixture, chosen));
  dropProvenChecks(func, routing);
  eraseUnused(func.front());
  return success();
}
