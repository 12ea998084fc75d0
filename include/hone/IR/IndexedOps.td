//===- IndexedOps.td - Ops that read rows by number --------*- tablegen -*-===//

#ifndef HONE_IR_INDEXEDOPS_TD
#define HONE_IR_INDEXEDOPS_TD

include "mlir/IR/OpBase.td"

def Hone_IndexedOpInterface : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    The interface marks an op with operands whose elements are ids: numbers of rows of a table, or of classes. An id
    outside the table is undefined behaviour of the graph. So the compiler proves that there is none, or checks each
    batch (`hone-bound-ids`, `hone-guard-ids`). An op that attaches this interface gets the proof and the check.
  }];
  let methods = [
    InterfaceMethod<"The operands that hold ids, with the ids that each accepts.",
      "::llvm::SmallVector<::hone::IdOperand>", "getIdOperands">
  ];
}

#endif // HONE_IR_INDEXEDOPS_TD
