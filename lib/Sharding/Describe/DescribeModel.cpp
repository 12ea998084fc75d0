//===- DescribeModel.cpp - A graph as a search for meshes sees it ---------===//

#include "hone/Sharding/Describe/DescribeModel.h"

#include "Sharding/Propagate/ContextParallel.h"
#include "Sharding/Stages/CutValues.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"

#include <numeric>

using namespace mlir;
using namespace hone;
using namespace hone::dist;
using search::Activations;

namespace {
/// How tensor parallelism divides a value: see search::Activations.
enum class Kind { Stream, Inner, Rows };

class Describer {
public:
  Describer(func::FuncOp forward, double elementBytes, double streamBytes)
      : forward(forward), origins(forward), elementBytes(elementBytes),
        streamBytes(streamBytes) {}

  FailureOr<search::Model> describe();

private:
  LogicalResult findSizes(const CutValues &found);
  void findUnits(ArrayRef<CutValue> cuts);

  // What values and ops are.
  bool isActivation(Value value) const;
  SmallVector<Value> activationsOf(Operation *op) const;
  Kind kindOf(Value value) const { return kinds.lookup(value); }
  Kind findKind(Operation *op) const;
  bool isJoined(Operation *op) const;
  bool readsWeight(DotGeneralOp op) const;

  // What units need.
  void addProducts(Operation *op, search::Unit &unit);
  void noteSums(Operation *op, search::Unit &unit);
  void addParameters();
  void joinMaps();
  void addMoved();
  void addSaved();
  bool isSummed(Value value) const;
  Activations bytesOf(Value value) const;
  Activations bytesOfOperand(Value value) const;
  Activations trafficOf(ArrayRef<Operation *> kernel) const;
  SmallVector<Value> sourcesOf(ArrayRef<Operation *> kernel) const;

