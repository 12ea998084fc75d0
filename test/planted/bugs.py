"""Defects to plant: each replaces one piece of text in one file, and some test must fail.

    bugs.py            lists them
    bugs.py --check    fails if a piece of text is not in its file exactly once (an ordinary test: the table cannot rot)

tools/check-planted.sh plants them one by one and reports which test notices. `tests` says where to look first: paths of
lit tests below test/, files of pytest in test/python, or names of unit test programs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Bug:
    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


VJP, VJP_NAMED = "lib/Transforms/Autodiff/VjpRules.cpp", "lib/Transforms/Autodiff/VjpNamedRules.cpp"
DECOMPOSE, STEP = "lib/Transforms/Fuse/DecomposeRows.cpp", "lib/Transforms/Step/BuildStep.cpp"
UNFUSED = "lib/Transforms/Fuse/DecomposeAttention.cpp"
RINGS = "lib/Sharding/Collectives/LowerRings.cpp"
BOUND_IDS, GUARD_IDS = "lib/Transforms/Import/BoundIds.cpp", "lib/Transforms/Import/GuardIds.cpp"
GRADIENTS = ("Transforms/Autodiff/autodiff", "fuzz/autodiff.test")
ROWS = ("fuzz/decompose.test", "Transforms/Fuse/decompose-rows-values.mlir")
PROGRAMS = ("Codegen/random-programs.test",)
KERNELS = ("hone-kernel-tests", *PROGRAMS)
DEVICE = ("hone-kernel-tests",)
ATTENTION = ("hone-attention-tests", *PROGRAMS)
CUDNN, CUDNN_GRAPH = ("honert-cuda-tests",), "runtime/lib/exec/cuda/attention/Graph.cpp"
BRANCHES = ("honert-cuda-tests", "e2e/emulated-branches.test")
RANKS_MEET = ("honert-tests",)
OFFLOAD, STAGED = ("e2e/offload.test",), "lib/Transforms/Plan/StagedParts.cpp"
FILE_ARENA = "runtime/lib/exec/cpu/FileArena.cpp"
HOST_ARENA, OFFLOAD_GPU = "runtime/lib/exec/cuda/core/HostArena.cpp", ("e2e/emulated-offload.test",)
MOVED = "lib/Transforms/Plan/MovedValues.cpp"
UNFUSED_TESTS = ("Transforms/Fuse/decompose-attention", "fuzz/decompose-attention.test")
FP8, SCALES = "runtime/lib/base/Fp8.h", "runtime/lib/base/ScaleLayout.h"
CODES = ("honert-tests", "Interpreter/quantize-torch.test")
QUANTIZE, QUANTIZED = "lib/Transforms/Fuse/QuantizeProducts.cpp", "lib/Transforms/Precision/QuantizedProducts.cpp"
MARKS = ("Transforms/Precision/mixed-precision/fp8.mlir",)
CODE_PRODUCTS = ("Transforms/Fuse/quantize-products", "fuzz/quantized.test")

BUGS = [
    # Gradients.
    Bug("vjp-tanh-sign", VJP, "v.sub(v.like(y, 1.0), v.mul(y, y))", "v.sub(v.mul(y, y), v.like(y, 1.0))", GRADIENTS),
    Bug("vjp-broadcast-not-summed", VJP, "v.add(op.getOperand(), v.sum(v.g, added));",
        "v.add(op.getOperand(), added.empty() ? v.g : v.make<ReduceOp>(ReduceKind::max, v.g, added));", GRADIENTS),
    Bug("vjp-transpose-not-inverted", VJP, "inverse[from] = to;", "inverse[to] = from;", GRADIENTS),
    Bug("vjp-quotient-not-squared", VJP, "v.neg(v.mul(v.g, v.div(op.getResult(), op.getRhs())))",
        "v.neg(v.mul(v.g, op.getResult()))", GRADIENTS),
    Bug("vjp-norm-scale-not-centred", VJP_NAMED, "Value centred = v.sub(v.castTo(x, type), v.alongRows(mean, shape));",
        "Value centred = v.castTo(x, type);", GRADIENTS),
    Bug("vjp-rope-forward-again", VJP_NAMED, "op.getSin(), !op.getInverse())", "op.getSin(), op.getInverse())", GRADIENTS),
    Bug("vjp-dropout-other-mask", VJP_NAMED, "op.getP(), op.getSalt(),", "op.getP(), op.getSalt() + 1,", GRADIENTS),
    Bug("vjp-ties-counted-twice", VJP, "v.mul(v.g, 0.5), v.g)", "v.g, v.g)", GRADIENTS),
    Bug("vjp-product-batch-order", VJP,
        "otherBatch.push_back(other.batch[pair]);",
        "otherBatch.push_back(other.batch[pairs.size() - 1 - pair]);", GRADIENTS),
    Bug("vjp-cumsum-same-direction", VJP, "op.getDim(), !op.getReverse())", "op.getDim(), op.getReverse())", GRADIENTS),
    Bug("vjp-slice-stride-off-by-one", VJP, "int64_t stride = op.getInterior()[dim] + 1;",
        "int64_t stride = std::max<int64_t>(1, op.getInterior()[dim]);", GRADIENTS),
    Bug("autodiff-seed-ignored", "lib/Transforms/Autodiff/Autodiff.cpp", "one(loss, seed);", "one(loss, 1.0);", GRADIENTS),
    # The step.
    Bug("step-loss-not-averaged", STEP, "b.create<DivOp>(results.front(), constant(b, lossType, double(count)));",
        "results.front();", ("fuzz/step.test",)),
    Bug("step-clip-without-epsilon", STEP,
        "b.create<AddOp>(norm, constant(b, type, 1e-6))", "norm", ("fuzz/step.test",)),
    Bug("step-clip-enlarges", STEP, "b.create<MinOp>(b.create<DivOp>(clip, shifted), one)",
        "b.create<MaxOp>(b.create<DivOp>(clip, shifted), one)", ("fuzz/step.test",)),
    Bug("scaling-never-grows", "lib/Transforms/Step/LossScaling.cpp",
        "choose(finite, choose(grows, grown, old.scale), shrunk)",
        "choose(finite, old.scale, shrunk)", ("Transforms/Step/build-step",)),
    Bug("scaling-counts-skipped-steps", "lib/Transforms/Step/LossScaling.cpp",
        "b.create<AddOp>(old.updates, b.create<CastOp>(count, finite))", "b.create<AddOp>(old.updates, i(1))",
        ("Transforms/Step/build-step",)),
    # Row ops.
    Bug("softmax-without-maximum", DECOMPOSE, "Value e = r.exp(r.sub(x, max));",
        "Value e = r.exp(x); max = e;", ROWS),
    Bug("loss-counts-ignored-rows", DECOMPOSE, "  loss = zeroUnlessValid(r, valid, loss);\n", "", ROWS),
    Bug("loss-gradient-over-all-rows", DECOMPOSE, "weight = r.div(weight, countValid(r, valid));",
        "weight = r.div(weight, countValid(r, {}));", ROWS),
    Bug("rms-norm-without-eps", DECOMPOSE, "r.add(r.meanRow(r.mul(x, x)), eps)", "r.meanRow(r.mul(x, x))", ROWS),
    Bug("layer-norm-gradient-without-mean", DECOMPOSE,
        "r.sub(r.sub(g, gMean), projected)", "r.sub(g, projected)", ROWS),
    Bug("smoothing-lost-in-gradient", DECOMPOSE,
        "Value one = r.splat(r.full, 1.0 - s)", "Value one = r.splat(r.full, 1.0)",
        ROWS),
    # Attention as products and row ops.
    Bug("unfused-causal-hides-diagonal", UNFUSED, "CmpPredicate::le", "CmpPredicate::lt", UNFUSED_TESTS),
    Bug("unfused-mask-scaled", UNFUSED, """  Value s = scaled(byHead(dots));
  if (mask)
    s = r.add(s, everyScore(mask));
