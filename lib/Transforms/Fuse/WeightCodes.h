//===- WeightCodes.h - Codes of weights, and what they are made of -*- C++ -*-//

#ifndef HONE_TRANSFORMS_FUSE_WEIGHTCODES_H
#define HONE_TRANSFORMS_FUSE_WEIGHTCODES_H

#include "hone/IR/CodeNames.h"
#include "hone/IR/Hone.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace hone {

/// Codes that a function makes of a working copy.
struct WeightCodes {
  mlir::StringAttr name; ///< of the weight
  mlir::BlockArgument copy;
  /// From the copy to hone.quantize, which is last, in program order. They
  /// read nothing but the copy and each other.
  llvm::SmallVector<mlir::Operation *> ops;
  std::string recipe; ///< of equal ops of different functions, equal text

  QuantizeOp quantize() const { return llvm::cast<QuantizeOp>(ops.back()); }
  bool isTransposed() const { return quantize().getTransposed(); }
};

/// All of `func`, in program order.
llvm::SmallVector<WeightCodes> findWeightCodes(mlir::func::FuncOp func);

/// Codes that a program keeps of a weight.
struct CodesForm {
  WeightCodes example;            ///< of some function
  mlir::StringAttr codes, scales; ///< names of the arguments

  /// `same`: how many forms of the orientation there are before it.
  static CodesForm make(const WeightCodes &example, int same);
  /// The same of another value of the working copy's type.
  QuantizeOp clone(mlir::OpBuilder &builder, mlir::Value copy) const;
};

/// Working copies as arguments and results of a function.
class StateAppender {
public:
  explicit StateAppender(mlir::func::FuncOp func) : func(func) {}

  /// The argument of that name, which is added where there is none.
  mlir::BlockArgument get(mlir::StringAttr name, mlir::Type type);
  /// Adds a result that replaces the argument of that name.
  void replace(mlir::StringAttr name, mlir::Value made);

private:
  mlir::func::FuncOp func;
};

/// Removes arguments and results of kind working_copy with these names.
/// Nothing reads the arguments.
void eraseWorkingCopies(mlir::func::FuncOp func,
                        llvm::function_ref<bool(mlir::StringAttr)> isErased);

/// Makes again what updates make of new parameters, of parameters.
class CopyMaker {
public:
  CopyMaker(mlir::func::FuncOp into, mlir::OpBuilder &builder)
      : into(into), builder(builder) {}

  /// Whether `made`, of a function that updates, is made of new parameters
  /// alone.
  static bool canMake(mlir::func::FuncOp update, mlir::Value made);
  mlir::Value make(mlir::func::FuncOp update, mlir::Value made);
  /// `param`, of another function, rounded.
  mlir::Value round(mlir::BlockArgument param, mlir::Type type);

private:
  mlir::BlockArgument parameter(mlir::func::FuncOp func, unsigned index);

  mlir::func::FuncOp into;
  mlir::OpBuilder &builder;
  mlir::IRMapping mapping;
};

} // namespace hone

#endif // HONE_TRANSFORMS_FUSE_WEIGHTCODES_H
