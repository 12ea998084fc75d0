//===- RowSpace.cpp - Ops as one loop over rows and columns ---------------===//

#include "hone/Analysis/Fusion/RowSpace.h"

#include "hone/Analysis/Layout/Strides.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace hone;

static int64_t elements(Value value) {
  return cast<ShapedType>(value.getType()).getNumElements();
}

/// A constant whose elements are equal has every role at once.
static bool isSplat(Operation *op) {
  auto constant = dyn_cast<ConstantOp>(op);
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                        : DenseElementsAttr();
  return dense && dense.isSplat();
}

bool hone::isRowSpaceOp(Operation *op) {
  if (isa<ConstantOp>(op))
    return isSplat(op);
  if (auto amax = dyn_cast<AmaxOp>(op)) // magnitudes are bits of f32
    return !getElementTypeOrSelf(amax.getOperand()).isF64();
  if (isa<ReduceOp, ReshapeOp, BroadcastOp, IotaOp, DropoutOp, EmbeddingOp>(op))
    return true;
  return op->hasTrait<OpTrait::Elementwise>();
}

/// Whether `value` has a shape that `role` can have in the space.
static bool fits(Value value, Role role, int64_t rows, int64_t cols) {
  ArrayRef<int64_t> shape = shapeOf(value);
  switch (role) {
  case Role::Full:
    return elements(value) == rows * cols &&
           (shape.empty() ? cols == 1 : shape.back() == cols);
  case Role::Row:
    return elements(value) == rows;
  case Role::Col:
    return elements(value) == cols && !shape.empty() && shape.back() == cols;
  case Role::Cyclic:
    return !shape.empty() && shape.back() == cols;
  case Role::Scalar:
    return elements(value) == 1;
  case Role::Key:
  case Role::Table:
  case Role::ColumnSum:
  case Role::TotalSum:
  case Role::TotalMax:
    return true;
  }
  llvm_unreachable("unknown role");
}

int64_t RowSpace::period(Value value) const {
  return elements(value) / std::max<int64_t>(1, numCols);
}

static bool isSum(Role role) {
  return role == Role::ColumnSum || role == Role::TotalSum;
}

/// Whether only all rows together make it.
static bool isOfAllRows(Role role) {
  return isSum(role) || role == Role::TotalMax;
}

bool RowSpace::assign(Value value, Role role, bool &changed) {
  if (Operation *op = value.getDefiningOp(); op && isSplat(op))
    return true;
  auto [entry, isNew] = roles.try_emplace(value, role);
  if (!isNew) {
    bool agrees = entry->second == role;
    readsSum |= !agrees && (isOfAllRows(entry->second) || isOfAllRows(role));
    return agrees;
  }
  changed = true;
  return fits(value, role, numRows, numCols);
}

/// All of `values` have the role that any of them has.
bool RowSpace::unify(ValueRange values, bool &changed) {
  for (Value value : values) {
    auto known = roles.find(value);
    if (known == roles.end())
      continue;
    Role role = known->second;
    readsSum |= isOfAllRows(role);
    if (isOfAllRows(role) || role == Role::Cyclic || role == Role::Key ||
        role == Role::Table)
      return false; // no op computes with these
    return llvm::all_of(
        values, [&](Value other) { return assign(other, role, changed); });
  }
  return true;
}

bool RowSpace::visitBroadcast(BroadcastOp op, bool &changed) {
  auto known = roles.find(op.getResult());
  if (known == roles.end())
    return true;
  int64_t rank = shapeOf(op.getResult()).size();
  ArrayRef<int64_t> dims = op.getDims();
  if (elements(op.getOperand()) == 1)
    return assign(op.getOperand(), Role::Scalar, changed);
  if (known->second != Role::Full)
    return false; // only one element can spread over rows or columns
  if (llvm::equal(dims, llvm::seq<int64_t>(0, rank - 1)))
    return assign(op.getOperand(), Role::Row, changed);
  if (dims.size() == 1 && dims[0] == rank - 1)
    return assign(op.getOperand(), Role::Col, changed);
  if (llvm::equal(dims, llvm::seq<int64_t>(rank - dims.size(), rank)))
    return assign(op.getOperand(), Role::Cyclic, changed);
  return false;
}

