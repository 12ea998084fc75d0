//===- RowBuilder.h - Primitives over rows ----------------------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_FUSE_ROWBUILDER_H
#define HONE_LIB_TRANSFORMS_FUSE_ROWBUILDER_H

#include "Transforms/Common/Masks.h"
#include "hone/IR/Hone.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>

namespace hone {

/// What a maximum and a sum of exponentials do not see.
constexpr double minusInfinity = -std::numeric_limits<double>::infinity();

/// Builds primitives over a tensor `full` = [rows..., width], in fp32 or wider.
class RowBuilder {
public:
  /// The first `width` elements of a row of `type` count; 0: all.
  RowBuilder(mlir::Location loc, mlir::RankedTensorType type, uint64_t width,
             mlir::OpBuilder &builder)
      : b(loc, builder) {
    compute = type.getElementType().isF64() ? mlir::Type(b.getF64Type())
                                            : mlir::Type(b.getF32Type());
    full = type.clone(compute);
    rows = mlir::RankedTensorType::get(type.getShape().drop_back(), compute);
    counted = width ? int64_t(width) : full.getShape().back();
  }
  RowBuilder(mlir::Operation *op, mlir::Value like, uint64_t width,
             mlir::OpBuilder &builder)
      : RowBuilder(op->getLoc(),
                   llvm::cast<mlir::RankedTensorType>(like.getType()), width,
                   builder) {}

  /// Elements of a row that count.
  int64_t width() { return counted; }
  /// `value`, a full tensor, with `fill` at the elements that do not count.
  mlir::Value masked(mlir::Value value, double fill = 0.0) {
    if (counted == full.getShape().back())
      return value;
    return keepFirst(b, b.getLoc(), value, full.getRank() - 1, counted, fill);
  }

  /// `value` in the compute type, or in that of `like`.
  mlir::Value widen(mlir::Value value) { return castTo(value, compute); }
  mlir::Value narrow(mlir::Value value, mlir::Value like) {
    return castTo(value, mlir::getElementTypeOrSelf(like));
  }
  mlir::Value castTo(mlir::Value value, mlir::Type element) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    if (type.getElementType() == element)
      return value;
    return b.create<CastOp>(type.clone(element), value);
  }

  mlir::Value splat(mlir::RankedTensorType type, double value) {
    auto element = llvm::cast<mlir::FloatType>(type.getElementType());
    return b.create<ConstantOp>(mlir::DenseElementsAttr::get(
        type, b.getFloatAttr(element, value).getValue()));
  }

  mlir::Value add(mlir::Value x, mlir::Value y) {
    return b.create<AddOp>(x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return b.create<SubOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return b.create<MulOp>(x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return b.create<DivOp>(x, y);
  }
  mlir::Value exp(mlir::Value x) { return b.create<ExpOp>(x); }
  mlir::Value scale(mlir::Value x, double factor) {
    return mul(x,
               splat(llvm::cast<mlir::RankedTensorType>(x.getType()), factor));
  }

  /// Repeats one element per row along the row.
  mlir::Value perRow(mlir::Value value) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    return b.create<BroadcastOp>(full.clone(type.getElementType()), value,
                                 b.getDenseI64ArrayAttr(dims));
  }
  /// Repeats one row of [width] for every row.
  mlir::Value perColumn(mlir::Value value) {
    return b.create<BroadcastOp>(full, widen(value),
                                 b.getDenseI64ArrayAttr(full.getRank() - 1));
  }
  /// Repeats a scalar for every row.
  mlir::Value everyRow(mlir::Value value) {
    if (rows.getRank() == 0)
      return value;
    return b.create<BroadcastOp>(rows, value, b.getDenseI64ArrayAttr({}));
  }

  mlir::Value reduceRow(ReduceKind kind, mlir::Value value) {
    return b.create<ReduceOp>(kind, value, full.getRank() - 1);
  }
  mlir::Value sumRow(mlir::Value value) {
    return reduceRow(ReduceKind::sum, value);
  }
  mlir::Value meanRow(mlir::Value value) {
    // A division per row: the reciprocal of the width would not be exact.
    mlir::Value sum = sumRow(value);
    return div(
        sum, splat(llvm::cast<mlir::RankedTensorType>(sum.getType()), width()));
  }
  /// Sum of one element per row over all rows.
  mlir::Value sumRows(mlir::Value value) {
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, rows.getRank()));
    return dims.empty() ? value
                        : b.create<ReduceOp>(ReduceKind::sum, value, dims);
  }

  mlir::ImplicitLocOpBuilder b;
  mlir::FloatType computeType() { return llvm::cast<mlir::FloatType>(compute); }
  mlir::RankedTensorType full, rows;

private:
  mlir::Type compute;
  int64_t counted;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_FUSE_ROWBUILDER_H
