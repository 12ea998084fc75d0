//===- IndexedOps.td - Ops that read rows by number --------*- tablegen -*-===//

#ifndef HONE_IR_INDEXEDOPS_TD
#define HONE_IR_INDEXEDOPS_TD

include "mlir/IR/OpBase.td"

def Hone_IndexedOpInterface : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::hone";
  let description = [{
    An op with operands whose elements are ids: numbers of rows of a table, or of classes. What an id outside the table
    does is undefined behaviour of the graph, so the compiler proves that there is none or checks each batch
    (`hone-bound-ids`, `hone-guard-ids`). An op that indexes attaches this interface and gets both.
  }];
  let methods = [
    InterfaceMethod<"The operands that hold ids, and which ids each takes.",
      "::llvm::SmallVector<::hone::IdOperand>", "getIdOperands">
  ];
}

#endif // HONE_IR_INDEXEDOPS_TD
