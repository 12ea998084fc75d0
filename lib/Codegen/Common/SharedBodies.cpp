//===- SharedBodies.cpp - Bodies that kernels share -----------------------===//

#include "SharedBodies.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace hone;

/// Marks constants that are salts.
static constexpr llvm::StringLiteral saltAttr = "hone.salt";

Value hone::createSalt(OpBuilder &builder, Location loc, int64_t salt) {
  auto constant =
      builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(salt));
  constant->setAttr(saltAttr, builder.getUnitAttr());
  return constant;
}

/// Turns the salts in `body` to arguments before its last two; returns them.
static SmallVector<int64_t> takeSalts(OpBuilder &builder, func::FuncOp body) {
  llvm::MapVector<int64_t, SmallVector<arith::ConstantOp>> constants;
  body.walk([&](arith::ConstantOp constant) {
    if (constant->hasAttr(saltAttr))
      constants[cast<IntegerAttr>(constant.getValue()).getInt()].push_back(
          constant);
  });
  SmallVector<int64_t> salts;
  for (auto &[salt, ops] : constants) {
    salts.push_back(salt);
    unsigned index = body.getNumArguments() - 2;
    body.insertArgument(index, builder.getI64Type(), {}, body.getLoc());
    for (arith::ConstantOp op : ops) {
      op.replaceAllUsesWith(body.getArgument(index));
      op.erase();
    }
  }
  return salts;
}

func::FuncOp SharedBodies::share(OpBuilder &builder, func::FuncOp func) {
  OpBuilder::InsertionGuard guard(builder);
  std::string name = func.getName().str();
  Location loc = func.getLoc();
  builder.setInsertionPointAfter(func);
  auto caller = builder.create<func::FuncOp>(loc, name, func.getFunctionType());
  caller.setPrivate();
  SmallVector<int64_t> salts = takeSalts(builder, func);
  // All under one name are compared by their code.
  func.setName("body");
  std::string code;
  llvm::raw_string_ostream stream(code);
  func->print(stream, OpPrintingFlags().useLocalScope());
  auto [found, isNew] = bodies.try_emplace(code, func);
  func::FuncOp body = found->second;
  if (isNew)
    body.setName(name + "_body");
  else
    func.erase();
  builder.setInsertionPointToEnd(caller.addEntryBlock());
  SmallVector<Value> arguments(caller.getArguments());
  for (int64_t salt : salts) {
    Value value =
        builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(salt));
    arguments.insert(arguments.end() - 2, value);
  }
  builder.create<func::CallOp>(loc, body, arguments);
  builder.create<func::ReturnOp>(loc);
  return caller;
}
