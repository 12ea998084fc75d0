//===- ResultNames.cpp - Names of op results in printed IR ----------------===//

#include "hone/IR/ResultNames.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace {

struct ResultNames : OpAsmOpInterface::FallbackModel<ResultNames> {
  void getAsmResultNames(Operation *op, OpAsmSetValueNameFn setName) const {
    if (op->getNumResults() == 0)
      return;
    // The mnemonic without its dialect. Constants are `cst`, as in MLIR.
    StringRef mnemonic = op->getName().stripDialect();
    setName(op->getResult(0), mnemonic == "constant" ? "cst" : mnemonic);
  }
  void getAsmBlockArgumentNames(Operation *, Region &,
                                OpAsmSetValueNameFn) const {}
  void getAsmBlockNames(Operation *, OpAsmSetBlockNameFn) const {}
  static StringRef getDefaultDialect() { return ""; }
};

} // namespace

void *hone::findResultNames(TypeID interface) {
  if (interface != OpAsmOpInterface::getInterfaceID())
    return nullptr;
  static ResultNames names;
  return &names;
}
