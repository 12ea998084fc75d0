//===- TensorParallel.cpp - Weights that a tensor axis divides ------------===//
//
// Megatron's pairs of weights (Shoeybi et al., 2019) and sequence parallelism
// (Korthikanti et al., 2022), found by what the ops do with the weights.
//
//===----------------------------------------------------------------------===//

#include "TensorParallel.h"

#include "ContextParallel.h"
#include "Propagation.h"
#include "SplitClasses.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace hone;
using namespace hone::dist;

bool dist::isParameter(func::FuncOp func, unsigned index) {
  StringRef kind = argString(func, index, attr::kind);
  return kind == kind::param || kind == kind::workingCopy;
}

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

static DimAttr dimOf(MLIRContext *context, ArrayRef<StringAttr> axes,
                     int64_t priority = 0, bool isOpen = false,
                     ArrayRef<int64_t> cuts = {}) {
  return DimAttr::get(context, axes, cuts, isOpen, priority);
}

static Axes numbersOf(ArrayRef<StringAttr> names, const Mesh &mesh) {
  Axes axes;
  for (StringAttr name : names)
    axes.push_back(*mesh.find(name.getValue()));
  return axes;
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

int64_t dist::ranksOfKeyHeads(func::FuncOp func, int64_t ranks) {
  int64_t most = 1; // of one key head all ranks have copies
  func.walk([&](AttentionOp op) {
    auto heads = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getDimSize(2);
    };
    int64_t keys = heads(op.getKey());
    if (heads(op.getQuery()) % ranks == 0 && keys < ranks && ranks % keys == 0)
      most = std::max(most, keys);
  });
  return most == 1 ? ranks : most;
}

/// Whether a product reads `value`, or what only rearranges it.
static bool isReadByProduct(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<DotGeneralOp>(user) ||
           (isa<CastOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp>(user) &&
            isReadByProduct(user->getResult(0)));
  });
}

static std::string describeShape(Value value) {
  std::string text;
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

/// Why no dimension of `value` can be sharded in `parts`. A size that is not
/// divisible says more than an op that needs a dimension unsharded, as norms
/// do.
static std::string whyWhole(Value value, const SplitClasses &classes,
                            int64_t parts) {
  std::string uneven, held;
  for (int64_t dim = 0; dim != rankOf(value); ++dim) {
    unsigned id = classes.find(value, dim);
    Operation *holder = classes.holder(id);
    std::string place = "dimension " + std::to_string(dim);
    int64_t own = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    if (int64_t size = classes.unevenSize(id); size != 0 && own != 0)
      if (uneven.empty() && (size != own || !holder))
        uneven = place + (size == own ? " is " : " goes with one of size ") +
                 std::to_string(size) + ", no multiple of " +
                 std::to_string(parts);
    if (holder && held.empty())
      held = place + " is needed whole by '" +
             holder->getName().getStringRef().str() + "'";
  }
  return !uneven.empty() ? uneven
         : !held.empty() ? held
                         : "its products are divided otherwise";
}

static bool keepsCopies(Value value, const SplitClasses &classes) {
  return llvm::any_of(llvm::seq<int64_t>(0, rankOf(value)), [&](int64_t dim) {
    return classes.keepsCopies(classes.find(value, dim));
  });
}

/// Warns of weights of products that stay replicated, but for those of a key
/// head that all ranks share; an error if `features` shards none.
static LogicalResult checkFeatures(func::FuncOp func,
                                   const FeatureShards &features,
                                   const SplitClasses &classes, StringAttr axis,
                                   int64_t parts) {
  llvm::StringSet<> seen;
  SmallVector<std::string> wholes;
  bool isDivided = parts == 1;
  for (BlockArgument arg : func.getArguments()) {
    StringRef name = argString(func, arg.getArgNumber(), attr::fqn);
    auto dims = features.find(name);
    if (!isParameter(func, arg.getArgNumber()) || arg.use_empty() ||
        dims == features.end() || !seen.insert(name).second)
      continue;
    bool isWhole = llvm::all_of(
        dims->second, [](DimAttr dim) { return dim.getAxes().empty(); });
    isDivided |= !isWhole;
    if (isWhole && rankOf(arg) >= 2 && isReadByProduct(arg) &&
        !keepsCopies(arg, classes))
      wholes.push_back("'" + name.str() + "' (" + describeShape(arg) + ": " +
                       whyWhole(arg, classes, parts) + ")");
  }
  if (isDivided && (wholes.empty() || parts == 1))
    return success();
  constexpr size_t mostNamed = 3;
  size_t named = std::min(wholes.size(), mostNamed);
  std::string list = llvm::join(ArrayRef(wholes).take_front(named), ", ");
  if (named != wholes.size())
    list += " and " + std::to_string(wholes.size() - named) + " more";
  if (isDivided) {
    bool isOne = wholes.size() == 1;
    func.emitWarning() << "axis " << axis.getValue() << " of " << parts
                       << " ranks leaves " << wholes.size()
                       << (isOne ? " weight" : " weights")
                       << " whole, so that each rank computes with all of "
                       << (isOne ? "it: " : "them: ") << list;
    return success();
  }
  InFlightDiagnostic error = func.emitError()
                             << "axis " << axis.getValue() << " of " << parts
                             << " ranks divides none of " << seen.size()
                             << " parameters, expected a size that does";
  if (!list.empty())
    error << ": " << list;
  return failure();
}

FailureOr<FeatureShards> dist::divideFeatures(func::FuncOp func,
                                              ArrayRef<StringAttr> axes,
                                              const Mesh &mesh) {
  MLIRContext *context = func.getContext();
  Axes numbers = numbersOf(axes, mesh);
  FailureOr<SplitClasses> classes = SplitClasses::of(func, numbers, mesh);
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
        attr = dimOf(context, axes, tensorPriority, true);
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
    // Of `axes` a key head has the first.
    for (const DimShards &shards : spread->of(arg).dims)
      dims.push_back(shards.isWhole()
                         ? dimOf(context, {})
                         : dimOf(context, axes.take_front(shards.axes.size()),
                                 tensorPriority, false, shards.cuts));
  }
  if (failed(spread) ||
      failed(checkFeatures(func, features, *classes, axes.front(),
                           mesh.count(numbers))))
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
                  ArrayRef<StringAttr> axes, const InputAxes &inputs,
                  const Mesh &mesh)
      : func(func), classes(classes), axes(axes), inputs(inputs), mesh(mesh) {}

  /// False: there are none.
  bool run();

