//===- UpdateBuilder.h - Primitives of an optimizer's update ----*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_FUSE_UPDATEBUILDER_H
#define HONE_LIB_TRANSFORMS_FUSE_UPDATEBUILDER_H

#include "hone/IR/Hone.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// Writes what an update of `param` computes in primitives, before `op`, in
/// f64 if the parameter has it, else in f32.
class UpdateBuilder {
protected:
  UpdateBuilder(mlir::Operation *op, mlir::Value param)
      : b(op->getLoc(), op),
        element(typeOf(param).getElementType().isF64()
                    ? mlir::FloatType::getF64(op->getContext())
                    : mlir::FloatType::getF32(op->getContext())) {}

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  /// The type of `value` in the compute type.
  mlir::RankedTensorType wide(mlir::Value value) {
    return mlir::RankedTensorType::get(typeOf(value).getShape(), element);
  }
  mlir::Value castTo(mlir::Value value, mlir::Type element) {
    if (typeOf(value).getElementType() == element)
      return value;
    return b.create<CastOp>(
        mlir::RankedTensorType::get(typeOf(value).getShape(), element), value);
  }
  mlir::Value widen(mlir::Value value) { return castTo(value, element); }
  mlir::Value splat(mlir::RankedTensorType type, double value) {
    return b.create<ConstantOp>(mlir::DenseElementsAttr::get(
        type, b.getFloatAttr(type.getElementType(), value).getValue()));
  }
  /// A scalar; what the compute type rounds is a constant of f64 before.
  mlir::Value number(double value) {
    return widen(splat(mlir::RankedTensorType::get({}, b.getF64Type()), value));
  }
  mlir::Value number(const llvm::APFloat &value) {
    return number(value.convertToDouble());
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
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return b.create<MaxOp>(x, y);
  }

  /// `value`, which has the dimensions `dims` of `to`, repeated along the rest.
  mlir::Value repeat(mlir::Value value, llvm::ArrayRef<int64_t> to,
                     llvm::ArrayRef<int64_t> dims) {
    if (typeOf(value).getShape() == to)
      return value;
    return b.create<BroadcastOp>(
        mlir::RankedTensorType::get(to, typeOf(value).getElementType()), value,
        b.getDenseI64ArrayAttr(dims));
  }
  /// A scalar, for every element of `like`.
  mlir::Value every(mlir::Value value, mlir::Value like) {
    return repeat(value, typeOf(like).getShape(), {});
  }
  /// Row by row: a sum over all dimensions at once would be one long chain.
  mlir::Value sumOfSquares(mlir::Value value) {
    mlir::Value sum = mul(value, value);
    while (typeOf(sum).getRank() != 0)
      sum = b.create<ReduceOp>(ReduceKind::sum, sum, typeOf(sum).getRank() - 1);
    return sum;
  }
  /// Makes the results of the update from `values`, the new parameter and state
  /// in the compute type: cast to the types of `olds`, which stay where `apply`
  /// (or null) is false; then a working copy, if the update has one.
  void finish(llvm::SmallVectorImpl<mlir::Value> &values, mlir::ValueRange olds,
              mlir::Value apply, mlir::Value workingCopy) {
    for (auto [made, old] : llvm::zip_equal(values, olds)) {
      made = castTo(made, typeOf(old).getElementType());
      if (apply)
        made = b.create<SelectOp>(old.getType(), every(apply, old), made, old);
    }
    if (workingCopy)
      values.push_back(castTo(values[0], typeOf(workingCopy).getElementType()));
  }

  mlir::ImplicitLocOpBuilder b;
  mlir::Type element; ///< the compute type
};

/// The results of `op`, in primitives before it.
llvm::SmallVector<mlir::Value> decomposeMuon(MuonOp op);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_FUSE_UPDATEBUILDER_H
