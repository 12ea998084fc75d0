//===- Vjp.h - Vocabulary and table of the derivative rules -----*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_AUTODIFF_VJP_H
#define HONE_LIB_TRANSFORMS_AUTODIFF_VJP_H

#include "Transforms/Common/Masks.h"
#include "VjpRules.h"

#include <functional>

namespace hone {

/// What a rule sees of the walk: the op's location, the cotangent of its first
/// result, and short names for the ops that rules are made of. All arithmetic
/// is elementwise on equal types.
struct Vjp {
  mlir::Operation *op;
  mlir::OpBuilder &builder;
  Cotangents &cotangents;
  mlir::Location loc;
  /// Cotangent of the first result.
  mlir::Value g;
  /// Set by a rule that cannot give a derivative it was asked for.
  bool failed = false;

  template <typename OpT, typename... Args> mlir::Value make(Args &&...args) {
    return builder.create<OpT>(loc, std::forward<Args>(args)...);
  }

  bool needs(mlir::Value operand) const {
    return operand && cotangents.isActive(operand);
  }
  void add(mlir::Value operand, mlir::Value cotangent) {
    cotangents.add(builder, loc, operand, cotangent);
  }

  static mlir::RankedTensorType typeOf(mlir::Value x) {
    return mlir::cast<mlir::RankedTensorType>(x.getType());
  }

  mlir::Value splat(mlir::RankedTensorType type, double number) {
    llvm::APFloat value(number);
    bool lost;
    value.convert(
        mlir::cast<mlir::FloatType>(type.getElementType()).getFloatSemantics(),
        llvm::APFloat::rmNearestTiesToEven, &lost);
    return make<ConstantOp>(mlir::DenseElementsAttr::get(type, value));
  }
  /// `number` in every element of a tensor of the type of `x`.
  mlir::Value like(mlir::Value x, double number) {
    return splat(typeOf(x), number);
  }

  mlir::Value plus(mlir::Value x, double number) {
    return make<AddOp>(x, like(x, number));
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return make<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return make<MulOp>(x, y); }
  mlir::Value mul(mlir::Value x, double number) {
    return mul(x, like(x, number));
  }
  mlir::Value div(mlir::Value x, mlir::Value y) { return make<DivOp>(x, y); }
  mlir::Value neg(mlir::Value x) { return make<NegOp>(x); }
  mlir::Value cmp(CmpPredicate predicate, mlir::Value x, mlir::Value y) {
    mlir::Type type = typeOf(x).clone(builder.getI1Type());
    return make<CmpOp>(type, predicate, x, y);
  }
  mlir::Value select(mlir::Value pred, mlir::Value x, mlir::Value y) {
    return make<SelectOp>(x.getType(), pred, x, y);
  }
  mlir::Value castTo(mlir::Value x, mlir::Type elementType) {
    if (typeOf(x).getElementType() == elementType)
      return x;
    return make<CastOp>(typeOf(x).clone(elementType), x);
  }
  /// `x` repeated along the dimensions of `shape` that are not in `dims`.
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims) {
    if (shapeOf(x) == shape)
      return x;
    return make<BroadcastOp>(typeOf(x).clone(shape), x,
                             builder.getDenseI64ArrayAttr(dims));
  }
  /// A value per row, repeated along the last dimension.
  mlir::Value alongRows(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
    return broadcast(
        x, shape,
        llvm::to_vector(llvm::seq<int64_t>(0, int64_t(shape.size()) - 1)));
  }
  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> dims) {
    return dims.empty() ? x : make<ReduceOp>(ReduceKind::sum, x, dims);
  }
  /// Sum over all dimensions but the last, in the wider type of `x` and `like`,
  /// as the type of `like`.
  mlir::Value sumRows(mlir::Value x, mlir::Value like) {
    mlir::Type type = typeOf(like).getElementType();
    if (type.getIntOrFloatBitWidth() >
        typeOf(x).getElementType().getIntOrFloatBitWidth())
      x = castTo(x, type);
    int64_t leading = typeOf(x).getRank() - 1;
    return castTo(sum(x, llvm::to_vector(llvm::seq<int64_t>(0, leading))),
                  type);
  }

  /// `x` with zeros after the first `width` elements of each row; 0: all count.
  mlir::Value keepFirst(mlir::Value x, int64_t width) {
    if (width == 0)
      return x;
    return hone::keepFirst(builder, loc, x, typeOf(x).getRank() - 1, width,
                           0.0);
  }

  /// Refuses a derivative with respect to `operand`, if one is requested.
  void refuse(mlir::Value operand, llvm::StringRef name) {
    if (!needs(operand))
      return;
    op->emitOpError() << "has no gradient with respect to its " << name
                      << ", which depends on a parameter that requires one";
    failed = true;
  }
};

using VjpRule = std::function<void(mlir::Operation *, Vjp &)>;

/// Rules by the type of op.
class RuleTable {
public:
  template <typename OpT> void add(void (*rule)(OpT, Vjp &)) {
    rules[mlir::TypeID::get<OpT>()] = [rule](mlir::Operation *op, Vjp &v) {
      rule(mlir::cast<OpT>(op), v);
    };
  }
  const VjpRule *find(mlir::Operation *op) const {
    auto it = rules.find(op->getName().getTypeID());
    return it == rules.end() ? nullptr : &it->second;
  }

private:
  llvm::DenseMap<mlir::TypeID, VjpRule> rules;
};

/// The rules of named ops (VjpNamedRules.cpp).
void addNamedRules(RuleTable &table);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_AUTODIFF_VJP_H
