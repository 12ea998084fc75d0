//===- ResultNames.cpp - Names of op results in printed IR ----------------===//

#include "hone/IR/ResultNames.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace {

/// The modules of the user's model that the location names, "bwd.blocks.0.mlp";
/// without any, the mnemonic without its dialect. Constants are `cst`, as in
/// MLIR.
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
      name += (name.empty() ? "" : ".") + named.getName().str();
    return WalkResult::advance();
  });
  return name.empty() ? mnemonic.str() : name;
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