  func::FuncOp forward;
  Origins origins;
  double elementBytes, streamBytes;
  search::Model model;
  int64_t width = 0; ///< of the stream
  DenseMap<Value, Kind> kinds;
  DenseSet<Value> partial; ///< sums along tp that are still to be done
  DenseMap<Operation *, size_t> unitOf;
  SmallVector<SmallVector<Operation *>>
      kernels; ///< norms, maps that are joined
  DenseMap<Operation *, size_t> kernelOf;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static int64_t lastSize(Value value) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  return shape.empty() ? 1 : shape.back();
}

/// Values between units are of one type, that of most places to cut at.
LogicalResult Describer::findSizes(const CutValues &found) {
  BlockArgument input;
  for (BlockArgument argument : forward.getArguments())
    if (!input &&
        argString(forward, argument.getArgNumber(), attr::kind) ==
            kind::input &&
        typeOf(argument).getRank() > 0)
      input = argument;
  if (!input)
    return forward.emitError("has no input of a batch, expected one, as a "
                             "search for a mesh divides it");
  model.sequences = typeOf(input).getShape().front();
  llvm::MapVector<Type, int64_t> counts;
  for (const CutValue &cut : found.cuts)
    ++counts[cut.value.getType()];
  auto *most = llvm::max_element(
      counts, [](auto &a, auto &b) { return a.second < b.second; });
  RankedTensorType stream;
  if (most != counts.end()) {
    stream = cast<RankedTensorType>(most->first);
  } else {
    // Nowhere to cut: the first product's operand is as wide as the stream.
    for (auto op : forward.getOps<DotGeneralOp>())
      if (!stream && isActivation(op.getLhs()))
        stream = typeOf(op.getLhs());
    if (!stream)
      return forward.emitError("has no product of an activation, expected one");
  }
  width = stream.getShape().back();
  model.positions =
      std::max<int64_t>(1, stream.getNumElements() / (model.sequences * width));
  model.boundaryBytes =
      double(stream.getNumElements()) * streamBytes / double(model.sequences);
  return success();
}

/// A unit has a product: what comes before the first one in the chain, as
/// embeddings and the last norm, belongs to the next unit.
void Describer::findUnits(ArrayRef<CutValue> cuts) {
  DenseSet<Operation *> ends;
  for (const CutValue &cut : cuts)
    if (lastSize(cut.value) == width &&
        typeOf(cut.value).getNumElements() ==
            model.sequences * model.positions * width)
      ends.insert(cut.last);
  bool hasProduct = false;
  model.units.emplace_back();
  for (Operation &op : forward.front().without_terminator()) {
    unitOf[&op] = model.units.size() - 1;
    hasProduct |= isa<DotGeneralOp, AttentionOp, GroupedDotOp>(op) &&
                  isActivation(op.getResult(0));
    if (hasProduct && ends.contains(&op)) {
      model.units.emplace_back();
      hasProduct = false;
    }
  }
  if (!hasProduct && model.units.size() > 1) {
    model.units.pop_back();
    for (auto &[op, unit] : unitOf)
      unit = std::min(unit, model.units.size() - 1);
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The value whose storage `value` is.
static Value stripViews(Value value) {
  while (Operation *maker = value.getDefiningOp()) {
    auto hone = dyn_cast<HoneOpInterface>(maker);
    bool isSame = hone && (hone.getKernelFamily() == KernelFamily::view ||
                           isa<CastOp>(maker));
    if (!isSame || maker->getNumOperands() != 1)
      break;
    value = maker->getOperand(0);
  }
  return value;
}

/// Whether each rank computes its part of `value`, and its bytes count: not of
/// what is made from parameters alone, as a table of positions.
bool Describer::isActivation(Value value) const {
  return origins.of(value) == Origin::Activation && origins.readsInput(value) &&
         isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

SmallVector<Value> Describer::activationsOf(Operation *op) const {
  SmallVector<Value> activations;
  for (Value operand : op->getOperands())
    if (isActivation(operand))
      activations.push_back(operand);
  return activations;
}

bool Describer::readsWeight(DotGeneralOp op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return origins.of(operand) == Origin::Weight;
  });
}

/// A product with a weight takes the stream to what tp divides, or that back.
Kind Describer::findKind(Operation *op) const {
  SmallVector<Value> operands = activationsOf(op);
  Value result = op->getResult(0);
  auto has = [&](Kind kind) {
    return llvm::any_of(operands,
                        [&](Value value) { return kindOf(value) == kind; });
  };
  int64_t elements = typeOf(result).getNumElements();
  int64_t stream = model.sequences * model.positions * width;
  bool isWide = lastSize(result) == width;
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    bool returns = has(Kind::Inner) && readsWeight(dot) && isWide;
    return returns ? Kind::Stream : Kind::Inner;
  }
  if (isa<AttentionOp>(op))
    return Kind::Inner;
  if (isa<GroupedDotOp>(op))
    return has(Kind::Inner) ? Kind::Rows : Kind::Inner;
  if (isWide && elements > stream && !has(Kind::Inner))
    return Kind::Rows; // picked for experts
  if (has(Kind::Rows))
    return elements == stream ? Kind::Stream
           : isWide           ? Kind::Rows
                              : Kind::Inner;
  bool keepsStream = llvm::any_of(operands, [&](Value value) {
    return kindOf(value) == Kind::Stream &&
           typeOf(value).getNumElements() == elements;
  });
  return has(Kind::Inner) && !keepsStream ? Kind::Inner : Kind::Stream;
}

/// Whether the value is of the residual stream itself, and no norm of it or
/// addend to it.
bool Describer::isSummed(Value value) const {
  Operation *maker = stripViews(value).getDefiningOp();
  return maker && isa<AddOp, EmbeddingOp>(maker);
}

Activations Describer::bytesOf(Value value) const {
  double elements =
      double(typeOf(value).getNumElements()) / double(model.sequences);
  Activations activations;
  switch (kindOf(value)) {
  case Kind::Stream:
    activations.stream =
        elements * (isSummed(value) ? streamBytes : elementBytes);
    break;
  case Kind::Inner:
    activations.inner = elements * elementBytes;
    break;
  case Kind::Rows:
    activations.rows = elements * elementBytes;
    break;
  }
  return activations;
}

/// Of a product with a weight, or the gradient of its result.
Activations Describer::bytesOfOperand(Value value) const {
  Activations activations = bytesOf(value);
  std::swap(activations.stream, activations.gathered);
  return activations;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static double elementsOf(Value value) {
  return double(typeOf(value).getNumElements());
}

static void divide(int64_t &divisor, int64_t size) {
  divisor = std::gcd(divisor, size);
}

void Describer::addProducts(Operation *op, search::Unit &unit) {
  auto hone = dyn_cast<HoneOpInterface>(op);
  if (!hone || op->getNumResults() == 0 || !isActivation(op->getResult(0)))
    return;
  double batch = double(model.sequences);
  double flops = double(hone.getCost().flops) / batch;
  if (auto dot = dyn_cast<DotGeneralOp>(op)) {
    if (!readsWeight(dot)) { // scores, or what they weight
      unit.attentionFlops += flops;
      unit.attentionBackwardFlops += 2 * flops;
      return;
    }
    unit.results += bytesOfOperand(dot.getResult());
    unit.productFlops += flops;
    if (kindOf(dot.getResult()) == Kind::Stream) {
      int64_t contracted = 1;
      ArrayRef<int64_t> shape = typeOf(dot.getLhs()).getShape();
      for (int64_t dim : dot.getLhsContract())
        contracted *= shape[dim];
      divide(model.innerWidth, contracted);
    }
  } else if (auto attention = dyn_cast<AttentionOp>(op)) {
    ArrayRef<int64_t> query = typeOf(attention.getQuery()).getShape();
    double wide = double(query[3]);
    double narrow = double(lastSize(attention.getValue()));
    unit.attentionFlops += flops;
    // As AttentionBwdOp has it: scores are computed again.
    unit.attentionBackwardFlops +=
        flops * (3 * wide + 2 * narrow) / (wide + narrow);
    double scores = double(query[0] * query[1] * query[2]) *
                    double(typeOf(attention.getKey()).getShape()[1]) / batch;
    unit.scores += scores;
    unit.scoreFlops += 2 * scores * (wide + narrow);
    double keys =
        elementsOf(attention.getKey()) + elementsOf(attention.getValue());
    unit.keyBytes += keys * elementBytes / batch;
    unit.headBytes += (keys + elementsOf(attention.getQuery()) +
                       elementsOf(attention.getResult())) *
                      elementBytes / batch;
    divide(model.heads, query[2]);
    divide(model.keyHeads, typeOf(attention.getKey()).getShape()[2]);
    model.isCausal &= attention.getCausal();
    model.takesRings &= whyNoRing(attention).empty();
  } else if (auto grouped = dyn_cast<GroupedDotOp>(op)) {
    unit.expertFlops += flops;
    unit.results += bytesOf(grouped.getResult());
    divide(model.experts, typeOf(grouped.getWeight()).getShape().front());
    if (kindOf(grouped.getResult()) == Kind::Rows)
      divide(model.innerWidth, lastSize(grouped.getInput()));
    else
      unit.rowBytes = std::max(unit.rowBytes, elementsOf(grouped.getInput()) *
                                                  elementBytes / batch);
  } else if (hone.getKernelFamily() == KernelFamily::convolution) {
    unit.productFlops += flops;
  }
}

/// Sums along tp are done where something else than another such sum reads
/// them.
void Describer::noteSums(Operation *op, search::Unit &unit) {
  SmallVector<Value> operands = activationsOf(op);
  auto isPartial = [&](Value value) { return partial.contains(value); };
  bool returns =
      isActivation(op->getResult(0)) &&
      kindOf(op->getResult(0)) == Kind::Stream &&
      (isa<DotGeneralOp>(op) || llvm::any_of(operands, [&](Value value) {
         return kindOf(value) == Kind::Rows;
       }));
  bool joins = isCastOrView(*op) || isa<AddOp>(op);
  if (returns ||
      (joins && !operands.empty() && llvm::all_of(operands, isPartial))) {
    partial.insert(op->getResult(0));
    return;
  }
  for (Value operand : operands)
    unit.sums += partial.erase(operand);
}

/// A parameter belongs to the first unit that reads it.
void Describer::addParameters() {
  DenseSet<Value> known;
  auto add = [&](Operation &op, Value operand) {
    if (origins.of(operand) != Origin::Weight)
      return;
    BlockArgument parameter = origins.parameterOf(operand);
    if (!parameter || !known.insert(parameter).second)
      return;
    search::Unit &unit = model.units[unitOf[&op]];
    auto grouped = dyn_cast<GroupedDotOp>(op);
    bool isExpert = grouped && grouped.getWeight() == operand;
    (isExpert ? unit.expertParameters : unit.parameters) +=
        elementsOf(parameter);
  };
  for (Operation &op : forward.front().without_terminator())
    if (isActivation(op.getResult(0)) || !isCastOrView(op))
      for (Value operand : op.getOperands())
        add(op, operand);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Whether kernels join the op with neighbours that are such ops: each element
/// once, perhaps at another place.
bool Describer::isJoined(Operation *op) const {
  auto hone = dyn_cast<HoneOpInterface>(op);
  if (!hone || op->getNumResults() == 0 || !isActivation(op->getResult(0)))
    return false;
  switch (hone.getKernelFamily()) {
  case KernelFamily::view:
  case KernelFamily::map:
  case KernelFamily::dataMovement:
  case KernelFamily::rope:
    return true;
  default:
    return false;
  }
}

/// Kernels but products and attention: maps of a unit that read each other, and
/// each other op alone.
void Describer::joinMaps() {
  llvm::EquivalenceClasses<Operation *> joined;
  SmallVector<Operation *> order;
  for (Operation &op : forward.front().without_terminator()) {
    auto hone = dyn_cast<HoneOpInterface>(op);
    if (!hone || op.getNumResults() == 0 || !isActivation(op.getResult(0)) ||
        isa<DotGeneralOp, AttentionOp, GroupedDotOp>(op) ||
        hone.getKernelFamily() == KernelFamily::convolution)
      continue;
    order.push_back(&op);
    joined.insert(&op);
    if (isJoined(&op))
      for (Value operand : activationsOf(&op))
        if (Operation *maker = operand.getDefiningOp())
          if (isJoined(maker) && unitOf[maker] == unitOf[&op])
            joined.unionSets(maker, &op);
  }
  DenseMap<Operation *, size_t> numbers;
  for (Operation *op : order) {
    auto [entry, isNew] =
        numbers.try_emplace(joined.getLeaderValue(op), kernels.size());
    if (isNew)
      kernels.emplace_back();
    kernels[entry->second].push_back(op);
    kernelOf[op] = entry->second;
  }
}

/// Activations that a kernel reads, each once.
SmallVector<Value> Describer::sourcesOf(ArrayRef<Operation *> kernel) const {
  llvm::SetVector<Value> sources;
  for (Operation *op : kernel)
    for (Value operand : activationsOf(op)) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || !llvm::is_contained(kernel, maker))
        sources.insert(operand);
    }
  return sources.takeVector();
}

/// What a kernel reads, and what of it others read; views move nothing.
Activations Describer::trafficOf(ArrayRef<Operation *> kernel) const {
  Activations bytes;
  bool isView = llvm::all_of(kernel, [](Operation *op) {
    return cast<HoneOpInterface>(op).getKernelFamily() == KernelFamily::view;
  });
  if (isView)
    return bytes;
  for (Value source : sourcesOf(kernel))
    bytes += bytesOf(source);
  for (Operation *op : kernel)
    for (Value result : op->getResults())
      if (isActivation(result) &&
          llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !llvm::is_contained(kernel, user);
          }))
        bytes += bytesOf(result);
  return bytes;
}

