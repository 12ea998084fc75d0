//===- StepFunction.h - A function that is being built ----------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_STEPFUNCTION_H
#define HONE_LIB_TRANSFORMS_STEP_STEPFUNCTION_H

#include "hone/IR/Hone.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// A function under construction: arguments and results with their attributes,
/// which become its type in the end (one by one would take quadratic time).
class StepFunction {
public:
  StepFunction(mlir::MLIRContext *context, mlir::Location loc,
               llvm::StringRef name)
      : builder(loc, context), func(mlir::func::FuncOp::create(
                                   loc, name, builder.getFunctionType({}, {}))),
        body(func.addEntryBlock()) {
    builder.setInsertionPointToStart(body);
  }

  /// Appends an argument that carries `attrs`.
  mlir::BlockArgument addArgument(mlir::Type type, mlir::DictionaryAttr attrs,
                                  mlir::Location loc) {
    argAttrs.push_back(attrs);
    return body->addArgument(type, loc);
  }

  /// Appends an argument of a kind, with a name and no other attribute.
  mlir::BlockArgument addArgument(mlir::Type type, llvm::StringRef kind,
                                  const llvm::Twine &name) {
    return addArgument(type, describe(kind, name), builder.getLoc());
  }

  void addResult(mlir::Value value, mlir::DictionaryAttr attrs) {
    results.push_back(value);
    resultAttrs.push_back(attrs);
  }

  /// Appends a result that takes the place of an argument.
  void addUpdate(mlir::Value value, mlir::BlockArgument old) {
    mlir::DictionaryAttr whole = argAttrs[old.getArgNumber()];
    mlir::NamedAttrList attrs;
    for (llvm::StringRef name : {attr::kind, attr::fqn, attr::parts})
      if (mlir::Attribute value = whole.get(name))
        attrs.append(name, value);
    attrs.append(attr::donates, builder.getI64IntegerAttr(old.getArgNumber()));
    addResult(value, attrs.getDictionary(builder.getContext()));
  }

  mlir::DictionaryAttr describe(llvm::StringRef kind,
                                const llvm::Twine &name = "") {
    mlir::NamedAttrList attrs;
    attrs.append(attr::kind, builder.getStringAttr(kind));
    if (!name.isTriviallyEmpty())
      attrs.append(attr::fqn, builder.getStringAttr(name));
    return attrs.getDictionary(builder.getContext());
  }

  /// Ends the body with a return of the results.
  mlir::func::FuncOp finish() {
    builder.create<mlir::func::ReturnOp>(results);
    func.setFunctionType(builder.getFunctionType(
        body->getArgumentTypes(), mlir::ValueRange(results).getTypes()));
    func.setAllArgAttrs(argAttrs);
    func.setAllResultAttrs(resultAttrs);
    return func;
  }

  mlir::ImplicitLocOpBuilder builder;

private:
  mlir::func::FuncOp func;
  mlir::Block *body;
  llvm::SmallVector<mlir::DictionaryAttr> argAttrs;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> resultAttrs;
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_STEPFUNCTION_H
