//===- ResultNames.h - Names of op results in printed IR --------*- C++ -*-===//

#ifndef HONE_IR_RESULTNAMES_H
#define HONE_IR_RESULTNAMES_H

#include "mlir/Support/TypeID.h"

namespace hone {

/// For getRegisteredInterfaceForOp of Hone's dialects: implements
/// OpAsmOpInterface for every op, null for another interface. An op's results
/// are then printed under the module of the user's model that its location
/// names, if any, and its mnemonic: `%blocks.0.attn.qkv.dot_general`.
void *findResultNames(mlir::TypeID interface);

} // namespace hone

#endif // HONE_IR_RESULTNAMES_H
