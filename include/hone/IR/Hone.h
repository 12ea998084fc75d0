//===- Hone.h - The hone dialect --------------------------------*- C++ -*-===//
//
// The training-graph dialect: ops, enumerations, attribute names. The page
// docs/generated/HoneDialect.md is generated from the .td files.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_HONE_H
#define HONE_IR_HONE_H

#include "hone/IR/OpFacts.h"
#include "hone/IR/Shapes.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace honert { // base/ScaleLayout.h, base/Fp8.h
struct ScaleLayout;
enum class ScaleTile : int64_t;
enum class Fp8Format : int64_t;
} // namespace honert

#include "hone/IR/HoneDialect.h.inc"
#include "hone/IR/HoneEnums.h.inc"

#include "hone/IR/HoneInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "hone/IR/HoneAttrs.h.inc"

#define GET_OP_CLASSES
#include "hone/IR/HoneOps.h.inc"

namespace hone {

/// Names of the argument, result and module attributes (HoneDialect.td).
namespace attr {
constexpr llvm::StringLiteral kind = "hone.kind";
constexpr llvm::StringLiteral fqn = "hone.fqn";
constexpr llvm::StringLiteral aliases = "hone.aliases";
constexpr llvm::StringLiteral requiresGrad = "hone.requires_grad";
constexpr llvm::StringLiteral paramGroup = "hone.param_group";
constexpr llvm::StringLiteral init = "hone.init";
constexpr llvm::StringLiteral role = "hone.role";
constexpr llvm::StringLiteral vocab = "hone.vocab";
constexpr llvm::StringLiteral donates = "hone.donates";
constexpr llvm::StringLiteral parts = "hone.parts";
/// Of dialect `dist`: which share of an argument or result a rank has.
constexpr llvm::StringLiteral sharding = "dist.sharding";
constexpr llvm::StringLiteral version = "hone.version";
constexpr llvm::StringLiteral model = "hone.model";
constexpr llvm::StringLiteral optimizer = "hone.optimizer";
/// On the module: the machine to compile for, "cpu znver4" or "cuda sm_90".
constexpr llvm::StringLiteral target = "hone.target";
/// On the module: the policy of mixed precision that its functions follow.
constexpr llvm::StringLiteral precision = "hone.precision";
/// On the module, after the step phase: micro-batches per optimizer step.
constexpr llvm::StringLiteral microBatches = "hone.micro_batches";
/// On the module: no bit depends on how ranks divide it
/// (hone-set-mesh-invariant).
constexpr llvm::StringLiteral meshInvariant = "hone.mesh_invariant";
/// On an attention op: a library computes it, with so many bytes besides
/// operands and results, and with the same bits whenever it does.
constexpr llvm::StringLiteral workspace = "hone.workspace";
constexpr llvm::StringLiteral deterministic = "hone.deterministic";
/// On an op: it computes again what an op without this attribute computed.
constexpr llvm::StringLiteral clone = "hone.clone";
/// On an op: its result is about the documents of a row, "segment" (their
/// number) or "position" (inside of them). Where a row is one document, what
/// reads it needs no computation of documents.
constexpr llvm::StringLiteral ofDocument = "hone.of_document";
// The choice of checkpoints (Passes.td, hone-apply-checkpoints).
constexpr llvm::StringLiteral forward = "hone.forward";
constexpr llvm::StringLiteral backward = "hone.backward";
constexpr llvm::StringLiteral recompute = "hone.recompute";
constexpr llvm::StringLiteral schedule = "hone.schedule";
/// On the module: pairs of bytes of the arena and estimated seconds per step
/// that checkpoints allow, and the budget that they were chosen for.
constexpr llvm::StringLiteral memoryCurve = "hone.memory_curve";
constexpr llvm::StringLiteral memoryBudget = "hone.memory_budget";
/// On @gradient: the cotangent of the loss.
constexpr llvm::StringLiteral seed = "hone.seed";
} // namespace attr

/// Values of `hone.kind`.
namespace kind {
constexpr llvm::StringLiteral param = "param";
constexpr llvm::StringLiteral buffer = "buffer";
constexpr llvm::StringLiteral opt = "opt";
constexpr llvm::StringLiteral grad = "grad";
constexpr llvm::StringLiteral input = "input";
constexpr llvm::StringLiteral rng = "rng";
constexpr llvm::StringLiteral scalar = "scalar";
/// A parameter in the type that contractions read; derived, never saved.
constexpr llvm::StringLiteral workingCopy = "working_copy";
/// Keys or values of the positions that @generate has seen; never saved.
constexpr llvm::StringLiteral cache = "cache";
/// What a stage of a pipeline gets from the one before; as a result, the
/// gradient of that.
constexpr llvm::StringLiteral boundary = "boundary";
/// What the backward part of a stage reads of its forward part.
constexpr llvm::StringLiteral saved = "saved";
constexpr llvm::StringLiteral loss = "loss";
constexpr llvm::StringLiteral gradNorm = "grad_norm";
constexpr llvm::StringLiteral logits = "logits";
} // namespace kind

/// Version of the dialect that `hone.version` names.
constexpr int64_t dialectVersion = 2;

/// Whether the module around `op`, or `op`, is exact.
bool isMeshInvariant(mlir::Operation *op);

/// Whether `op` may stand in the functions of a model, before ranks divide
/// them: an op of the dialect, or of another one that answers as they do and
/// exchanges nothing between ranks.
bool isGraphOp(mlir::Operation *op);

/// The string attribute `name` of an argument or result, or "".
llvm::StringRef argString(mlir::func::FuncOp func, unsigned index,
                          llvm::StringRef name);
llvm::StringRef resultString(mlir::func::FuncOp func, unsigned index,
                             llvm::StringRef name);

/// The results of `func` of kind `kind`, by index.
llvm::SmallVector<unsigned> findResults(mlir::func::FuncOp func,
                                        llvm::StringRef kind);

/// The same boxes under names that begin with `prefix`; null for null.
mlir::ArrayAttr prefixParts(mlir::ArrayAttr parts, const llvm::Twine &prefix);
/// Elements that files hold of an argument of `type` with these parts, or null.
int64_t countElements(mlir::ArrayAttr parts, mlir::Type type);

} // namespace hone

#endif // HONE_IR_HONE_H