private:
  bool findInput();
  llvm::DenseSet<unsigned> dividedClasses();
  DimAttr dimOfSequence(int64_t size) const;
  bool constrain(Value value);

  func::FuncOp func;
  const SplitClasses &classes;
  ArrayRef<StringAttr> axes;
  const InputAxes &inputs;
  const Mesh &mesh;
  unsigned batch = 0, positions = 0; ///< classes of an input's dimensions
};
} // namespace

Value dist::findSequences(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments())
    if (argString(func, arg.getArgNumber(), attr::kind) == kind::input &&
        rankOf(arg) >= 2)
      return arg;
  return nullptr;
}

/// Finds the classes of the batch and of positions; false where no input has
/// both.
bool SequenceDivider::findInput() {
  Value input = findSequences(func);
  if (!input)
    return false;
  batch = classes.find(input, 0);
  positions = classes.find(input, 1);
  return true;
}

llvm::DenseSet<unsigned> SequenceDivider::dividedClasses() {
  llvm::DenseSet<unsigned> divided;
  for (BlockArgument arg : func.getArguments()) {
    unsigned index = arg.getArgNumber();
    if (!isParameter(func, index))
      continue;
    auto attr = func.getArgAttrOfType<ShardingAttr>(index, shardingAttr);
    for (auto [dim, own] : llvm::enumerate(attr.getDims()))
      if (llvm::is_contained(own.getAxes(), axes.front()))
        divided.insert(classes.find(arg, dim));
  }
  return divided;
}

/// How `size` positions are divided; null where they cannot be. Those that
/// another axis divides already stay open to it until the sequence's turn.
DimAttr SequenceDivider::dimOfSequence(int64_t size) const {
  SmallVector<StringAttr> all(axes);
  DimAttr dim;
  if (inputs.positions) {
    all.insert(all.begin(), inputs.positions);
    dim = zigzagOf(all, size, sequencePriority, /*isOpen=*/true);
  } else {
    dim = dimOf(axes.front().getContext(), all, sequencePriority);
  }
  DimShards shards = {numbersOf(all, mesh),
                      {dim.getCuts().begin(), dim.getCuts().end()},
                      dim.getSnake()};
  return dividesEvenly(shards, size, mesh) ? dim : DimAttr();
}

/// Divides the rows of `value`, if it has rows of a batch of sequences.
bool SequenceDivider::constrain(Value value) {
  MLIRContext *context = func.getContext();
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<DimAttr> dims;
  bool isDivided = false;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    unsigned id = classes.find(value, dim);
    DimAttr sequence = id == positions ? dimOfSequence(size) : DimAttr();
    isDivided |= bool(sequence);
    dims.push_back(id == batch ? dimOf(context, inputs.batch)
                   : sequence  ? sequence
                               : dimOf(context, {}));
  }
  if (!isDivided)
    return false;
  OpBuilder builder(context);
  builder.setInsertionPointAfterValue(value);
  auto constrained = builder.create<ConstrainOp>(value.getLoc(), type, value,
                                                 shardingOf(context, dims));
  value.replaceAllUsesExcept(constrained, constrained);
  return true;
}

bool SequenceDivider::run() {
  llvm::DenseSet<unsigned> divided = dividedClasses();
  if (divided.empty() || !findInput())
    return false;
  SmallVector<Value> sums;
  for (Operation &op : func.getBody().front().without_terminator())
    if (classes.combines(&op, divided))
      sums.push_back(op.getResult(0));
  bool isDivided = false;
  for (Value sum : sums)
    isDivided |= constrain(sum);
  return isDivided;
}

FailureOr<bool> dist::divideSequence(func::FuncOp func,
                                     ArrayRef<StringAttr> axes,
                                     const InputAxes &inputs,
                                     const Mesh &mesh) {
  Axes numbers = numbersOf(axes, mesh);
  FailureOr<SplitClasses> classes = SplitClasses::of(func, numbers, mesh);
  if (failed(classes))
    return failure();
  return SequenceDivider(func, *classes, axes, inputs, mesh).run();
}
