//===- ParsedFunction.h - Parses a function for tests -----------*- C++ -*-===//

#ifndef HONE_TEST_UNIT_ANALYSIS_PARSEDFUNCTION_H
#define HONE_TEST_UNIT_ANALYSIS_PARSEDFUNCTION_H

#include "hone/IR/Hone.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace hone {

/// The ops of one function, given as `(arguments) { ops }` in text.
class ParsedFunction {
public:
  ParsedFunction(llvm::StringRef arguments, llvm::StringRef body) {
    context.loadDialect<HoneDialect, mlir::func::FuncDialect>();
    std::string text =
        ("func.func @f(" + arguments + ") {\n" + body + "\nreturn\n}").str();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }

  mlir::Block &block() {
    return (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  }
  llvm::SmallVector<mlir::Operation *> ops() {
    llvm::SmallVector<mlir::Operation *> ops;
    for (mlir::Operation &op : block().without_terminator())
      ops.push_back(&op);
    return ops;
  }
  mlir::Value argument(unsigned index) { return block().getArgument(index); }
  mlir::Value result(unsigned op) { return ops()[op]->getResult(0); }

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace hone

#endif // HONE_TEST_UNIT_ANALYSIS_PARSEDFUNCTION_H
