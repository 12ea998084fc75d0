//===- PackProjections.cpp - One contraction for weights of one input -----===//

#include "Transforms/Step/OptimizerSettings.h"
#include "hone/Analysis/Layout/Views.h"
#include "hone/Transforms/Passes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

namespace hone {
#define GEN_PASS_DEF_PACKPROJECTIONS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

//===----------------------------------------------------------------------===//
// Decision
//===----------------------------------------------------------------------===//

namespace {
/// A contraction of a value with a weight, and the bias added to it.
struct Projection {
  DotGeneralOp dot;
  BlockArgument weight;
  int64_t outDim; // of the weight: the dimension that is not contracted
  AddOp add;      // null: no bias
  BlockArgument bias;

  Value result() {
    return add ? Value(add.getResult()) : Value(dot.getResult());
  }
  int64_t width() {
    return cast<RankedTensorType>(weight.getType()).getDimSize(outDim);
  }
};

using Projections = SmallVector<Projection, 3>;
} // namespace

/// The parameter's bias that `value`'s only reader adds along its columns.
static void findBias(Projection &projection) {
  Value value = projection.dot.getResult();
  if (!value.hasOneUse())
    return;
  auto add = dyn_cast<AddOp>(*value.user_begin());
  if (!add || add.getLhs() == add.getRhs())
    return;
  Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
  auto broadcast = other.getDefiningOp<BroadcastOp>();
  int64_t last = cast<RankedTensorType>(value.getType()).getRank() - 1;
  if (!broadcast || broadcast.getDims() != ArrayRef<int64_t>{last})
    return;
  auto bias = dyn_cast<BlockArgument>(broadcast.getOperand());
  if (!bias || !broadcast->hasOneUse())
    return;
  projection.add = add;
  projection.bias = bias;
}

/// The projection that `dot` is, if a weight with one free dimension makes the
/// columns of the result.
static std::optional<Projection> readProjection(DotGeneralOp dot) {
  auto weight = dyn_cast<BlockArgument>(dot.getRhs());
  SmallVector<int64_t> free = dot.getRhsFree();
  if (!weight || !dot.getLhsBatch().empty() || free.size() != 1 ||
      cast<RankedTensorType>(weight.getType()).getRank() != 2)
    return std::nullopt;
  Projection projection = {dot, weight, free.front(), {}, {}};
  findBias(projection);
  return projection;
}

static Attribute argAttr(BlockArgument argument, StringRef name) {
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return func.getArgAttr(argument.getArgNumber(), name);
}

/// Why `argument` cannot become a part of another one, or "".
static std::string whyNotPart(BlockArgument argument) {
  auto kind = dyn_cast_or_null<StringAttr>(argAttr(argument, attr::kind));
  if (!kind || kind.getValue() != kind::param)
    return "is no parameter";
  if (argAttr(argument, attr::aliases))
    return "is tied to another name";
  if (argAttr(argument, attr::parts))
    return "has parts already";
  if (!argument.hasOneUse())
    return "is read elsewhere too";
  if (argAttr(argument, attr::sharding))
    return "has a sharding of its own";
  return "";
}

/// Whether an attention reads `value` as keys or values of heads that `ranks`
/// do not divide.
static bool makesSharedHeads(Value value, int64_t ranks) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto attention = dyn_cast<AttentionOp>(user)) {
      int64_t heads =
          cast<RankedTensorType>(attention.getKey().getType()).getDimSize(2);
      return use.get() != attention.getQuery() && heads % ranks != 0;
    }
    return isa<CastOp, LayerNormOp, ReshapeOp, RmsNormOp, RopeOp, TransposeOp>(
               user) &&
           makesSharedHeads(user->getResult(0), ranks);
  });
}

/// Why two parameters cannot be parts of one, or "".
static std::string whyNotTogether(BlockArgument a, BlockArgument b) {
  if (getElementTypeOrSelf(a.getType()) != getElementTypeOrSelf(b.getType()))
    return "differ in their element type";
  for (auto [name, why] :
       {std::pair<StringRef, StringRef>{attr::paramGroup,
                                        "are in different optimizer groups"},
        {attr::requiresGrad, "are not all trained"},
        {attr::init, "are initialised differently"}})
    if (argAttr(a, name) != argAttr(b, name))
      return why.str();
  return "";
}

