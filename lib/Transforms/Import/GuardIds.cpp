//===- GuardIds.cpp - Checks ids that bounds of inputs do not prove -------===//
//
//   ids -> inside = 0 <= ids < size (or ids == ignored)
//          select(inside, ids, 0)                       what the op reads now
//          max of select(inside, least, ids), least: 0  a result of the
//          function
//
//===----------------------------------------------------------------------===//

#include "hone/Analysis/Values/IntegerRanges.h"
#include "hone/IR/Locations.h"
#include "hone/IR/PackageFunction.h"
#include "hone/Transforms/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {
#define GEN_PASS_DEF_GUARDIDS
#include "hone/Transforms/Passes.h.inc"
} // namespace hone

using namespace mlir;
using namespace hone;

namespace {
/// What guards of one value and one bound share.
struct Guard {
  Value safe;  ///< the ids, 0 in place of those outside
  Value found; ///< 0, or an id outside
};

/// Builds guards before an op.
class GuardBuilder {
public:
  GuardBuilder(Operation *op, Value ids)
      : b(NameLoc::get(StringAttr::get(op->getContext(), "id check"),
                       op->getLoc()),
          op),
        type(cast<RankedTensorType>(ids.getType())), ids(ids) {}

  Guard build(const IdOperand &bound);

private:
  Value isInside(const IdOperand &bound);
  Value splat(RankedTensorType of, int64_t number) {
    auto value = b.getIntegerAttr(of.getElementType(), number);
    return b.create<ConstantOp>(DenseElementsAttr::get(of, value));
  }
  Value compare(CmpPredicate predicate, Value value, int64_t number) {
    auto of = cast<RankedTensorType>(value.getType());
    return b.create<CmpOp>(of.clone(b.getI1Type()), predicate, value,
                           splat(of, number));
  }
  Value select(Value pred, Value yes, Value no) {
    return b.create<SelectOp>(yes.getType(), pred, yes, no);
  }

  ImplicitLocOpBuilder b;
  RankedTensorType type;
  Value ids;
};
} // namespace

/// i1 per id. Numbers that the type lacks are no ids.
Value GuardBuilder::isInside(const IdOperand &bound) {
  IntervalSet every = IntervalSet::all(type.getElementType());
  Value inside = compare(CmpPredicate::ge, ids, 0);
  if (bound.size <= every.high())
    inside =
        b.create<AndOp>(inside, compare(CmpPredicate::lt, ids, bound.size));
  std::optional<int64_t> ignored = bound.ignored;
  if (ignored && every.low() <= *ignored && *ignored <= every.high())
    inside = b.create<OrOp>(inside, compare(CmpPredicate::eq, ids, *ignored));
  return inside;
}

Guard GuardBuilder::build(const IdOperand &bound) {
  Value inside = isInside(bound);
  Value safe = select(inside, ids, splat(type, 0));
  // The least integer stands for none; it is reported as the next one.
  int64_t least = IntervalSet::all(type.getElementType()).low();
  Value outside = b.create<MaxOp>(ids, splat(type, least + 1));
  Value found = select(inside, splat(type, least), outside);
  // One dimension at a time: rows first, which kernels share.
  for (int64_t dim = type.getRank(); dim-- > 0;)
    found = b.create<ReduceOp>(ReduceKind::max, found, ArrayRef<int64_t>(dim));
  auto scalar = cast<RankedTensorType>(found.getType());
  found =
      select(compare(CmpPredicate::eq, found, least), splat(scalar, 0), found);
  if (!scalar.getElementType().isInteger(64))
    found = b.create<CastOp>(scalar.clone(b.getI64Type()), found);
  return {safe, found};
}

namespace {
struct GuardIds : hone::impl::GuardIdsBase<GuardIds> {
  void runOnOperation() override {
    func::FuncOp func = findPackageFunction(getOperation());
    if (!func || !func.getBody().hasOneBlock())
      return markAllAnalysesPreserved();
    if (failed(guardAll(func)))
      signalPassFailure();
  }