bool RowSpace::canWalk(Value value, ArrayRef<int64_t> strides) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  if (strides == ArrayRef<int64_t>(rowMajorStrides(shape)))
    return true;
  auto leading = llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1));
  if (strides.back() != 1 || !collapseDims(shape, strides, leading))
    return false;
  Role own = role(value);
  return own == Role::Row ||
         ((own == Role::Full || own == Role::Cyclic) && shape.back() == cols());
}

bool RowSpace::mayOverwrite(Value result, Value argument) const {
  Operation *maker = result.getDefiningOp();
  bool isConstant = maker && isSplat(maker); // has every role
  if (!isConstant && isSum(role(result)))
    return true;
  // In a space of one column, rows are points.
  auto isAtPoints = [&](Value value) {
    Role own = role(value);
    return elements(value) == numRows * numCols &&
           (own == Role::Full || own == Role::Row || own == Role::Scalar);
  };
  return isAtPoints(argument) && (isConstant || isAtPoints(result));
}

bool RowSpace::visitReduce(ReduceOp op, bool &changed) {
  auto known = roles.find(op.getOperand());
  if (known == roles.end()) {
    if (Operation *producer = op.getOperand().getDefiningOp();
        producer && isSplat(producer))
      return false;
    return true;
  }
  int64_t rank = shapeOf(op.getOperand()).size();
  ArrayRef<int64_t> dims = op.getDims();
  bool adds = op.getKind() == ReduceKind::sum;
  reduces = true;
  if (known->second == Role::Full) {
    if (op.isRowReduction())
      return assign(op.getResult(), Role::Row, changed);
    bool isFloat = getElementTypeOrSelf(op.getType()).isF32();
    partialSums = true;
    if (int64_t(dims.size()) == rank)
      return adds && isFloat && assign(op.getResult(), Role::TotalSum, changed);
    if (llvm::equal(dims, llvm::seq<int64_t>(0, rank - 1)))
      return adds && isFloat &&
             assign(op.getResult(), Role::ColumnSum, changed);
    return false;
  }
  if (known->second == Role::Row && int64_t(dims.size()) == rank) {
    partialSums = true;
    return adds && getElementTypeOrSelf(op.getType()).isF32() &&
           assign(op.getResult(), Role::TotalSum, changed);
  }
  return false;
}

bool RowSpace::visitAmax(AmaxOp op, bool &changed) {
  auto known = roles.find(op.getOperand());
  if (known == roles.end()) {
    Operation *producer = op.getOperand().getDefiningOp();
    return !producer || !isSplat(producer);
  }
  return known->second == Role::Full &&
         assign(op.getResult(), Role::TotalMax, changed);
}

bool RowSpace::visit(Operation *op, bool &changed) {
  if (isSplat(op))
    return true;
  if (auto amax = dyn_cast<AmaxOp>(op))
    return visitAmax(amax, changed);
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return visitBroadcast(broadcast, changed);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return visitReduce(reduce, changed);
  if (auto dropout = dyn_cast<DropoutOp>(op)) {
    // The mask follows the element index, which a Full value has.
    return assign(dropout.getResult(), Role::Full, changed) &&
           assign(dropout.getInput(), Role::Full, changed) &&
           assign(dropout.getRng(), Role::Key, changed) &&
           (!dropout.getOrigin() ||
            assign(dropout.getOrigin(), Role::Scalar, changed));
  }
  if (auto gather = dyn_cast<EmbeddingOp>(op))
    return assign(gather.getResult(), Role::Full, changed) &&
           assign(gather.getIds(), Role::Row, changed) &&
           assign(gather.getTable(), Role::Table, changed);
  if (isa<IotaOp>(op))
    return true;
  if (isRowSpaceOp(op)) { // elementwise and reshape
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    return unify(values, changed);
  }
  return false;
}

/// Roles that follow from those known, forwards and backwards.
bool RowSpace::propagate(ArrayRef<Operation *> ops) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : ops)
      if (!visit(op, changed))
        return false;
    for (Operation *op : llvm::reverse(ops))
      if (!visit(op, changed))
        return false;
  }
  return true;
}