static std::string whyNotTogether(Projection &a, Projection &b, int64_t ranks) {
  if (std::string why = whyNotPart(b.weight); !why.empty())
    return "the weight " + why;
  if (a.outDim != b.outDim || a.dot.getLhsContract() != b.dot.getLhsContract())
    return "the weights are contracted along different dimensions";
  if (std::string why = whyNotTogether(a.weight, b.weight); !why.empty())
    return "the weights " + why;
  if (makesSharedHeads(a.result(), ranks) !=
      makesSharedHeads(b.result(), ranks))
    return "ranks along tp share key heads of one of them";
  if (bool(a.bias) != bool(b.bias))
    return "only one of them has a bias";
  if (!b.bias)
    return "";
  if (std::string why = whyNotPart(b.bias); !why.empty())
    return "the bias " + why;
  if (std::string why = whyNotTogether(a.bias, b.bias); !why.empty())
    return "the biases " + why;
  return "";
}

/// Bytes that packing moves besides: readers that need their part contiguous
/// copy it, and its gradient.
static int64_t copiedBytes(Projection &projection) {
  return isReadInPlace(projection.result())
             ? 0
             : 4 * byteSize(projection.result().getType());
}

/// Bytes that packing saves per projection after the first: their common input
/// is read once, for the result and for the weight's gradient, and its gradient
/// is not added up from parts.
static int64_t savedBytes(ArrayRef<Projection> set) {
  DotGeneralOp dot = set.front().dot;
  return 4 * int64_t(set.size() - 1) * byteSize(dot.getLhs().getType());
}

namespace {
struct PackProjections : hone::impl::PackProjectionsBase<PackProjections> {
  using PackProjectionsBase::PackProjectionsBase;
  void runOnOperation() override;

private:
  SmallVector<Projections> findSets(func::FuncOp func);
  bool pays(Projections &set);
  void note(DotGeneralOp dot, const Twine &text) {
    if (report)
      dot.emitRemark(text);
  }
};
} // namespace

static StringRef nameOf(BlockArgument argument) {
  auto func = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return argString(func, argument.getArgNumber(), attr::fqn);
}

/// Projections of one value by weights that may be one, in program order.
SmallVector<Projections> PackProjections::findSets(func::FuncOp func) {
  llvm::MapVector<Value, SmallVector<Projections>> sets;
  func.walk([&](DotGeneralOp dot) {
    if (dot->getParentOp() != func) // the arguments of a body are no parameters
      return;
    std::optional<Projection> projection = readProjection(dot);
    if (!projection)
      return;
    auto group = dyn_cast_or_null<IntegerAttr>(
        argAttr(projection->weight, attr::paramGroup));
    if (parameterForm(getOperation(), optimizer, group ? group.getInt() : 0) !=
        ParameterForm::Any) {
      note(dot, "'" + nameOf(projection->weight) +
                    "' is not packed: Muon takes each matrix as a whole");
      return;
    }
    SmallVector<Projections> &siblings = sets[dot.getLhs()];
    std::string why;
    for (Projections &set : siblings) {
      why = whyNotTogether(set.front(), *projection, tensorRanks);
      if (why.empty()) {
        set.push_back(*projection);
        return;
      }
    }
    if (!siblings.empty())
      note(dot, nameOf(projection->weight) + " is not packed with " +
                    nameOf(siblings.front().front().weight) + ": " + why);
    // The first of a set must qualify itself.
    why = whyNotTogether(*projection, *projection, tensorRanks);
    if (why.empty())
      siblings.push_back({*projection});
    else if (siblings.empty() && argAttr(projection->weight, attr::sharding))
      note(dot, nameOf(projection->weight) + " is not packed: " + why);
  });
  SmallVector<Projections> result;
  for (auto &[lhs, siblings] : sets)
    for (Projections &set : siblings)
      if (set.size() > 1 && pays(set))
        result.push_back(set);
  return result;
}

