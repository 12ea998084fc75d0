//===- StreamWeights.cpp - Reads weights of the second arena by reloads ---===//

#include "MovedValues.h"
#include "StreamedWeights.h"

#include "hone/Analysis/Layout/Views.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace hone {
#define GEN_PASS_DEF_STREAMWEIGHTS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

static void addReadings(Value value, Readings &readings) {
  for (OpOperand &use : value.getUses()) {
    Operation *reader = use.getOwner();
    if (isViewOfOperand(reader))
      addReadings(reader->getResult(0), readings);
    else
      (isa<FusedOp>(reader) ? readings.kernels : readings.others)
          .push_back(&use);
  }
}

Readings hone::readingsOf(Value value) {
  Readings readings;
  addReadings(value, readings);
  return readings;
}

namespace {
/// A kernel reads a weight.
struct Reading {
  BlockArgument weight;
  OpOperand *use;
  int64_t layer, position; ///< the latter that of the kernel in its block
};

/// Rewrites one function.
class Streaming {
public:
  explicit Streaming(func::FuncOp func) : func(func), builder(func) {}

  void run();

private:
  SmallVector<Reading> findReadings();
  void stream(ArrayRef<Reading> visit);
  Value viewOf(Value original, Value reload);

  func::FuncOp func;
  OpBuilder builder;
  DenseMap<std::pair<Value, Value>, Value> views; ///< (original, reload)
  int64_t reloads = 0;
};
} // namespace

/// The number of the layer of a weight; nothing for other arguments.
static std::optional<int64_t> layerOf(func::FuncOp func, unsigned index) {
  auto layer = func.getArgAttrOfType<IntegerAttr>(index, layerAttr);
  return layer ? std::optional(layer.getInt()) : std::nullopt;
}

/// Whether the kernel of `use` makes the value that its function returns in
/// place of `weight`.
static bool isUpdate(func::FuncOp func, BlockArgument weight, OpOperand &use) {
  Operation *ret = func.front().getTerminator();
  return llvm::any_of(ret->getOpOperands(), [&](OpOperand &returned) {
    auto donor = func.getResultAttrOfType<IntegerAttr>(
        returned.getOperandNumber(), attr::donates);
    return donor && donor.getInt() == weight.getArgNumber() &&
           returned.get().getDefiningOp() == use.getOwner();
  });
}

/// In the order of the kernels.
SmallVector<Reading> Streaming::findReadings() {
  DenseMap<Operation *, int64_t> position;
  for (Operation &op : func.front())
    position.insert({&op, int64_t(position.size())});
  SmallVector<Reading> readings;
  for (BlockArgument argument : func.getArguments())
    if (auto layer = layerOf(func, argument.getArgNumber()))
      for (OpOperand *use : readingsOf(argument).kernels)
        if (!isReload(use->getOwner()) && !isUpdate(func, argument, *use))
          readings.push_back(
              {argument, use, *layer, position[use->getOwner()]});
  llvm::sort(readings, [](const Reading &a, const Reading &b) {
    return std::make_pair(a.position, a.use->getOperandNumber()) <
           std::make_pair(b.position, b.use->getOperandNumber());
  });
  return readings;
}

/// What `original`, a weight or a view of it, is of `reload`.
Value Streaming::viewOf(Value original, Value reload) {
  Operation *view = original.getDefiningOp();
  if (!view)
    return reload;
  if (Value known = views.lookup({original, reload}))
    return known;
  IRMapping mapping;
  mapping.map(view->getOperand(0), viewOf(view->getOperand(0), reload));
  Value made = builder.clone(*view, mapping)->getResult(0);
  views[{original, reload}] = made;
  return made;
}

/// Makes the reloads of a visit, each before the first kernel that reads it.
void Streaming::stream(ArrayRef<Reading> visit) {
  DenseMap<Value, Value> reloaded;
  for (const Reading &reading : visit) {
    builder.setInsertionPoint(reading.use->getOwner());
    Value &reload = reloaded[reading.weight];
    if (!reload) {
      FusedOp op = createReload(builder, reading.weight);
      // Equal reloads are not one value.
      op->setAttr(attr::clone, builder.getI64IntegerAttr(reloads++));
      reload = op.getResult(0);
    }
    reading.use->set(viewOf(reading.use->get(), reload));
  }
}

void Streaming::run() {
  SmallVector<Reading> readings = findReadings();
  for (size_t first = 0, next; first != readings.size(); first = next) {
    for (next = first + 1; next != readings.size(); ++next)
      if (readings[next].layer != readings[first].layer)
        break;
    stream(ArrayRef(readings).slice(first, next - first));
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.front())))
    if (isViewOfOperand(&op) && op.use_empty())
      op.erase();
}

void hone::streamWeights(func::FuncOp func) { Streaming(func).run(); }

func::FuncOp hone::withReloads(func::FuncOp func,
                               OwningOpRef<func::FuncOp> &copy) {
  bool hasWeights =
      llvm::any_of(func.getArguments(), [&](BlockArgument argument) {
        return layerOf(func, argument.getArgNumber()).has_value();
      });
  if (!hasWeights)
    return func;
  copy = func.clone();
  streamWeights(*copy);
  return *copy;
}

namespace {
struct StreamWeights : hone::impl::StreamWeightsBase<StreamWeights> {
  void runOnOperation() override { streamWeights(getOperation()); }
};
} // namespace