void Describer::addMoved() {
  for (ArrayRef<Operation *> kernel : kernels)
    model.units[unitOf[kernel.front()]].moved += trafficOf(kernel);
}

/// Whether the gradient of `op` reads what it computes from.
static bool isNonlinear(Operation *op) {
  auto hone = dyn_cast<HoneOpInterface>(op);
  return hone && hone.getNumericClass() == NumericClass::pointwise &&
         !isa<AddOp, SubOp, NegOp, RopeOp>(op);
}

static bool isNorm(Operation *op) { return isa<LayerNormOp, RmsNormOp>(op); }

/// Gradients read the operands of products and of attention, with its result;
/// inputs of norms and losses; and what maps that are not linear read, from
/// which the maps are computed again. What a norm or a map makes of such values
/// is cheap.
void Describer::addSaved() {
  SmallVector<llvm::SetVector<Value>> saved(model.units.size());
  DenseSet<std::pair<size_t, Value>> multiplied; // with weights, by unit
  auto save = [&](Operation *by, Value value) {
    if (isActivation(value))
      saved[unitOf[by]].insert(stripViews(value));
  };
  for (Operation &op : forward.front().without_terminator()) {
    auto dot = dyn_cast<DotGeneralOp>(op);
    if (isa<GroupedDotOp>(op) || (dot && readsWeight(dot)))
      for (Value operand : activationsOf(&op))
        multiplied.insert({unitOf[&op], stripViews(operand)});
    if (isa<DotGeneralOp, GroupedDotOp, AttentionOp>(op)) {
      for (Value operand : op.getOperands())
        save(&op, operand);
      if (isa<AttentionOp>(op))
        save(&op, op.getResult(0));
    } else if (isNorm(&op) || isa<CrossEntropyOp>(op)) {
      save(&op, op.getOperand(0));
    } else if (isa<SoftmaxOp>(op)) {
      save(&op, op.getResult(0));
    }
  }
  for (ArrayRef<Operation *> kernel : kernels)
    if (llvm::any_of(kernel, isNonlinear))
      for (Value source : sourcesOf(kernel))
        save(kernel.front(), source);
  for (size_t number = 0; number != saved.size(); ++number) {
    search::Unit &unit = model.units[number];
    const llvm::SetVector<Value> &values = saved[number];
    DenseSet<size_t> again; // kernels
    for (Value value : values) {
      Operation *maker = value.getDefiningOp();
      auto kernel = maker ? kernelOf.find(maker) : kernelOf.end();
      bool isCheap =
          kernel != kernelOf.end() && unitOf[maker] == number &&
          (isJoined(maker) || isNorm(maker)) &&
          llvm::all_of(sourcesOf(kernels[kernel->second]), [&](Value source) {
            return values.contains(stripViews(source));
          });
      bool isMultiplied = multiplied.contains({number, value});
      Activations bytes = isMultiplied ? bytesOfOperand(value) : bytesOf(value);
      (isCheap ? unit.cheap : unit.saved) += bytes;
      if (isMultiplied) {
        unit.operands += bytes;
        if (isCheap)
          unit.cheapOperands += bytes;
      }
      if (isCheap && again.insert(kernel->second).second)
        unit.remade += trafficOf(kernels[kernel->second]);
    }
  }
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

FailureOr<search::Model> Describer::describe() {
  CutValues found =
      findCutValues(forward, origins, [](Operation *) { return false; });
  if (failed(findSizes(found)))
    return failure();
  findUnits(found.cuts);
  for (Operation &op : forward.front().without_terminator()) {
    if (op.getNumResults() == 0)
      continue;
    Kind kind = findKind(&op);
    for (Value result : op.getResults())
      kinds[result] = kind;
    search::Unit &unit = model.units[unitOf[&op]];
    addProducts(&op, unit);
    noteSums(&op, unit);
  }
  addParameters();
  joinMaps();
  addMoved();
  addSaved();
  return std::move(model);
}

FailureOr<search::Model> dist::describeModel(func::FuncOp forward,
                                             double elementBytes,
                                             double streamBytes) {
  return Describer(forward, elementBytes, streamBytes).describe();
}