""", """  Value s = byHead(dots);
  if (mask)
    s = r.add(s, everyScore(mask));
  s = scaled(s);
""", UNFUSED_TESTS),
    Bug("unfused-lse-without-maximum", UNFUSED, "r.add(made.top, b.create<LogOp>(made.sum))",
        "b.create<LogOp>(made.sum)",
        UNFUSED_TESTS),
    Bug("unfused-hidden-row", UNFUSED, "  lse = b.create<SelectOp>(isInfinite, infinity, lse);\n",
        "  (void)isInfinite;\n", UNFUSED_TESTS),
    Bug("unfused-gradient-unscaled", UNFUSED, "operandOf(scaled(ds))", "operandOf(ds)", UNFUSED_TESTS),
    Bug("unfused-gradient-not-centred", UNFUSED, "r.mul(p, r.sub(dp, r.perRow(delta(op))))", "r.mul(p, dp)",
        UNFUSED_TESTS),
    Bug("unfused-gradient-not-dropped", UNFUSED, "Value dp = drop(byHead(", "Value dp = (byHead(", UNFUSED_TESTS),
    Bug("unfused-weights-kept", UNFUSED, "      op.setAttr(attr::clone, b.getI64IntegerAttr(number));\n",
        "      (void)op;\n", UNFUSED_TESTS),
    # Caches that a text being continued writes in place.
    Bug("plan-update-of-a-value-read-later", "lib/Transforms/Plan/PlanMemory.cpp",
        "      emitCopy(builder, op.getLoc(), input, output,\n"
        "               typeOf(group.getInputs()[pair.operand]));\n", "",
        ("Transforms/Plan/plan/update-slice.mlir",)),
    Bug("decode-attention-one-key-more", "lib/Codegen/CPU/Attention/SingleQuery.cpp", "add(tile.position, 1)",
        "add(tile.position, 2)", ("hone-attention-tests", "e2e/generate.test")),
    # Folding and rewriting.
    Bug("fold-transposes-in-wrong-order", "lib/IR/HoneFolds.cpp", """    for (int64_t dim : op.getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);""", """    for (int64_t dim : inner.getPermutation())
      permutation.push_back(op.getPermutation()[dim]);""", ("fuzz/folding.test", "IR/Canonicalize")),
    Bug("fold-sum-with-positive-zero", "lib/IR/HoneFolds.cpp", "isSplat(adaptor.getRhs(), isFloat ? -0.0 : 0.0)",
        "isSplat(adaptor.getRhs(), 1.0)", ("fuzz/folding.test", "IR/Canonicalize")),
    Bug("join-pads-over-gaps", "lib/Transforms/Fuse/JoinPads.cpp", "if (pad.getLow()[*dim] != end)",
        "if (pad.getLow()[*dim] < 0)", ("Transforms/Fuse/join-pads", "fuzz/rewrite.test")),
    Bug("join-pads-with-second-reader", "lib/Transforms/Fuse/JoinPads.cpp", "if (!isRoot && !value.hasOneUse())",
        "if (!isRoot && value.use_empty())", ("Transforms/Fuse/join-pads", "fuzz/rewrite.test")),
    Bug("normalize-contracts-free-dims", "lib/Transforms/Fuse/NormalizeContractions.cpp",
        "int64_t first = batch.size() + free.size();", "int64_t first = batch.size();",
        ("Transforms/Fuse/normalize-contractions", "fuzz/rewrite.test")),
    # Chunks of the loss.
    Bug("chunk-one-row-twice", "lib/Transforms/Fuse/ChunkLoss.cpp", "starts[0] = start;",
        "starts[0] = std::max<int64_t>(0, start - 1), limits[0] = starts[0] + size;", ("fuzz/chunk-loss.test",)),
    Bug("chunk-loses-first-sum", "lib/Transforms/Fuse/ChunkLoss.cpp",
        "total = total ? Value(b.create<AddOp>(part, total)) : part;",
        "total = part;", ("fuzz/chunk-loss.test",)),
    Bug("chunk-mean-per-chunk", "lib/Transforms/Fuse/ChunkLoss.cpp", "cotangent = b.create<DivOp>(cotangent, lossCount);",
        "cotangent = b.create<DivOp>(cotangent, cotangent);", ("fuzz/chunk-loss.test",)),
    # Precision.
    Bug("precision-reduces-in-low", "lib/Transforms/Precision/MixedPrecision.cpp", """  if (numeric == NumericClass::accurate)
    return false;
