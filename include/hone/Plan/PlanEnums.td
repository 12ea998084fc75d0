//===- PlanEnums.td - Enumerations of the plan dialect ---------*- tablegen -*-===//

#ifndef HONE_PLAN_PLANENUMS_TD
#define HONE_PLAN_PLANENUMS_TD

include "mlir/IR/EnumAttr.td"

// The line of the memory report that counts a buffer. Buffers of state have none.
def Plan_PurposeAttr : I32EnumAttr<"Purpose", "purpose of a buffer", [
  I32EnumAttrCase<"activations", 0>,    // computed on the way to the loss, read after it
  I32EnumAttrCase<"gradients", 1>,      // gradients of parameters, until the update or the end
  I32EnumAttrCase<"workspaces", 2>,     // scratch of one launch
  I32EnumAttrCase<"temporaries", 3>]> { // the rest
  let cppNamespace = "::hone::plan";
}

// What a stage of a pipeline does with a message: the ActionKind of abi.def that has the name.
def Plan_TransferAttr : I32EnumAttr<"Transfer", "part of a message between stages", [
  I32EnumAttrCase<"send", 0>,
  I32EnumAttrCase<"receive", 1>,
  I32EnumAttrCase<"awaitReceive", 2, "await_receive">,
  I32EnumAttrCase<"awaitSend", 3, "await_send">]> {
  let cppNamespace = "::hone::plan";
}

// Where a copy between the two arenas goes: the CopyDirection of abi.def that has the name.
def Plan_DirectionAttr : I32EnumAttr<"Direction", "direction of a copy between the arenas", [
  I32EnumAttrCase<"down", 0>,  // to the second arena
  I32EnumAttrCase<"up", 1>]> { // from it
  let cppNamespace = "::hone::plan";
}

#endif // HONE_PLAN_PLANENUMS_TD
