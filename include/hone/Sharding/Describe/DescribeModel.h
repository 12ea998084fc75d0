//===- DescribeModel.h - A graph as a search for meshes sees it -*- C++ -*-===//

#ifndef HONE_SHARDING_DESCRIBE_DESCRIBEMODEL_H
#define HONE_SHARDING_DESCRIBE_DESCRIBEMODEL_H

#include "hone/Analysis/MeshSearch/Model.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hone::dist {

/// What dividing `forward` depends on, which is the function that the raise
/// phase leaves: its residual stream has elements of `streamBytes`, all other
/// activations of `elementBytes`. Units end where a
/// pipeline may be cut; a function without such a place is one unit. Sequences
/// are those of the function's batch; FLOPs and bytes per parameter are for the
/// caller to set. An error at a function that has no input or no product.
mlir::FailureOr<search::Model> describeModel(mlir::func::FuncOp forward,
                                             double elementBytes,
                                             double streamBytes);

} // namespace hone::dist

#endif // HONE_SHARDING_DESCRIBE_DESCRIBEMODEL_H
