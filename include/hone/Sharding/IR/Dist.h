//===- Dist.h - The dist dialect: meshes, shardings, collectives ----------===//

#ifndef HONE_SHARDING_IR_DIST_H
#define HONE_SHARDING_IR_DIST_H

#include "hone/IR/Hone.h"
#include "hone/Sharding/IR/Chunk.h"
#include "hone/Sharding/IR/Links.h"
#include "hone/Sharding/IR/PlacementChange.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

#include <string>

#include "hone/Sharding/IR/DistDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "hone/Sharding/IR/DistAttrs.h.inc"

#include "hone/Sharding/IR/DistInterfaces.h.inc"

#define GET_OP_CLASSES
#include "hone/Sharding/IR/DistOps.h.inc"

namespace hone::dist {

/// Name of the `#dist.sharding` of arguments and results of functions.
constexpr llvm::StringLiteral shardingAttr = attr::sharding;
/// Name of the array of `#dist.sharding`, one per result, that dist-propagate
/// leaves on each op.
constexpr llvm::StringLiteral shardingsAttr = "dist.shardings";

/// On parameters: what is gathered of them for the forward part is gathered
/// again for the backward part, and not kept.
constexpr llvm::StringLiteral regatherAttr = "dist.regather";
/// On the module: how many stages it is cut into, one for each rank of axis pp.
constexpr llvm::StringLiteral stagesAttr = "dist.stages";
/// On the module: how many chunks `dist.boundary` names, where stages have
/// several each; without it, a stage is a chunk.
constexpr llvm::StringLiteral chunksAttr = "dist.chunks";
/// On the module of a stage: its number.
constexpr llvm::StringLiteral stageAttr = "dist.stage";
/// On the module: the order of micro-batches in its stages, a name that
/// pipeline::parseScheduleChoice reads or lists as CSV.
constexpr llvm::StringLiteral scheduleAttr = "dist.schedule";
/// On the module of a stage: what its functions need to know of the schedule
/// (pipeline::StageTurns).
constexpr llvm::StringLiteral turnsAttr = "dist.turns";
/// On the module: how rows get to experts along axis ep, and what that sends
/// (dist-block-experts).
constexpr llvm::StringLiteral expertsAttr = "dist.experts";
/// On arguments that a stage keeps for several micro-batches: how many
/// instances of them there are.
constexpr llvm::StringLiteral windowAttr = "dist.window";
/// Marks a collective of a piece (`dist-split-for-overlap`): it is not joined
/// with those of other pieces.
constexpr llvm::StringLiteral pieceAttr = "dist.piece";
/// The axis of a mesh whose coordinates are the stages of a pipeline. It
/// divides no tensor.
constexpr llvm::StringLiteral stageAxis = "pp";

/// "stage3": the name of a stage's module.
inline std::string stageName(int64_t stage) {
  return "stage" + std::to_string(stage);
}

/// Whether arguments and results of a kind may be partial sums.
inline bool mayBePartial(llvm::StringRef kind) { return kind == kind::grad; }

/// Whether `op` is a collective that only begins (see `dist.wait`).
inline bool isAsync(mlir::Operation *op) {
  auto collective = mlir::dyn_cast_or_null<CollectiveOpInterface>(op);
  return collective && collective.getAsync();
}

} // namespace hone::dist

#endif // HONE_SHARDING_IR_DIST_H
