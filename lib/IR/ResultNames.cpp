//===- ResultNames.cpp - Names of op results in printed IR ----------------===//

#include "hone/IR/ResultNames.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace {

/// What the location names, modules of the user's model and marks of passes,
/// and the mnemonic without its dialect: "bwd.blocks.0.mlp.neg". Constants are
/// `cst`, as in MLIR.
std::string nameOf(Operation *op) {
  StringRef mnemonic = op->getName().stripDialect();
  if (mnemonic == "constant")
    return "cst";
  std::string name;
  op->getLoc()->walk([&](Location part) {
    // Of several ops that became one, the first.
    if (isa<FileLineColLoc>(part))
      return WalkResult::interrupt();
    if (auto named = dyn_cast<NameLoc>(part))
      name += named.getName().str() + ".";
    return WalkResult::advance();
  });
  return name + mnemonic.str();
}

struct ResultNames : OpAsmOpInterface::FallbackModel<ResultNames> {
  void getAsmResultNames(Operation *op, OpAsmSetValueNameFn setName) const {
    if (op->getNumResults() != 0)
      setName(op->getResult(0), nameOf(op));
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