  LogicalResult guardAll(func::FuncOp func) {
    IntegerRanges ranges(func.front());
    ranges.run(boundsOfInputs(func));
    // Without an ignored id: one that is inside.
    using Key = std::tuple<Value, int64_t, int64_t>;
    DenseMap<Key, Value> guarded;
    size_t number =
        findResults(func, kind::idCheck).size(); // of an earlier run
    SmallVector<Value> found;
    SmallVector<Attribute> described;
    for (const IdSite &site : findIdSites(func.front())) {
      Value ids = site.operand->get();
      if (cast<RankedTensorType>(ids.getType()).getNumElements() == 0)
        continue;
      const IntervalSet &set = ranges.lookup(ids);
      if (site.isWithin(set))
        continue;
      if (site.ids.size <= 0 || set.isOutside(site.ids.size, site.ids.ignored))
        return refuse(site, set);
      std::optional<int64_t> ignored = site.ids.ignored;
      Value &safe = guarded[{ids, site.ids.size, ignored.value_or(0)}];
      if (!safe) {
        Guard guard = GuardBuilder(site.op(), ids).build(site.ids);
        safe = guard.safe;
        found.push_back(guard.found);
        described.push_back(describe(site, number++));
      }
      site.operand->set(safe);
    }
    for (auto custom : func.front().getOps<CustomGradientOp>())
      if (failed(checkBody(custom, ranges)))
        return failure();
    if (!found.empty())
      addResults(func, found, described);
    return success();
  }

  /// Ids in the body of a custom gradient must be proven: the body can return
  /// no check of them.
  LogicalResult checkBody(CustomGradientOp custom,
                          const IntegerRanges &outside) {
    Block &body = custom.getBodyBlock();
    IntegerRanges::Arguments bounds;
    for (auto [argument, saved] :
         llvm::zip(body.getArguments().take_back(custom.getSaved().size()),
                   custom.getSaved()))
      if (isa<IntegerType>(getElementTypeOrSelf(saved.getType())))
        bounds[argument] = outside.lookup(saved);
    IntegerRanges ranges(body);
    ranges.run(bounds);
    for (const IdSite &site : findIdSites(body))
      if (const IntervalSet &set = ranges.lookup(site.operand->get());
          !site.isWithin(set))
        return refuse(site, set);
    return success();
  }

  LogicalResult refuse(const IdSite &site, const IntervalSet &set) {
    if (site.ids.size <= 0)
      return site.op()->emitOpError("reads ids of a table of no rows");
    return site.op()->emitOpError("reads ids from ")
           << set.low() << " to " << set.high() << ", expected 0 to "
           << site.ids.size - 1;
  }

  DictionaryAttr describe(const IdSite &site, size_t number) {
    Builder b(&getContext());
    Operation *op = site.op();
    SmallVector<NamedAttribute> ids = {
        b.getNamedAttr("op", b.getStringAttr(op->getName().stripDialect())),
        b.getNamedAttr("size", b.getI64IntegerAttr(site.ids.size)),
        b.getNamedAttr("source",
                       b.getStringAttr(describeLocation(op->getLoc())))};
    return b.getDictionaryAttr(
        {b.getNamedAttr(attr::kind, b.getStringAttr(kind::idCheck)),
         b.getNamedAttr(attr::fqn, b.getStringAttr("ids." + Twine(number))),
         b.getNamedAttr(attr::ids, b.getDictionaryAttr(ids))});
  }

  void addResults(func::FuncOp func, ArrayRef<Value> found,
                  ArrayRef<Attribute> described) {
    Operation *end = func.front().getTerminator();
    SmallVector<Attribute> attrs;
    for (unsigned index = 0; index != func.getNumResults(); ++index)
      attrs.push_back(func.getResultAttrDict(index));
    llvm::append_range(attrs, described);
    end->insertOperands(end->getNumOperands(), found);
    func.setFunctionType(FunctionType::get(
        &getContext(), func.getArgumentTypes(), end->getOperandTypes()));
    func.setAllResultAttrs(attrs);
  }
};
} // namespace
