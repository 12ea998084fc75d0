//===- TensorParallel.cpp - Weights that a tensor axis divides ------------===//
//
// Megatron's pairs of weights (Shoeybi et al., 2019) and sequence parallelism
// (Korthikanti et al., 2022), found by what the ops do with the weights.
//
//===----------------------------------------------------------------------===//

#include "TensorParallel.h"

#include "SplitClasses.h"
#include "hone/Dist/Propagation.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

bool dist::isParameter(func::FuncOp func, unsigned index) {
  StringRef kind = argString(func, index, attr::kind);
  return kind == kind::param || kind == kind::shadow;
}

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

static DimAttr dimOf(MLIRContext *context, ArrayRef<StringAttr> axes,
                     int64_t priority = 0, bool isOpen = false,
                     ArrayRef<int64_t> cuts = {}) {
  return DimAttr::get(context, axes, cuts, isOpen, priority);
}

static ShardingAttr shardingOf(MLIRContext *context, ArrayRef<DimAttr> dims) {
  return ShardingAttr::get(context, dims, {}, ReduceKind::sum);
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

/// The divisible classes that weights have a dimension in.
static llvm::DenseSet<unsigned> classesOfWeights(func::FuncOp func,
                                                 const SplitClasses &classes) {
  llvm::DenseSet<unsigned> found;
  for (BlockArgument arg : func.getArguments()) {
    // Of a parameter and its copy in another type often one is read.
    if (!isParameter(func, arg.getArgNumber()) || arg.use_empty() ||
        rankOf(arg) < 2)
      continue;
    for (int64_t dim = 0; dim != rankOf(arg); ++dim)
      if (unsigned id = classes.find(arg, dim); classes.isDivisible(id))
        found.insert(id);
  }
  return found;
}

FailureOr<FeatureShards>
dist::divideFeatures(func::FuncOp func, StringAttr axis, const Mesh &mesh) {
  MLIRContext *context = func.getContext();
  FailureOr<SplitClasses> classes =
      SplitClasses::of(func, mesh[*mesh.find(axis.getValue())].size);
  if (failed(classes))
    return failure();
  llvm::DenseSet<unsigned> chosen = classesOfWeights(func, *classes);
  // Open, so that propagation finds the cuts.
  for (BlockArgument arg : func.getArguments()) {
    if (!isParameter(func, arg.getArgNumber()))
      continue;
    SmallVector<DimAttr> dims(rankOf(arg), dimOf(context, {}, 0, true));
    for (auto [dim, attr] : llvm::enumerate(dims))
      if (chosen.contains(classes->find(arg, dim))) {
        attr = dimOf(context, axis, tensorPriority, true);
        break;
      }
    func.setArgAttr(arg.getArgNumber(), shardingAttr,
                    shardingOf(context, dims));
  }
  FailureOr<Propagation> spread = Propagation::run(func, mesh);
  FeatureShards features;
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (!isParameter(func, index))
      continue;
    func.removeArgAttr(index, shardingAttr);
    if (failed(spread) || arg.use_empty())
      continue;
    SmallVector<DimAttr> &dims = features[argString(func, index, attr::fqn)];
    if (!dims.empty())
      continue;
    for (const DimShards &shards : spread->of(arg).dims)
      dims.push_back(shards.isWhole() ? dimOf(context, {})
                                      : dimOf(context, axis, tensorPriority,
                                              false, shards.cuts));
  }
  if (failed(spread))
    return failure();
  return features;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

namespace {
/// Constrains sums of one function to parts of its sequences.
class SequenceDivider {
public:
  SequenceDivider(func::FuncOp func, const SplitClasses &classes,
                  StringAttr axis, int64_t parts,
                  ArrayRef<StringAttr> batchAxes)
      : func(func), classes(classes), axis(axis), parts(parts),
        batchAxes(batchAxes) {}

  void run();

private:
  bool findInput();
  llvm::DenseSet<unsigned> dividedClasses();
  void constrain(Value value);

  func::FuncOp func;
  const SplitClasses &classes;
  StringAttr axis;
  int64_t parts;
  ArrayRef<StringAttr> batchAxes;
  unsigned batch = 0, positions = 0; ///< classes of an input's dimensions
};
} // namespace

/// Finds the classes of the batch and of positions; false where no input has
/// both.
bool SequenceDivider::findInput() {
  for (BlockArgument arg : func.getArguments())
    if (argString(func, arg.getArgNumber(), attr::kind) == kind::input &&
        rankOf(arg) >= 2) {
      batch = classes.find(arg, 0);
      positions = classes.find(arg, 1);
      return true;
    }
  return false;
}

llvm::DenseSet<unsigned> SequenceDivider::dividedClasses() {
  llvm::DenseSet<unsigned> divided;
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (!isParameter(func, index))
      continue;
    auto attr = func.getArgAttrOfType<ShardingAttr>(index, shardingAttr);
    for (auto [dim, own] : llvm::enumerate(attr.getDims()))
      if (llvm::is_contained(own.getAxes(), axis))
        divided.insert(classes.find(arg, dim));
  }
  return divided;
}

/// Divides the rows of `value`, if it has rows of a batch of sequences.
void SequenceDivider::constrain(Value value) {
  MLIRContext *context = func.getContext();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<DimAttr> dims;
  bool isDivided = false;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    unsigned id = classes.find(value, dim);
    bool isSequence = id == positions && size % parts == 0;
    isDivided |= isSequence;
    dims.push_back(id == batch  ? dimOf(context, batchAxes)
                   : isSequence ? dimOf(context, axis, sequencePriority)
                                : dimOf(context, {}));
  }
  if (!isDivided)
    return;
  OpBuilder builder(context);
  builder.setInsertionPointAfterValue(value);
  auto constrained = builder.create<ConstrainOp>(value.getLoc(), type, value,
                                                 shardingOf(context, dims));
  value.replaceAllUsesExcept(constrained, constrained);
}

void SequenceDivider::run() {
  llvm::DenseSet<unsigned> divided = dividedClasses();
  if (divided.empty() || !findInput())
    return;
  SmallVector<Value> sums;
  for (Operation &op : func.getBody().front().without_terminator())
    if (classes.combines(&op, divided))
      sums.push_back(op.getResult(0));
  llvm::for_each(sums, [&](Value sum) { constrain(sum); });
}

LogicalResult dist::divideSequence(func::FuncOp func, StringAttr axis,
                                   ArrayRef<StringAttr> batchAxes,
                                   const Mesh &mesh) {
  int64_t parts = mesh[*mesh.find(axis.getValue())].size;
  FailureOr<SplitClasses> classes = SplitClasses::of(func, parts);
  if (failed(classes))
    return failure();
  SequenceDivider(func, *classes, axis, parts, batchAxes).run();
  return success();
}
