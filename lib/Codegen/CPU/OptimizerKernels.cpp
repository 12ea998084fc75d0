//===- OptimizerKernels.cpp - Kernels of updates --------------------------===//

#include "OptimizerKernels.h"

#include "Codegen/Common/UpdateEmitter.h"

using namespace mlir;
using namespace hone;

FailureOr<Kernel> hone::emitUpdates(OpBuilder &builder, StringRef name,
                                    plan::LaunchOp launch) {
  FailureOr<UpdateTable> table = UpdateTable::of(launch);
  if (failed(table))
    return failure();
  UpdateEmitter b(builder, name, launch, *table);
  if (auto coded = dyn_cast<Adamw8bitOp>(table->op.getOperation()))
    emitCodedAdamw(b, coded);
  else if (!emitUpdate(b))
    return launch.emitOpError("holds an update that has no kernel, ")
           << table->op->getName()
           << ": expected hone-decompose-updates before";
  return Kernel{b.func, table->tensors.items(), 1, table->tensors};
}
