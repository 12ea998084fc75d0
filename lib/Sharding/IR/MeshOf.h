//===- MeshOf.h - The mesh around an op -------------------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_IR_MESHOF_H
#define HONE_LIB_SHARDING_IR_MESHOF_H

#include "hone/Sharding/IR/Sharding.h"

namespace hone::dist {

/// The mesh of the module of `op`; reported where there is none.
mlir::FailureOr<Mesh> meshOf(mlir::Operation *op);

/// The axes that `op` names; reported where they are not of the mesh, each
/// named once.
mlir::FailureOr<Axes> verifyAxes(mlir::Operation *op, mlir::ArrayAttr names,
                                 const Mesh &mesh);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_IR_MESHOF_H