/// Whether a gather of the set reads a table that the set makes: rows are
/// picked from memory, and the table is not there before the kernel ends. One
/// number for all elements needs no memory.
static bool gathersFromOwn(ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, [&](Operation *op) {
    auto gather = dyn_cast<EmbeddingOp>(op);
    Operation *maker = gather ? gather.getTable().getDefiningOp() : nullptr;
    return maker && !isSplat(maker) && llvm::is_contained(ops, maker);
  });
}

bool RowSpace::infer(ArrayRef<Operation *> ops) {
  if (gathersFromOwn(ops))
    return false;
  // Facts that do not depend on roles: what is reduced along its last
  // dimension, and what has rank 0.
  bool changed = false;
  for (Operation *op : ops) {
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      ArrayRef<int64_t> shape = shapeOf(reduce.getOperand());
      bool full = elements(reduce.getOperand()) == numRows * numCols &&
                  shape.back() == numCols;
      if (full && (reduce.isRowReduction() || numCols != 1) &&
          !assign(reduce.getOperand(), Role::Full, changed))
        return false;
    }
    if (auto amax = dyn_cast<AmaxOp>(op))
      if (fits(amax.getOperand(), Role::Full, numRows, numCols) &&
          !assign(amax.getOperand(), Role::Full, changed))
        return false;
  }
  if (!propagate(ops))
    return false;
  // What is left open follows its shape, widest reading first.
  for (Operation *op : ops) {
    for (Value value : op->getResults()) {
      if (roles.contains(value) || isSplat(op))
        continue;
      if (isa<AmaxOp>(op))
        return false;
      std::optional<Role> role;
      if (isa<IotaOp, BroadcastOp>(op) || op->getNumOperands() > 0)
        for (Role candidate : {Role::Full, Role::Row, Role::Scalar})
          if (fits(value, candidate, numRows, numCols)) {
            role = candidate;
            break;
          }
      if (!role || !assign(value, *role, changed) || !propagate(ops))
        return false;
    }
  }
  // Every value that is read must have a role by now, splats apart.
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!roles.contains(operand) && !(producer && isSplat(producer)))
        return false;
    }
  // Nobody would make a single element in a space without points.
  if (numRows * numCols == 0)
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (!isSplat(op) && role(result) == Role::Scalar)
          return false;
  return true;
}

std::optional<RowSpace> RowSpace::of(ArrayRef<Operation *> ops, int64_t rows,
                                     int64_t cols) {
  RowSpace space(rows, cols);
  return space.infer(ops) ? std::optional(std::move(space)) : std::nullopt;
}

/// Rows and columns of the space that an op alone would run in.
static std::pair<int64_t, int64_t> naturalSpace(Operation *op) {
  Value wide = isa<ReduceOp, AmaxOp>(op) ? op->getOperand(0) : op->getResult(0);
  ArrayRef<int64_t> shape = shapeOf(wide);
  if (shape.empty())
    return {1, 1};
  int64_t rows = 1;
  for (int64_t size : shape.drop_back())
    rows *= size;
  return {rows, shape.back()};
}

std::optional<RowSpace> RowSpace::of(Operation *op) {
  if (!isRowSpaceOp(op))
    return std::nullopt;
  auto [rows, cols] = naturalSpace(op);
  return of({op}, rows, cols);
}

std::optional<RowSpace> RowSpace::find(ArrayRef<Operation *> ops,
                                       StringRef *why) {
  if (why)
    *why = "different row space";
  if (!llvm::all_of(ops, isRowSpaceOp))
    return std::nullopt;
  SmallVector<std::pair<int64_t, int64_t>> sizes;
  for (Operation *op : ops) {
    std::pair<int64_t, int64_t> size = naturalSpace(op);
    if (!llvm::is_contained(sizes, size))
      sizes.push_back(size);
  }
  llvm::sort(sizes, [](auto a, auto b) {
    return std::make_pair(a.first * a.second, a.second) >
           std::make_pair(b.first * b.second, b.second);
  });
  for (auto [rows, cols] : sizes) {
    RowSpace space(rows, cols);
    if (space.infer(ops))
      return space;
    if (why && space.readsSum)
      *why = "a sum over rows is complete only after its kernel";
  }
  return std::nullopt;
}

std::optional<RowSpace> RowSpace::of(Block &body) {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  return find(ops);
}
