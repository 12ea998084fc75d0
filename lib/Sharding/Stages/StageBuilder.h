//===- StageBuilder.h - A function of a stage, being built ------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_STAGES_STAGEBUILDER_H
#define HONE_LIB_SHARDING_STAGES_STAGEBUILDER_H

#include "Sharding/Stages/StageFunction.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone::dist {

/// A function of a stage that is being built.
class StageBuilder {
public:
  StageBuilder(mlir::func::FuncOp whole, const Owners &owners, int64_t stage,
               const llvm::Twine &name)
      : whole(whole), owners(owners), stage(stage),
        builder(whole.getLoc(), whole.getContext()),
        func(mlir::func::FuncOp::create(whole.getLoc(), name.str(),
                                        builder.getFunctionType({}, {}))),
        body(func.addEntryBlock()) {
    builder.setInsertionPointToStart(body);
  }

  /// Takes `argument` over; a parameter of another stage is a working copy.
  void addArgument(mlir::BlockArgument argument);
  mlir::BlockArgument addArgument(mlir::Type type, llvm::StringRef kind,
                                  const llvm::Twine &name,
                                  ShardingAttr sharding = {}) {
    argAttrs.push_back(describe(kind, name, sharding));
    return body->addArgument(type, builder.getLoc());
  }
  /// Takes over result `index`, whose value is mapped.
  void addResult(unsigned index);
  void addResult(mlir::Value value, llvm::StringRef kind,
                 const llvm::Twine &name, ShardingAttr sharding) {
    results.push_back(value);
    resultAttrs.push_back(describe(kind, name, sharding));
  }
  /// Copies `op`. What propagation found for the whole holds no longer.
  void clone(mlir::Operation &op) {
    builder.clone(op, mapping)->removeAttr(shardingsAttr);
  }
  /// `value`, divided as both ends of a boundary are.
  mlir::Value constrain(mlir::Value value, ShardingAttr sharding) {
    return sharding ? builder.create<ConstrainOp>(value, sharding) : value;
  }
  /// Adds `gradient`, of parameter `name` of another chunk, to the sum of those
  /// of the micro-batches before, which is called `sumName`.
  void addGradient(mlir::Value gradient, llvm::StringRef name,
                   const llvm::Twine &sumName);
  /// A result that takes the place of an argument.
  void addUpdate(mlir::Value value, mlir::BlockArgument old);
  mlir::func::FuncOp finish();

  mlir::func::FuncOp whole;
  const Owners &owners;
  int64_t stage;
  mlir::IRMapping mapping;
  mlir::ImplicitLocOpBuilder builder;

private:
  mlir::DictionaryAttr describe(llvm::StringRef kind, const llvm::Twine &name,
                                ShardingAttr sharding) {
    mlir::NamedAttrList attrs;
    attrs.set(attr::kind, builder.getStringAttr(kind));
    attrs.set(attr::fqn, builder.getStringAttr(name));
    if (sharding)
      attrs.set(shardingAttr, sharding);
    return attrs.getDictionary(builder.getContext());
  }

  mlir::func::FuncOp func;
  mlir::Block *body;
  llvm::SmallVector<mlir::DictionaryAttr> argAttrs, resultAttrs;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_STAGEBUILDER_H