bool PackProjections::pays(Projections &set) {
  int64_t copied = 0;
  for (Projection &projection : set)
    copied += copiedBytes(projection);
  int64_t saved = savedBytes(set);
  if (copied < saved)
    return true;
  note(set.front().dot, nameOf(set.front().weight) +
                            " is not packed: its readers would copy " +
                            Twine(copied) + " bytes, to save " + Twine(saved));
  return false;
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

/// The first of `arguments`, made as wide as all of them, which become its
/// parts along `dim`. Attributes and the function's type are set for all
/// arguments at once, at the end: each change of them costs the whole list.
static BlockArgument packArguments(ArrayRef<BlockArgument> arguments,
                                   int64_t dim,
                                   MutableArrayRef<DictionaryAttr> described) {
  BlockArgument packed = arguments.front();
  MLIRContext *context = packed.getContext();
  SmallVector<StringRef> names;
  SmallVector<Attribute> parts;
  auto type = cast<RankedTensorType>(packed.getType());
  SmallVector<int64_t> shape(type.getShape()), offset(shape.size(), 0);
  shape[dim] = 0;
  for (BlockArgument argument : arguments) {
    ArrayRef<int64_t> part =
        cast<RankedTensorType>(argument.getType()).getShape();
    names.push_back(nameOf(argument));
    offset[dim] = shape[dim];
    parts.push_back(PartAttr::get(context, names.back(), offset, part));
    shape[dim] += part[dim];
  }
  NamedAttrList attributes(described[packed.getArgNumber()]);
  attributes.set(attr::fqn, StringAttr::get(context, llvm::join(names, "+")));
  attributes.set(attr::parts, ArrayAttr::get(context, parts));
  described[packed.getArgNumber()] = attributes.getDictionary(context);
  packed.setType(type.clone(shape));
  return packed;
}

static RankedTensorType withWidth(Value like, int64_t width) {
  auto type = cast<RankedTensorType>(like.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = width;
  return RankedTensorType::get(shape, type.getElementType());
}

static void eraseBias(Projection &projection) {
  Value product = projection.dot.getResult();
  Value row = projection.add.getLhs() == product ? projection.add.getRhs()
                                                 : projection.add.getLhs();
  projection.add.erase();
  row.getDefiningOp()->erase();
}

/// The packed projection, and slices of it for the readers of the parts.
static void pack(Projections &set, MutableArrayRef<DictionaryAttr> described) {
  Projection first = set.front();
  SmallVector<BlockArgument> weights, biases;
  SmallVector<Location> locs;
  SmallVector<int64_t> widths;
  for (Projection &projection : set) {
    weights.push_back(projection.weight);
    if (projection.bias)
      biases.push_back(projection.bias);
    locs.push_back(projection.dot.getLoc());
    widths.push_back(projection.width());
  }
  int64_t width = std::accumulate(widths.begin(), widths.end(), int64_t(0));
  BlockArgument weight = packArguments(weights, first.outDim, described);
  Location loc = FusedLoc::get(first.dot.getContext(), locs);
  // Before the first: nothing but the common input is needed.
  OpBuilder builder(first.dot);
  Value packed = builder.create<DotGeneralOp>(
      loc, withWidth(first.dot.getResult(), width), first.dot.getLhs(), weight,
      first.dot.getLhsBatch(), first.dot.getRhsBatch(),
      first.dot.getLhsContract(), first.dot.getRhsContract());
  if (!biases.empty()) {
    BlockArgument bias = packArguments(biases, 0, described);
    int64_t last = cast<RankedTensorType>(packed.getType()).getRank() - 1;
    Value row = builder.create<BroadcastOp>(loc, packed.getType(), bias,
                                            builder.getDenseI64ArrayAttr(last));
    packed = builder.create<AddOp>(loc, packed, row);
  }
  auto type = cast<RankedTensorType>(packed.getType());
  SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
      strides(type.getRank(), 1);
  limits.back() = 0;
  for (auto [projection, part] : llvm::zip_equal(set, widths)) {
    starts.back() = limits.back();
    limits.back() += part;
    projection.result().replaceAllUsesWith(builder.create<SliceOp>(
        projection.dot.getLoc(), projection.result().getType(), packed, starts,
        limits, strides));
  }
  for (Projection &projection : set) {
    if (projection.add)
      eraseBias(projection);
    projection.dot.erase();
  }
}

void PackProjections::runOnOperation() {
  ModuleOp module = getOperation();
  auto func = module.lookupSymbol<func::FuncOp>("forward");
  if (!func)
    return;
  if (parameterForm(module, optimizer) == ParameterForm::AsInFiles) {
    if (report)
      module.emitRemark("nothing is packed: Adafactor takes means over each "
                        "parameter");
    return;
  }
  if (module.lookupSymbol("gradient")) {
    module.emitError("has @gradient already: parameters are packed before "
                     "hone-autodiff");
    return signalPassFailure();
  }
  SmallVector<DictionaryAttr> described;
  func.getAllArgAttrs(described);
  BitVector erased(func.getNumArguments());
  for (Projections &set : findSets(func)) {
    SmallVector<StringRef> names;
    for (auto [index, projection] : llvm::enumerate(set)) {
      names.push_back(nameOf(projection.weight));
      // The first becomes the whole.
      if (index == 0)
        continue;
      erased.set(projection.weight.getArgNumber());
      if (projection.bias)
        erased.set(projection.bias.getArgNumber());
    }
    note(set.front().dot, "packs " + llvm::join(names, ", ") + ", saves " +
                              Twine(savedBytes(set)) + " bytes per step");
    pack(set, described);
  }
  if (erased.none())
    return;
  func.setAllArgAttrs(described);
  func.eraseArguments(erased);
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         func.front().getArgumentTypes(),
                                         func.getResultTypes()));
}
