#!/usr/bin/env python3
"""Checks which files ask for op classes: check-op-names.py SOURCE_DIR. Prints every wrong file; exit 1 if there is one.

A fact about an op that several places need is a method of an op interface (HoneInterfaces.td, DistInterfaces.td), so that
a new op states it once. A file outside IR, Interpreter and the pattern folders that asks `isa<SomeOp>` or switches over op
classes with TypeSwitch has a row in REASONS, which says why the fact concerns this file alone. A row whose file no longer
asks is wrong too.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Iterator

# Folders that consist of code for single ops: definitions, the reference semantics, patterns.
OF_SINGLE_OPS = ("include/hone/IR/", "lib/IR/", "lib/Interpreter/", "lib/Sharding/IR/", "lib/Transforms/Raise/")

REASONS = {
    "lib/Analysis/Attention/Mask.cpp": "recognises masks: a pattern over elementwise ops",
    "lib/Analysis/Cost/GroupedTiles.cpp": "the two products of groups for which a GPU has a kernel of its own",
    "lib/Analysis/Cost/KernelCost.cpp": "the measured efficiency of the attention library's backward kernel",
    "lib/Analysis/Cost/LibraryRoofline.cpp": "models which ops particular kernels of a library fuse",
    "lib/Analysis/Fusion/CollectiveGroups.cpp": "a wait is the only op that ends a collective",
    "lib/Analysis/Fusion/ContractionForm.cpp": "the epilogue pattern: which chains a product's library call takes",
    "lib/Analysis/Fusion/ContractionGroups.cpp": "the epilogue pattern: which chains a product's library call takes",
    "lib/Analysis/Fusion/Groups.cpp": "ops without operands, and reshapes, which regions take without a kernel",
    "lib/Analysis/Fusion/RegionPlan.cpp": "the key of a region leaves out the salt of dropout",
    "lib/Analysis/Fusion/RowSpace.cpp": "the rules of the row space, one per op that is not elementwise",
    "lib/Analysis/Layout/Views.cpp": "which kernels read rows of any stride",
    "lib/Analysis/Padding/Effects.cpp": "the rules of padding, one per op that is not elementwise or of rows",
    "lib/Analysis/Recompute/StepStages.cpp": "what a stage is made of after fusion: groups, and concatenations",
    "lib/Analysis/Values/IntegerRanges.cpp": "the transfer functions of the analysis, one per op",
    "lib/Codegen/CPU/Attention/Kernels.cpp": "the emitters of attention, forward and backward",
    "lib/Codegen/CPU/GenericKernels.cpp": "the ops that the generic emitter computes",
    "lib/Codegen/CPU/LineKernels.cpp": "the emitters of ops along lines, one per op",
    "lib/Codegen/CPU/PoolKernels.cpp": "the emitters of maxima over windows and of their gradient",
    "lib/Codegen/Common/DataMovement.cpp": "the emitter of data movement: an index map per op",
    "lib/Codegen/Common/ElementwiseArith.cpp": "the emitter of elementwise ops: a formula per op",
    "lib/Codegen/Common/RowValues.cpp": "the emitter of values in a row kernel",
    "lib/Codegen/Common/ScalarEmitter.cpp": "the emitter of single elements",
    "lib/Codegen/GPU/ActivationKernels.cpp": "tells a GELU from its gradient, the two activations of a product",
    "lib/Codegen/GPU/LowerToDevice.cpp": "chooses the emitter of a launch within its kernel family",
    "lib/Codegen/LowerToKernels.cpp": "chooses the emitter of a launch within its kernel family",
    "lib/Codegen/Program/DescribeRanks.cpp": "a wait is the only op that ends a collective",
    "lib/Plan/LaunchLabel.cpp": "a launch that only yields is a copy: its name in profiles",
    "lib/Plan/PlanDialect.cpp": "the verifier of plan.view",
    "lib/Sharding/Describe/DescribeModel.cpp": "the pattern of layers: products, attention, experts, norms, sums",
    "lib/Sharding/Experts/ExpertParallel.cpp": "the pattern of the sum over groups of experts",
    "lib/Sharding/Experts/LowerBlocks.cpp": "lowers the ops on blocks, each by itself",
    "lib/Sharding/Experts/Mixture.cpp": "the pattern of a mixture of experts",
    "lib/Sharding/Experts/MixtureBuilder.cpp": "what each op on rows is on blocks of rows",
    "lib/Sharding/Experts/RoutingAnalysis.cpp": "the transfer functions of the analysis, one per op",
    "lib/Sharding/Model/ShardingRule.cpp": "dist.constrain, which has no factors of its own, and rings, which one axis divides",
    "lib/Sharding/Partition/LocalOps.cpp": "the local form of ops whose attributes or indices are positions",
    "lib/Sharding/Partition/Partition.cpp": "dist.constrain, which partitioning replaces",
    "lib/Sharding/Propagate/ContextParallel.cpp": "losses, whose rows are separated, and attention, which reads all positions",
    "lib/Sharding/Propagate/Propagation.cpp": "the wording of a conflict with dist.constrain",
    "lib/Sharding/Propagate/TensorParallel.cpp": "the pattern of weights that only products read",
    "lib/Sharding/Stages/AssignStages.cpp": "of a cast one copy is handed on, of a view the operand",
    "lib/Sharding/Stages/CutValues.cpp": "the pattern of weights: casts and views of a parameter",
    "lib/Sharding/Stages/SideTerms.cpp": "the pattern of a loss of several terms: sums and scales",
    "lib/Sharding/Stages/SplitStages.cpp": "sums of gradients",
    "lib/Sharding/Stages/StageFunction.cpp": "sums of gradients",
    "lib/Transforms/Step/GradientSums.cpp": "sums of gradients",
    "lib/Sharding/Stages/StageUpdate.cpp": "the norm of all gradients, which stages compute together",
    "lib/Sharding/Verify/PlacementRules.cpp": "the verifier's own rules, independent of the interface that they check",
    "lib/Transforms/Autodiff/GradientPath.cpp": "where stop_gradient, select_mode and custom_gradient let a path go",
    "lib/Transforms/Autodiff/VerifyGradient.cpp": "the ops that autodiff removes, and dropout",
    "lib/Transforms/Autodiff/VjpRules.cpp": "the names of a second result, for a message",
    "lib/Transforms/Autodiff/WidenGradients.cpp": "the pattern of sums of gradients: additions, products, reductions",
    "lib/Transforms/Fuse/ChunkLoss.cpp": "the pattern of a loss behind a product",
    "lib/Transforms/Fuse/DecomposeAttention.cpp": "which ops between the steps of attention need no kernel",
    "lib/Transforms/Fuse/ExpandWeights.cpp": "the pattern of stored weights: dequantized, or cast and then picked",
    "lib/Transforms/Fuse/FuseGroups.cpp": "reshapes stand beside groups, not in them",
    "lib/Transforms/Fuse/CodeSums.cpp": "sums over rows may read a cast of the value",
    "lib/Transforms/Fuse/FuseIntoCodes.cpp": "broadcasts of vectors, which that kernel reads by element, are no elementwise ops",
    "lib/Transforms/Fuse/GatheredCodes.cpp": "what makes codes of a gathered weight is one op",
    "lib/Transforms/Fuse/RecomputeMaps.cpp": "values that cost nothing to compute twice: constants, broadcasts, reshapes",
    "lib/Transforms/Fuse/VerifyGroups.cpp": "the shape of a scatter's group: the scatter and an addition",
    "lib/Transforms/Import/BoundIds.cpp": "the pattern of code that checks ids: comparisons and arithmetic",
    "lib/Transforms/Pad/PackProjections.cpp": "the pattern from a projection to the attention that reads its heads",
    "lib/Transforms/Pad/VerifyPad.cpp": "reshapes and transposes that padding puts around ops",
    "lib/Transforms/Plan/FunctionPlanner.cpp": "the place of a view: strides of a slice, of a reshape",
    "lib/Transforms/Plan/MovedValues.cpp": "after fusion kernels are groups",
    "lib/Transforms/Plan/OffloadState.cpp": "after fusion kernels are groups",
    "lib/Transforms/Plan/OverlapCollectives.cpp": "after fusion kernels are groups",
    "lib/Transforms/Plan/OverlapTurns.cpp": "after fusion kernels are groups",
    "lib/Transforms/Plan/PlanMemory.cpp": "concatenations are written in place",
    "lib/Transforms/Plan/StreamWeights.cpp": "after fusion kernels are groups",
    "lib/Transforms/Plan/VerifyPlan.cpp": "a wait is the only op that ends a collective",
    "lib/Transforms/Precision/ElementTypes.cpp": "a group has no types of its own",
    "lib/Transforms/Precision/MixedPrecision.cpp": "the pattern of casts: constants are rounded, slices narrowed",
    "lib/Transforms/Precision/QuantizedProducts.cpp": "casts between a parameter and its product",
    "lib/Transforms/Recompute/ApplyCheckpoints.cpp": "after fusion kernels are groups",
    "lib/Transforms/Step/LowGradients.cpp": "the pattern of gradients: sums of products, and of rows of a table",
    "lib/Transforms/Step/LowState.cpp": "the pattern of tables: rows are picked before they are widened",
}

QUERY = re.compile(r"\bisa(?:_and_present|_and_nonnull)?<([^;()]*?)>\s*\(", re.S)
SWITCH = re.compile(r"\bTypeSwitch<(?:\w+::)*Operation\b")


def op_classes(source: Path) -> set[str]:
    """The C++ classes of the ops of Hone's dialects."""
    classes = set()
    for ods in (source / "include").rglob("*.td"):
        classes |= {f"{name}Op" for name in re.findall(r"^def \w+?_(\w+)Op\b", ods.read_text(), re.M)}
    return classes


def asks(text: str, classes: set[str]) -> bool:
    text = re.sub(r"//.*", "", text)
    named = {name for match in QUERY.finditer(text) for name in re.findall(r"(?<![\w:])(?:(?:dist|plan)::)?(\w+)", match[1])}
    return bool(named & classes) or bool(SWITCH.search(text))


def findings(source: Path) -> Iterator[str]:
    classes = op_classes(source)
    asking = set()
    for path in sorted([*(source / "lib").rglob("*.cpp"), *(source / "lib").rglob("*.h"),
                        *(source / "include").rglob("*.h")]):
        name = path.relative_to(source).as_posix()
        if not name.startswith(OF_SINGLE_OPS) and asks(path.read_text(), classes):
            asking.add(name)
    for name in sorted(asking - REASONS.keys()):
        yield f"{name}: asks for op classes, expected a method of an op interface, or a row in {Path(__file__).name}"
    for name in sorted(REASONS.keys() - asking):
        yield f"{name}: asks for no op class, expected no row for it in {Path(__file__).name}"


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print("error: wrong arguments, expected SOURCE_DIR", file=sys.stderr)
        return 2
    found = list(findings(Path(argv[1])))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