""", "", ("Transforms/Precision/mixed-precision", "fuzz/precision.test", "fuzz/verifiers.test")),
    # Padding and packing.
    Bug("pad-width-of-padded-size", "lib/Transforms/Pad/PadDims.cpp",
        "op.setWidth(padded.from);", "op.setWidth(padded.to);",
        ("fuzz/parts.test",)),
    Bug("pad-masks-missing", "lib/Transforms/Pad/PadDims.cpp", "    mask.use->set(masked);\n", "", ("fuzz/parts.test",)),
    Bug("pack-order-of-parts", "lib/Transforms/Pad/PackProjections.cpp", "offset[dim] = shape[dim];", "offset[dim] = 0;",
        ("fuzz/parts.test", "Transforms/Pad/pack-projections")),
    Bug("step-always-applies", STEP, "CmpPredicate::lt, norm,", "CmpPredicate::ne, norm,",
        ("Transforms/Step/build-step", "fuzz/step.test")),
    # Grouping and memory.
    Bug("epilogue-bias-of-rows", "lib/Analysis/Fusion/ContractionForm.cpp",
        "if (bias && !hasColumnLastDim(product))", "if (bias && product->getNumOperands() == 0)", ("Transforms/Fuse/epilogue", "Transforms/Fuse/fuse", *PROGRAMS)),
    Bug("groups-in-a-cycle", "lib/Analysis/Fusion/GraphPartition.cpp", "if (isOwn && !isStart)\n          return true;",
        "if (isOwn && !isStart)\n          continue;", ("hone-analysis-tests", "fuzz/groups.test")),
    Bug("groups-in-a-cycle-exactly", "lib/Analysis/Fusion/GraphPartition.cpp",
        "if (!closed[set | group] || best[set] >= best[set | group])", "if (best[set] >= best[set | group])",
        ("hone-analysis-tests", "fuzz/groups.test")),
    # Checkpoints.
    Bug("recompute-reads-original", "lib/Transforms/Recompute/ApplyCheckpoints.cpp", "recompute(stripViews(operand), stage);", ";",
        ("Transforms/Recompute/apply-checkpoints",)),
    Bug("clone-not-pinned", "lib/Transforms/Recompute/ApplyCheckpoints.cpp",
        "clone->setAttr(attr::clone, builder.getI64IntegerAttr(clones.size()));", "",
        ("Transforms/Recompute/apply-checkpoints",)),
    Bug("budget-exceeded", "lib/Transforms/Recompute/ScheduleSearch.cpp", "    if (bytes <= limit) {",
        "    if (bytes <= limit + limit / 16) {", ("Transforms/Recompute/plan-checkpoints",)),
    Bug("plan-lifetimes-touch", "lib/Analysis/Memory/GreedyPacking.cpp",
        "return buffer.begin < end && begin < buffer.end;",
        "return buffer.begin + 1 < end && begin + 1 < buffer.end;", ("hone-analysis-tests", "Transforms/Plan/plan")),
    Bug("pack-section-prunes-a-fit", "lib/Analysis/Memory/PartialLayout.cpp", "if (floor > latest(section))",
        "if (floor >= latest(section))", ("hone-analysis-tests",)),
    Bug("pack-lowest-of-all-tops", "lib/Analysis/Memory/PartialLayout.cpp", "      firstTop = std::min(firstTop,",
        "      firstTop = std::max(firstTop == none ? 0 : firstTop,", ("hone-analysis-tests",)),
    Bug("pack-support-not-undone", "lib/Analysis/Memory/PartialLayout.cpp", "    stands[change.buffer] = change.stands;\n", "",
        ("hone-analysis-tests",)),
    Bug("plan-over-later-reader", "lib/Transforms/Plan/FunctionPlanner.cpp",
        "if (position[wait ? wait.getOperation() : reader] < when)\n        continue;",
        "if (position[reader] != when)\n        continue;", ("Transforms/Plan/plan", *PROGRAMS)),
    Bug("plan-gaps-where-runs-are-read", "lib/Transforms/Plan/FunctionPlanner.cpp",
        "isReadableAt(group.getResult(result), places[operand]))", "true)", ("Transforms/Plan/plan",)),
    Bug("exact-sum-divided", "lib/Sharding/Model/ShardingRule.h", "(!isMeshInvariant && kind != FactorKind::Replicate)",
        "kind != FactorKind::Replicate", ("Sharding/exact.mlir",)),
    Bug("exact-mean-of-own-rows", "lib/IR/NamedOps.cpp", "? FactorKind::Reconcilable", "? FactorKind::Parallel", ("Sharding/exact.mlir",)),
    Bug("exact-sum-in-f32", "runtime/lib/exec/cpu/ExactMatmul.cpp", "double sums[tileRows][tileCols];",
        "float sums[tileRows][tileCols];", ("honert-tests",)),
    Bug("exact-embedding-onto-addend", "lib/Analysis/Fusion/Groups.cpp", "bool addsRows = !isMeshInvariant(block.getParentOp());",
        "bool addsRows = true;", ("Transforms/Import/set-mesh-invariant.mlir",)),
    Bug("plan-over-what-is-sent", "lib/Transforms/Plan/FunctionPlanner.cpp",
        "if (position[wait ? wait.getOperation() : reader] < when)", "if (position[reader] < when)",
        ("Transforms/Plan/overlap-collectives",)),
    Bug("plan-view-ignores-stride", "lib/Transforms/Plan/FunctionPlanner.cpp", "place.byteOffset += start * stride * width;",
        "place.byteOffset += start * width;", ("Transforms/Plan/plan", *PROGRAMS)),
    Bug("timeline-counts-twice", "lib/Analysis/Memory/Timeline.cpp",
        "live[lives[old.life].category] -= old.end - oldBegin;", "", ("hone-analysis-tests",)),
    Bug("purpose-misses-gradient-behind-view", "lib/Analysis/Memory/BufferPurpose.cpp",
        "if (isStorageView(op))", "if (isa<ConcatOp>(op))", ("Transforms/Plan/plan",)),
    # Kernels.
    Bug("kernel-norm-loses-tail", "lib/Codegen/CPU/NormKernels.cpp",
        "return sumLanes(b, addSquares(sum, vectors, mask));", "return sumLanes(b, sum);", KERNELS),
    Bug("adamw-step-off-by-one", "include/hone/IR/UpdateFormulas.h",
        "Value correction1 = a.sub(one, a.power(beta1, step));",
        "Value correction1 = a.sub(one, a.mul(a.f64(beta1), a.power(beta1, step)));", ("Interpreter/adamw.mlir",)),
    Bug("adamw-without-eps", "include/hone/IR/UpdateFormulas.h",
        "a.div(m, a.fma(root, rootScale, a.splat(eps)))", "a.div(m, a.mul(root, rootScale))",
        ("Interpreter/adamw.mlir",)),
    Bug("sgd-nesterov-without-momentum", "include/hone/IR/UpdateFormulas.h",
        "nesterov ? a.fma(momentum, velocity, g) : velocity", "nesterov ? a.add(velocity, g) : velocity",
        ("Interpreter/sgd.mlir",)),
    Bug("lion-decays-after-its-step", "include/hone/IR/UpdateFormulas.h",
        "return {a.fma(p, keep, move), m};", "return {a.mul(a.add(p, move), keep), m};", ("Interpreter/lion.mlir",)),
    Bug("kernel-codes-not-rounded", "lib/Codegen/Common/CodedUpdates.cpp",
        "b.fma(levels, b.splat(8.0 / 9.0), shift)", "b.fma(levels, b.splat(8.0 / 9.0), b.add(shift, b.splat(-0.5)))",
        ("hone-kernel-tests",)),
    Bug("kernel-codes-lose-small-moments", "lib/Codegen/Common/CodedUpdates.cpp",
        "b.create<arith::MaxSIOp>(found, one)", "found", ("hone-kernel-tests",)),
    Bug("adafactor-decays-before-its-norm", "lib/Transforms/Fuse/DecomposeUpdates.cpp",
        "rootMeanSquare(param));", "rootMeanSquare(mul(param, every(sub(number(1.0), decay), param))));",
        ("Transforms/Fuse/decompose-updates-values.mlir", "fuzz/decompose-updates.test")),
    Bug("kernel-philox-key-not-bumped", "lib/Codegen/Common/Philox.cpp", "constant64(b, weyl[j])", "constant64(b, weyl[0])",
        ("hone-attention-tests",)),
    Bug("kernel-dropout-threshold", "lib/Codegen/Common/Philox.cpp", "std::llround(p * 0x1p32)", "std::llround(p * 0x1p31)",
        KERNELS),
    Bug("kernel-maximum-loses-nan", "lib/Codegen/Common/ElementwiseArith.cpp",
        "return either<arith::MaximumFOp, arith::MaxSIOp>(builder, loc, isFloat,\n                                                     operands);\n  case",
        "return either<arith::MaxNumFOp, arith::MaxSIOp>(builder, loc, isFloat,\n                                                     operands);\n  case", KERNELS),
    Bug("kernel-last-chunk-lost", "lib/Codegen/CPU/RowKernels.cpp",
        "loc, index(0), index(chunkCount()), index(1),\n        ValueRange(broadcast(identity(sum.op))),",
        "loc, index(0), index(std::max<int64_t>(1, chunkCount() - 1)), index(1),\n        ValueRange(broadcast(identity(sum.op))),", KERNELS),
    Bug("kernel-row-tail-not-masked", "lib/Codegen/CPU/RowSweeps.cpp", "at.mask = maskOfFirst(cols - full);",
        "at.mask = maskOfFirst(cols - full - (cols - full > 1));", KERNELS),
    Bug("kernel-rope-sign", "lib/Codegen/CPU/RopeKernels.cpp", "if (op.getInverse())", "if (!op.getInverse())", KERNELS),
    Bug("kernel-scatter-forgets-addend", "lib/Codegen/CPU/GatherKernels.cpp",
        "startRows(addend ? input(addend) : Value(), width);", "startRows(Value(), width);", KERNELS),
    Bug("device-join-without-barrier", "lib/Codegen/GPU/Threads.cpp",
        "  barrier();\n  // Each group of as many lanes", "  // Each group of as many lanes", DEVICE),
    Bug("device-shuffle-half-a-warp", "lib/Codegen/GPU/Threads.cpp", "for (int64_t offset = lanes / 2;",
        "for (int64_t offset = lanes / 4;", DEVICE),
    Bug("device-row-end-not-masked", "lib/Codegen/GPU/RowKernels.cpp", "(tile + 1) * width <= shape.vectors;",
        "tile * width <= shape.vectors;", DEVICE),
    Bug("device-next-row-without-barrier", "lib/Codegen/GPU/RowSums.cpp",
        "if (shape.rowWarps() > 1 && !reductionsBySweep().empty())\n    threads.barrier();", "", DEVICE),
    Bug("device-last-chunk-lost", "lib/Codegen/GPU/RowSums.cpp", "loc, first, index(chunkCount()), index(step),",
        "loc, first, index(chunkCount() - (chunkCount() > 1)), index(step),", DEVICE),
    Bug("device-tensor-before", "lib/Codegen/GPU/Items.cpp", "arith::CmpIPredicate::ule, element(firstArray, bounded)",
        "arith::CmpIPredicate::ult, element(firstArray, bounded)", DEVICE),
    Bug("device-scatter-without-barrier", "lib/Codegen/GPU/ScatterSort.cpp", "b.threads.barrier();\n  block.order();",
        "block.order();", DEVICE),
    Bug("device-scatter-negative-ids", "lib/Codegen/GPU/ScatterSort.cpp", "Value isRow = b.less(id, rows);",
        "Value isRow = b.create<arith::CmpIOp>(arith::CmpIPredicate::slt, id, b.number(id, rows));", DEVICE),
    Bug("device-scatter-last-token-lost", "lib/Codegen/GPU/ScatterSums.cpp",
        "addRest(at, span.to, sum, columns, groups.back() - 1);", "addRest(at, span.to, sum, columns, groups.back() - 2);",
        DEVICE),
    Bug("device-update-rest-lost", "lib/Codegen/GPU/UpdateKernels.cpp", "return tensor.size % lanes != 0;",
        "return tensor.size % lanes > lanes;", DEVICE),
    Bug("device-update-other-random-words", "lib/Codegen/GPU/UpdateKernels.cpp",
        "return emitPhiloxGroups(*this, getLoc(), at, lanes() / 4, random.salt,",
        "return emitPhiloxGroups(*this, getLoc(), index(0), lanes() / 4, random.salt,", DEVICE),
    Bug("device-add-rest-lost", "lib/Codegen/GPU/AddKernels.cpp", "return entry.size % lanes != 0;",
        "return entry.size % lanes > lanes;", DEVICE),
    Bug("device-tile-without-barrier", "lib/Codegen/GPU/DataMovementKernels.cpp", "  b.threads.barrier();\n  store(", "  store(",
        DEVICE),
    Bug("device-tile-edge-not-masked", "lib/Codegen/GPU/DataMovementKernels.cpp", "if (sizes[dim] % side == 0)",
        "if (sizes[dim] % side == 0 || dim == last)", DEVICE),
    Bug("device-concat-part-before", "lib/Codegen/GPU/DataMovementKernels.cpp", "b.less(at[1], end / unit.lanes)",
        "b.less(at[1], begin / unit.lanes)", DEVICE),
    Bug("device-pad-one-more", "lib/Codegen/GPU/DataMovementKernels.cpp", "(size - 1) * step + 1));", "(size - 1) * step + 2));",
        DEVICE),
    Bug("device-copy-misaligned", "lib/Codegen/GPU/Copies.cpp", "llvm::all_of(offsets, isAligned);",
        "(llvm::all_of(offsets, isAligned) || true);", DEVICE),
    Bug("device-reduction-of-one-row", "lib/Codegen/GPU/Reductions.cpp", "b.add(offset, b.mul(at, strides[dim]))",
        "b.add(offset, b.mul(at, 0))", DEVICE),
    Bug("device-rope-wrong-partner", "lib/Codegen/GPU/RopeKernels.cpp", "b.add(first, half)", "b.add(first, half - lanes)",
        DEVICE),
    Bug("attention-causal-off-by-one", "lib/Codegen/CPU/Attention/Emitter.cpp",
        "Value seen = create<arith::CmpIOp>(arith::CmpIPredicate::sle,",
        "Value seen = create<arith::CmpIOp>(arith::CmpIPredicate::slt,", ATTENTION),
    Bug("attention-lse-without-maximum", "lib/Codegen/CPU/Attention/Forward.cpp", "addf(m, create<math::LogOp>(l))",
        "create<math::LogOp>(l)", ATTENTION),
    Bug("attention-gradient-without-delta", "lib/Codegen/CPU/Attention/Backward.cpp", "mulf(p, subf(dp, deltas[v]))",
        "mulf(p, dp)", ATTENTION),
    Bug("attention-gradient-drops-once", "lib/Codegen/CPU/Attention/Backward.cpp", "dp = dropout(dp, at.words[v]);", "",
        ATTENTION),
    # Documents packed into a row.
    Bug("documents-skip-shared-block", "lib/Codegen/CPU/Attention/Emitter.cpp",
        "compare(arith::CmpIPredicate::sle, queries.least, keys.largest)",
        "compare(arith::CmpIPredicate::slt, queries.least, keys.largest)", ATTENTION),
    Bug("documents-compared-in-blocks-of-queries", "lib/Codegen/CPU/Attention/Emitter.cpp",
        "compare(arith::CmpIPredicate::ne, least, largest)",
        "compare(arith::CmpIPredicate::ne, queries.least, queries.largest)", ATTENTION),
    Bug("documents-hide-all-keys-so-far", "lib/Codegen/CPU/Attention/Forward.cpp", "if (op.mask || op.segments)",
        "if (op.mask)", ATTENTION),
    Bug("documents-of-keys-alone", UNFUSED, "along(2), along(3)", "along(2), along(2)", UNFUSED_TESTS),
    Bug("documents-not-divided", "lib/IR/NamedOps.cpp", "mapping.operands.push_back({Batch, KeyPos});",
        "mapping.operands.push_back({-1, KeyPos});", ("Sharding/Partition/partition.mlir",)),
    Bug("documents-of-other-ids", "lib/Analysis/Attention/Mask.cpp", "ofQueries->source != ofKeys->source ||", "",
        ("Transforms/Raise/raise",)),
    Bug("documents-or-earlier", "lib/Analysis/Attention/Mask.cpp",
        "if (isNegated ? isa<OrOp>(op) : isa<AndOp>(op))\n    return readTruth",
        "if (isa<OrOp, AndOp>(op))\n    return readTruth", ("Transforms/Raise/raise",)),
    Bug("documents-end-in-the-next", "lib/Transforms/Raise/SeparateDocuments.cpp",
        "b.create<SubOp>(b.create<CumsumOp>(type, ends, /*dim=*/1), ends)",
        "b.create<SubOp>(b.create<CumsumOp>(type, ends, /*dim=*/1), b.create<SubOp>(ends, ends))",
        ("Transforms/Raise/separate-documents", "e2e/documents.test")),
    Bug("documents-positions-run-on", "lib/Transforms/Raise/SeparateDocuments.cpp",
        "if (isa<AttentionOp, RopeOp>(op))", "if (true)",
        ("Transforms/Raise/separate-documents", "e2e/documents.test")),
    Bug("documents-window-of-later-keys", "lib/Analysis/Attention/Mask.cpp",
        "return operand(0, isNegated) && operand(1, isNegated);",
        "return operand(0, isNegated) || operand(1, isNegated);", ("Transforms/Raise/raise",)),
    # Who may join a run, and what is believed of it.
    Bug("rendezvous-any-secret", "runtime/lib/comm/tcp/Admission.cpp",
        "if (!knowsSecret(key, stranger.challenge, hello))", "if (false)", RANKS_MEET),
    Bug("rendezvous-answer-unproved", "runtime/lib/comm/tcp/Handshake.cpp",
        "if (!isEqualInConstantTime(proof, answer.proof))", "if (false)", RANKS_MEET),
    Bug("rendezvous-proof-for-any-connection", "runtime/lib/comm/tcp/Handshake.cpp", "{ofHello, challenge, hello, {}}",
        "{ofHello, {}, hello, {}}", RANKS_MEET),
    Bug("rendezvous-everywhere", "runtime/lib/comm/tcp/Listening.cpp", "isEverywhere = !reason.empty();",
        "isEverywhere = true;", RANKS_MEET),
    Bug("rendezvous-file-link-followed", "runtime/lib/comm/tcp/RendezvousFile.cpp",
        "O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC", "O_RDONLY | O_NONBLOCK | O_CLOEXEC", RANKS_MEET),
    Bug("rendezvous-file-of-any-owner", "runtime/lib/comm/tcp/RendezvousFile.cpp",
        "fstat(file, &made) == 0 && made.st_uid == user", "fstat(file, &made) == 0", RANKS_MEET),
    Bug("message-size-unchecked", "runtime/lib/comm/tcp/SocketProcessGroup.cpp", "if (frame.value != bytes)",
        "if (frame.value > bytes)", RANKS_MEET),
    Bug("rank-0-does-not-tell-who-left", "runtime/lib/comm/tcp/SocketProcessGroup.cpp",
        "notify({Frame::left, gone}, Deadline(1));", ";", RANKS_MEET),
    # Runtime.
    Bug("matmul-bias-per-part", "runtime/lib/exec/cpu/DirectMatmul.cpp",
        "problem.bias = false; // the first call adds it", "",
        ("honert-tests",)),
    Bug("matmul-last-terms-lost", "runtime/lib/exec/cpu/DirectMatmul.cpp", "for (; from < plan.k; from += length) {",
        "for (; from == 0 || from + length < plan.k; from += length) {", ("honert-tests",)),
    Bug("matmul-addend-transposed", "runtime/lib/exec/cpu/DirectMatmul.cpp", "MatrixStrides steps = {s[9], s[10], s[11]};",
        "MatrixStrides steps = {s[9], s[11], s[10]};", ("honert-tests", *PROGRAMS)),
    Bug("data-targets-not-shifted", "runtime/lib/io/data/Batches.cpp", "+ column + input.shift;",
        "+ column;", ("honert-tests",)),
    Bug("data-same-order-every-epoch", "runtime/lib/io/data/BatchOrder.cpp",
        "scramble(seed) + scramble(~epoch)", "scramble(seed)",
        ("honert-tests",)),
    Bug("schedule-warmup-off-by-one", "runtime/lib/train/Schedule.cpp",
        "options.learningRate * static_cast<double>(step) /",
        "options.learningRate * static_cast<double>(step - 1) /", ("honert-tests",)),
    Bug("step-same-dropout-in-micro-batches", "runtime/lib/train/StepValues.cpp", "key[2] = micro;", "key[2] = 0;",
        ("honert-tests",)),
    Bug("resume-forgets-optimizer", "runtime/lib/io/checkpoint/LoadTensor.cpp",
        "                          Arena &arena) {\n  for (const Argument &target : targetsOf(program, *loaded.argument))",
        "                          Arena &arena) {\n  if (loaded.argument->kind == Kind::opt)\n    return;\n"
        "  for (const Argument &target : targetsOf(program, *loaded.argument))",
        ("honert-tests",)),
    Bug("resume-other-bytes", "runtime/lib/io/checkpoint/Folder.cpp", "if (seen != manifest.stateChecksum)",
        "if (false)", ("honert-tests",)),
    Bug("resume-other-data", "runtime/lib/io/checkpoint/Folder.cpp", "found.format >= 3 && !acceptsOther", "false",
        ("honert-tests",)),
    Bug("resume-other-tokens-than-format-2", "runtime/lib/io/checkpoint/Folder.cpp",
        "acceptsOther || tokens == before", "acceptsOther || tokens >= 0", ("honert-tests",)),
    Bug("resume-afresh-from-unlisted-folder", "runtime/lib/base/Folders.cpp",
        "if (!folder || !readNames(folder, names))", "if (folder && !readNames(folder, names))", ("honert-tests",)),
    Bug("data-identity-of-a-beginning", "runtime/lib/io/FileIdentity.cpp", "for (int64_t i = 0; i < count; ++i) {",
        "for (int64_t i = 0; i < std::min<int64_t>(count, 1); ++i) {", ("honert-tests",)),
    Bug("lease-of-another-machine-ignored", "runtime/lib/io/checkpoint/Lease.cpp", "if (isHere && isLocked)",
        "if (isLocked)", ("honert-tests",)),
    Bug("lease-lost-unnoticed", "runtime/lib/io/checkpoint/Lease.cpp", "isKnown && found.run == self.run", "isKnown",
        ("honert-tests",)),
    Bug("links-followed-to-remove", "runtime/lib/base/Folders.cpp", "O_RDONLY | O_DIRECTORY | O_NOFOLLOW",
        "O_RDONLY | O_DIRECTORY", ("honert-tests",)),
    Bug("links-lock-file-followed", "runtime/lib/io/checkpoint/Lease.cpp", "O_RDWR | O_CREAT | O_NOFOLLOW",
        "O_RDWR | O_CREAT", ("honert-tests",)),
    Bug("roles-shifted-labels-taken", "python_frontend/hone/roles.py", ".distance() or 0) > 0:",
        ".distance() or 0) > 1:", ("python/test_roles.py",)),
    Bug("roles-labels-of-another-vocabulary", "python_frontend/hone/roles.py",
        "max(chosen) >= max(tables or ones_of, default=0)", "max(chosen) > 0", ("python/test_roles.py",)),
    Bug("start-package-left-out", "runtime/lib/io/checkpoint/StartState.cpp", "} else if (!options.fresh) {",
        "} else if (false) {", ("honec/package-weights.test",)),
    Bug("start-any-weights-taken", "runtime/lib/io/checkpoint/PackageWeights.cpp", "known.empty() || identity == known",
        "true", ("honec/package-weights.test",)),
    Bug("start-pretrained-not-kept", "python_frontend/hone/starting_weights.py", "if wanted or golden or origin else",
        "if wanted or golden else", ("e2e/tuned-models.test",)),
    Bug("start-rate-of-the-scheduler", "python_frontend/hone/optimizer.py", '"lr": base_rate(group, where),',
        '"lr": number(group["lr"]),', ("e2e/tuned-models.test",)),
    # Attention by cuDNN.
    Bug("cudnn-earlier-keys-hidden", CUDNN_GRAPH, "CUDNN_POINTWISE_CMP_GE, {query, key},",
        "CUDNN_POINTWISE_CMP_GE, {key, query},", CUDNN),
    Bug("cudnn-lse-without-maximum", CUDNN_GRAPH, "point(CUDNN_POINTWISE_ADD, {max, log}, lse);",
        "point(CUDNN_POINTWISE_IDENTITY, {log}, lse);", CUDNN),
    Bug("cudnn-gradient-not-scaled", CUDNN_GRAPH, "  ds = point(CUDNN_POINTWISE_MUL, {ds, scale}, score());\n", "", CUDNN),
    Bug("cudnn-gradient-drops-once", CUDNN_GRAPH, "gradientOfKeys(dropped, grad", "gradientOfKeys(p, grad", CUDNN),
    Bug("cudnn-weights-not-transposed", CUDNN_GRAPH, "swapped(rowMajor(scores)), io)", "rowMajor(dims), io)", CUDNN),
    Bug("cudnn-keys-dense", CUDNN_GRAPH, "intermediate(key.dims, key.strides, io)",
        "intermediate(key.dims, rowMajor(key.dims), io)", CUDNN),
    Bug("cudnn-workspace-over-scratch", "runtime/lib/exec/cuda/attention/Plan.cpp",
        "pointer(workspace + static_cast<CUdeviceptr>(scratchBytes))", "pointer(workspace)", CUDNN),
    Bug("branch-operands-written", "runtime/lib/program/Accesses.cpp", " || overlap(reads, other.writes);", ";", BRANCHES),
    Bug("branch-result-read-early", "runtime/lib/program/Accesses.cpp", "overlap(writes, other.reads) || ", "", BRANCHES),
    Bug("branch-without-join", "runtime/lib/exec/cuda/Branches.cpp", "return product == BranchPlan::never",
        "return product != BranchPlan::never", BRANCHES),
    Bug("cudnn-same-offset", "runtime/lib/exec/cuda/attention/Plan.cpp", "at + sizeof(int64_t)", "at", CUDNN),
    Bug("cudnn-lengths-swapped", "runtime/lib/exec/cuda/attention/Graph.cpp",
        "bounds[i] == Bound::keys ? idKeys : idQueries", "bounds[i] == Bound::keys ? idQueries : idKeys", CUDNN),
    Bug("attention-unseen-keys-read", "lib/Transforms/Fuse/AttentionCalls.cpp",
        "    if (parts.readsFirst())\n      grad = seenKeys(grad, readAttention(call)->first);\n", "",
        ("Transforms/Fuse/plan-attention",)),
    # Memory of a run.
    Bug("runtime-batch-in-new-memory", "runtime/lib/io/data/Batches.cpp", "  int64_t read[most];",
        "std::vector<int64_t> held(8 * most); int64_t *read = held.data();", ("e2e/allocations.test",)),
    Bug("runtime-files-stay-resident", "runtime/lib/base/Files.cpp", "MADV_DONTNEED", "MADV_NORMAL",
        ("honert-tests",)),
    Bug("runtime-operands-copied-whole", "runtime/lib/exec/cpu/Matmul.cpp",
        "if (direct->copiedBytes() <= mostCopiedBytes)", "if (mostCopiedBytes > 0)", ("honert-tests",)),
    Bug("runtime-gaps-in-place", "runtime/lib/exec/cpu/DirectMatmul.cpp", "HONERT_TRY(tryPacking(Packing::gaps, whole));",
        "HONERT_TRY(tryPacking(Packing::needed, whole));", ("honert-tests",)),
    # Ids.
    Bug("ids-bound-that-is-not-exact", BOUND_IDS, "if (!bound || !isExact(site, *bound))", "if (!bound)",
        ("Transforms/Import/bound-ids",)),
    Bug("ids-slice-reads-all", BOUND_IDS, "if (!isa<SliceOp>(op) && hasAny &&", "if (hasAny &&",
        ("Transforms/Import/bound-ids",)),
    Bug("ids-guard-lets-one-more-row-in", GUARD_IDS, "compare(CmpPredicate::lt, ids, bound.size)",
        "compare(CmpPredicate::le, ids, bound.size)", ("Transforms/Import/guard-ids",)),
    Bug("ids-guard-of-i8-wraps", GUARD_IDS, "if (bound.size <= every.high())", "if (bound.size > 0)",
        ("Transforms/Import/guard-ids",)),
    Bug("ids-either-taken-for-both", "lib/Analysis/Values/IntegerRanges.cpp", "if (truth == isa<AndOp>(op))", "if (op)",
        ("hone-analysis-tests",)),
    Bug("ids-of-the-last-micro-batch-alone", STEP, "type, isFirst, found, before)", "type, isFirst, found, found)",
        ("Pipelines/id-checks.mlir",)),
    Bug("ids-run-goes-on-after-validation", "runtime/lib/train/Trainer.cpp", "step <= options.steps && !stoppedBy;",
        "step <= options.steps;", ("e2e/validation-ids.test",)),
    # Shardings.
    Bug("dist-terms-taken-for-sums", "lib/Sharding/Model/ShardingRule.cpp",
        "llvm::append_range(sharding.partial, factors[index].axes);", "(void)factors[index];", ("hone-dist-tests",)),
    Bug("dist-parts-interleaved", "lib/Sharding/IR/Sharding.cpp", "positions.push_back(run.begin + i);",
        "positions.push_back(run.begin + run.length - 1 - i);", ("hone-dist-tests",)),
    Bug("ring-sender-off-by-one", RINGS, "CmpPredicate::lt : CmpPredicate::ge", "CmpPredicate::le : CmpPredicate::gt",
        ("hone-dist-tests",)),
    Bug("ring-first-keys-seen-twice", RINGS, "ring.choose(none, lses.first)", "lses.first", ("hone-dist-tests",)),
    Bug("ring-keys-kept-for-backward", RINGS, "op->setAttr(againAttr, b.getUnitAttr());", "(void)againAttr;",
        ("Sharding/Collectives/lower-rings.mlir",)),
    Bug("merge-of-hidden-keys", UNFUSED, "return choose(isEqual(lse, infinity), least, lse);", "return lse;",
        ("Transforms/Fuse/decompose-attention/merge.mlir",)),
    Bug("dist-slice-keeps-global-bounds", "lib/Sharding/Partition/LocalOps.cpp",
        "local.push_back(position / split.parts(tensor, dim));", "local.push_back(position);", ("hone-dist-tests",)),
    Bug("dist-narrow-ids-wrap", "lib/Sharding/Partition/LocalOps.cpp", "size * mesh.count(axes))) {", "0)) {",
        ("Sharding/Partition/partition.mlir",)),
    Bug("dist-gradients-of-rows-of-others", "lib/Sharding/Partition/LocalOps.cpp", "Value grad = keepOwn(b, ids.isOwn, operands[0]);",
        "Value grad = operands[0];", ("hone-dist-tests",)),
    Bug("dist-loss-within-part-alone", "lib/Sharding/Partition/LocalLoss.cpp", "Value beyond = b.create<SubOp>(lse, part.getLse());",
        "Value beyond = b.create<SubOp>(lse, lse);", ("hone-dist-tests",)),
    Bug("dist-terms-go-on-with-two-readers", "lib/Sharding/Partition/Partition.cpp",
        "llvm::is_contained(set, index) && value.hasOneUse() &&", "llvm::is_contained(set, index) &&",
        ("Sharding/Partition/partition.mlir",)),
    Bug("dist-terms-of-every-rank", "lib/Sharding/Partition/Partition.cpp", "CmpPredicate::eq,", "CmpPredicate::ge,",
        ("Sharding/Collectives/collectives-gpt2.test",)),
    Bug("dist-gathers-stay", "lib/Sharding/Partition/Partition.cpp", "return isBackward && regathered.contains(value);",
        "return false;", ("Sharding/Collectives/collectives-gpt2.test",)),
    Bug("dist-scatter-of-terms-that-stay", "lib/Sharding/Partition/Reshard.cpp", "return llvm::is_contained(to.partial, axis);",
        "return false;", ("Sharding/Partition/partition.mlir",)),
    Bug("dist-shift-upside-down", "lib/Interpreter/Ranks.cpp", "(own + n - int64_t(op.getAmount())) % n",
        "(own + int64_t(op.getAmount())) % n", ("hone-dist-tests",)),
    Bug("dist-verify-adds-copies-to-terms", "lib/Sharding/Verify/PlacementAnalysis.cpp",
        "return value.mayBePartial(axis) && value.combiner == expected->combiner;", "return true;", ("Sharding/Verify/invalid-verify.mlir",)),
    Bug("dist-verify-takes-any-maximum", "lib/Sharding/Verify/PlacementAnalysis.cpp",
        "return expected.kind == Placement::Partial &&\n           own.combiner == expected.combiner;",
        "return expected.kind == Placement::Partial;", ("Sharding/Verify/mutations.test",)),
    Bug("dist-verify-takes-parts-beside-wholes", "lib/Sharding/Verify/PlacementRules.cpp", "factors->erase(factor);", "(void)factor;",
        ("Sharding/Verify/mutations.test",)),
    Bug("dist-verify-trusts-scatters", "lib/Sharding/IR/CollectiveOps.cpp",
        "AxisPlacement::partial(getKind()),\n      AxisPlacement::sharded(getDim(), getCuts(), getSnake())};",
        "AxisPlacement::partial(getKind()),\n      AxisPlacement::replicated()};",
        ("Sharding/Verify/invalid-verify.mlir",)),
    Bug("dist-verify-gathers-terms", "lib/Sharding/Verify/PlacementAnalysis.cpp", "return expected.kind == Placement::Partial &&\n           own",
        "return own", ("Sharding/Verify/invalid-verify.mlir",)),
    # Annotations of a user.
    Bug("annotated-cotangent-free", VJP, "v.make<dist::ConstrainOp>(v.g, op.getSharding())", "v.g",
        ("Transforms/Autodiff/autodiff/constrain.mlir",)),
    Bug("annotated-working copy-free", "lib/Sharding/Propagate/Annotations.cpp",
        "given[argString(func, arg.getArgNumber(), attr::fqn)] = sharding;", "(void)sharding;", ("Sharding/Propagate/annotated.mlir",)),
    Bug("annotated-state-whole", "lib/Sharding/Propagate/Annotate.cpp", "if (own == size)", "if (own == size && kind != kind::opt)",
        ("Sharding/Propagate/annotated.mlir",)),
    Bug("annotated-gradient-whole", "lib/Sharding/Propagate/Annotate.cpp", "sumAxes = given->inputAxes;", "",
        ("Sharding/Propagate/annotated.mlir", "Pipelines/annotated.mlir")),
    # The cluster model.
    Bug("cluster-ring-sends-all", "runtime/lib/base/Collectives.h",
        "? steps / static_cast<double>(ranks) * bytes", "? steps * bytes", ("hone-dist-tests",)),
    Bug("cluster-node-has-one-way-out", "lib/Sharding/IR/Links.cpp", "group.between.bandwidth * double(group.perNode);",
        "group.between.bandwidth;", ("hone-dist-tests", "hone-analysis-tests")),
    Bug("cluster-axis-leaves-its-node", "lib/Sharding/IR/Sharding.cpp", "room /= axes[later].size;", "(void)later;",
        ("hone-dist-tests",)),
    Bug("cluster-chunks-wait-as-stages", "test/unit/Analysis/Cost/ClusterStep.cpp",
        "plan.schedule = {pipeline::ScheduleKind::Interleaved, int(step.chunks)};", "plan.schedule = {};", ("hone-analysis-tests",)),
    Bug("stages-norm-of-one-stage", "lib/Sharding/Stages/StageUpdate.cpp",
        "isSquare ? b.create<SqrtOp>(total).getResult() : total", "total", ("Sharding/Stages",)),
    Bug("stages-tied-gradient-of-the-owner-alone", "lib/Sharding/Stages/StageUpdate.cpp",
        "sum = made.builder.create<AddOp>(sum, term);", "(void)term;", ("Sharding/Stages",)),
    Bug("cluster-channel-runs-at-once", "lib/Analysis/Cost/ClusterTimeline.cpp", "begin = std::max(end, now);",
        "begin = now;", ("hone-analysis-tests",)),
    Bug("cluster-flops-of-one-micro-batch", "lib/Analysis/Cost/StepFlops.cpp", "return microBatches;", "return 1;",
        ("hone-analysis-tests",)),
    # Codes of fp8.
    Bug("fp8-scale-rounded-down", FP8, "exponent += int(isAbove) - factsOf", "exponent += int(isAbove && false) - factsOf",
        CODES),
    Bug("fp8-no-saturation", FP8, "magnitude >= std::ldexp(1.75, facts.topExponent)",
        "magnitude >= std::ldexp(1.75, facts.topExponent + 1)", CODES),
    Bug("fp8-infinity-saturated", FP8, ": std::numeric_limits<float>::quiet_NaN();\n}\ninline uint8_t", ": 1.0f;\n}\ninline uint8_t",
        CODES),
    Bug("fp8-mx-infinity-saturated", FP8, ": 0xff;", ": 127;", CODES),
    Bug("fp8-amax-with-sign", FP8, "double magnitude = std::fabs(value);\n  return std::isnan(amax)",
        "double magnitude = value;\n  return std::isnan(amax)", CODES),
    Bug("fp8-amax-forgets-nan", FP8, "return std::isnan(amax) || magnitude <= amax", "return magnitude <= amax", CODES),
    Bug("fp8-subnormal-codes-flushed", FP8, "int exponent = facts.smallest;\n",
        "int exponent = facts.smallest;\n  if (magnitude < std::ldexp(1.0, exponent))\n    return sign;\n", CODES),
    Bug("fp8-scales-along-columns", SCALES, "return tileColumn * tileRows() + tileRow;",
        "return tileRow * tileColumns() + tileColumn;", CODES),
    Bug("fp8-mx-scales-in-order", SCALES, "outer % 32 * 16 + outer / 32 * 4 + inner", "outer * 4 + inner", CODES),
    Bug("fp8-scale-inverted", "lib/Interpreter/Quantization.cpp",
        "values[row * layout.columns + column] *=", "values[row * layout.columns + column] /=",
        ("Interpreter/quantize.mlir", "fuzz/quantized.test")),
    Bug("fp8-head-marked", QUANTIZED, "heads.insert(op);", "(void)heads;", MARKS),
    Bug("fp8-keep-ignored", QUANTIZED, "if (isKept(parameter)) {", "if (isKept(parameter) && !(keptOne = true)) {", MARKS),
    Bug("fp8-activations-e5m2", QUANTIZE, "bool isGradient = role == FactorRole::gradient;",
        "bool isGradient = role != FactorRole::weight;", CODE_PRODUCTS),
    Bug("fp8-fast-weight-gradient", QUANTIZE, "mark.getLhs() != FactorRole::gradient &&",
        "mark.getLhs() != FactorRole::weight &&", CODE_PRODUCTS),
    Bug("fp8-codes-of-the-transpose", QUANTIZE, "return {reshape(value, {rows, columns}), false};",
        "return {reshape(value, {columns, rows}), true};", CODE_PRODUCTS),
    Bug("fp8-roles-exchanged", VJP, "swap ? other.role : FactorRole::gradient",
        "swap ? FactorRole::gradient : other.role", GRADIENTS),
    Bug("fp8-weight-codes-not-filled", "runtime/lib/train/PublishState.cpp", "  return makeCodes(program, executor);",
        "  return Status();", ("e2e/fp8.test",)),
    Bug("fp8-weight-codes-of-last-step", "lib/Transforms/Fuse/HoistWeightCodes.cpp", "arguments.replace(form.codes, made.getCodes());",
        "arguments.replace(form.codes, arguments.get(form.codes, made.getCodes().getType()));",
        ("Transforms/Fuse/hoist-weight-codes",)),
    Bug("fp8-parts-not-shifted", "lib/Codegen/GPU/QuantizeSources.cpp", "first == 0", "first >= 0", ("hone-kernel-tests",)),
    # State in the second arena.
    Bug("offload-up-not-awaited", FILE_ARENA, "for (auto &queue : queues)\n    HONERT_TRY(queue->wait(token));",
        "HONERT_TRY(queues[0]->wait(token));", OFFLOAD),
    Bug("offload-down-not-awaited", FILE_ARENA, "for (auto &queue : queues)\n    HONERT_TRY(queue->wait(token));",
        "HONERT_TRY(queues[1]->wait(token));", OFFLOAD),
    Bug("offload-memory-reused-early", STAGED, "position[parts[index + 2].group] - 1", "position[parts[index + 1].group] - 1",
        ("Transforms/Plan/offload-state",)),
    Bug("offload-ranges-coincide", STAGED, "stateOf(argument).offset, tokenOf", "stateOf(staged.arguments.front()).offset, tokenOf",
        OFFLOAD),
    Bug("offload-first-copy-late", STAGED, "needed -= kernelSeconds(group, target);", "needed = double(kernelSeconds(group, target) < 0);",
        ("Transforms/Plan/offload-state",)),
    Bug("offload-part-not-copied-back", FILE_ARENA, "queues[static_cast<int64_t>(copy.direction)]->push(copy);",
        "if (copy.token != 3)\n    queues[static_cast<int64_t>(copy.direction)]->push(copy);", OFFLOAD),
    Bug("offload-gpu-copies-early", HOST_ARENA, "HONERT_TRY(line.ready.record());",
        "if (copy.token < 2)\n    HONERT_TRY(line.ready.record());", OFFLOAD_GPU),
    Bug("offload-gpu-not-awaited", HOST_ARENA, "return done.at(wait.token).holdBack(device.stream());",
        "return wait.token % 2 ? done.at(wait.token).holdBack(device.stream()) : Status();", OFFLOAD_GPU),
    Bug("offload-gpu-piece-twice", HOST_ARENA, "memory + host, near, bytes", "memory + copy.hostOffset, near, bytes",
        ("honert-cuda-tests",)),
    Bug("moves-ranges-coincide", MOVED, "move.hostOffset = offset;", "move.hostOffset = offset * 0;",
        ("e2e/offload-activations.test",)),
    Bug("moves-memory-reused-early", "lib/Transforms/Plan/FunctionPlanner.cpp", "lastRead[move.value()] = move.downEnd;",
        "lastRead[move.value()] = position[move.value().getDefiningOp()];", ("Transforms/Plan/plan/moved-value.mlir",)),
    Bug("moves-copy-up-late", MOVED, "next = std::min(begins[deadline], next) -", "next = std::min(begins[deadline], next) - 0 *",
        ("Transforms/Plan/plan/moved-value.mlir",)),
    Bug("moves-read-before-reload", "lib/Transforms/Recompute/ApplyCheckpoints.cpp", "latest[root] = reload.getResult(0);",
        "(void)reload;", ("Transforms/Recompute/apply-checkpoints/away.mlir",)),
    Bug("offload-state-not-saved", "runtime/lib/io/checkpoint/State.cpp",
        "if (argument.isState())\n        tensors", "if (argument.isState() && !argument.isOnHost)\n        tensors", OFFLOAD),
]


def problems() -> list[str]:
    """Rows whose text is not in the file exactly once, and names that two rows have."""
    found = []
    for bug in BUGS:
        path = ROOT / bug.file
        times = path.read_text().count(bug.old) if path.exists() else -1
        if times != 1:
            found.append(f"{bug.name}: its text is {times} times in {bug.file}, expected once")
        if bug.old == bug.new:
            found.append(f"{bug.name}: changes nothing")
        if sum(other.name == bug.name for other in BUGS) > 1:
            found.append(f"{bug.name}: two rows have this name")
    return found


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        found = problems()
        print("\n".join([*found, f"{len(BUGS)} defects, {len(found)} problems"]))
        return 1 if found else 0
    for bug in BUGS:
        print(f"{bug.name}: {bug.file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
