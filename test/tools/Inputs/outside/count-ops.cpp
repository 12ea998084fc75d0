//===- count-ops.cpp - How often each op of a file is there ---------------===//

#include "hone/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <map>

int main(int, char **argv) {
  mlir::DialectRegistry registry;
  hone::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  std::map<std::string, int> counts;
  module->walk([&](mlir::Operation *op) {
    ++counts[op->getName().getStringRef().str()];
  });
  for (const auto &[name, count] : counts)
    llvm::outs() << name << ' ' << count << '\n';
  return 0;
}
