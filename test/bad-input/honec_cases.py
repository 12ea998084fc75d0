"""Bad input of honec but for graphs: command lines, output files, packages, constants."""

from __future__ import annotations

from workshop import (ARGUMENTS, GRAPH, Case, Workshop, graph, honec, manifest, raw_manifest, removed, safetensors,
                      usage)

COMMAND_LINES = {
    "option-unknown": usage("--fast: unknown option, see honec --help", "--fast"),
    "option-short-unknown": usage("-O3: unknown option, see honec --help", "-O3"),
    "option-misspelt": usage("--mesch: unknown option, see honec --help; did you mean --mesh?", "--mesch=dp=2"),
    "option-cut": usage("--weight: unknown option, see honec --help; did you mean --weight-decay?", "--weight=1"),
    "precision-misspelt": usage(
        "--precision: is 'bf16-rs', expected fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8; did you mean bf16-sr?", "--precision=bf16-rs"
    ),
    "no-package": Case(["honec", "-o", "train"], 2, "no package given, expected a directory NAME.hone"),
    "no-output": Case(["honec", "p.hone"], 2, "-o: missing, expected a file to write"),
    "output-without-value": Case(["honec", "p.hone", "-o"], 2, "-o: no value, expected FILE"),
    "output-empty": Case(["honec", "p.hone", "-o", ""], 2, "-o: is '', expected a file"),
    "binary-to-stdout": Case(["honec", "p.hone", "-o", "-"], 2, "-o: is '-', expected a file for a binary"),
    "two-packages": usage("'q.hone': unexpected, expected one package, which is 'p.hone'", "q.hone"),
    "emit-unknown": usage("--emit: is 'asm', expected mlir, plan, llvm, ptx, obj, so or exe", "--emit=asm"),
    "emit-ptx": usage("--emit: is 'ptx', expected --target=cuda with it", "--emit=ptx"),
    "target-unknown": usage("--target: is 'tpu', expected cpu or cuda", "--target=tpu"),
    "exact-cuda": usage("--exact: expected --target=cpu with it, whose products add in order", "--exact",
                        "--target=cuda"),
    "emulate-cpu": usage("--emulate: expected --target=cuda with it", "--emulate"),
    "deterministic-attention-cpu": usage("--deterministic-attention: expected --target=cuda with it",
                                         "--deterministic-attention"),
    "arch-unknown": usage(
        "--arch: is 'z80', expected native, x86-64-v3, x86-64-v4, skylake-avx512, sapphirerapids, znver4 "
        "or another CPU of LLVM",
        "--arch=z80",
    ),
    "arch-misspelt": usage(
        "--arch: is 'zenver4', expected native, x86-64-v3, x86-64-v4, skylake-avx512, sapphirerapids, znver4 "
        "or another CPU of LLVM; did you mean znver4?",
        "--arch=zenver4",
    ),
    "arch-of-32-bits": usage(
        "--arch: is 'pentium4', a CPU of 32 bits, expected one of 64 as x86-64-v3", "--arch=pentium4"
    ),
    "arch-unknown-gpu": usage(
        "--arch: is 'sm_999', expected sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121",
        "--target=cuda",
        "--arch=sm_999",
    ),
    "arch-of-a-gpu": usage("--arch: is 'sm_90', expected a CPU with --target=cpu", "--target=cpu", "--arch=sm_90"),
    "precision-unknown": usage("--precision: is 'fp9', expected fp32, tf32, bf16, fp16, bf16-sr, fp8, fp8-block or mxfp8", "--precision=fp9"),
    "pad-zero": usage("--pad: is '0', expected auto, off or a multiple", "--pad=0"),
    "chunk-loss-zero": usage("--chunk-loss: is '0', expected auto, off or a number of rows", "--chunk-loss=0"),
    "chunk-loss-unknown": usage("--chunk-loss: is 'all', expected auto, off or a number of rows", "--chunk-loss=all"),
    "chunk-loss-cut": usage("--chunk-loss: is 'aut', expected auto, off or a number of rows; did you mean auto?", "--chunk-loss=aut"),
    "attention-unknown": usage("--attention: is 'some', expected auto, fused or unfused", "--attention=some"),
    "pad-unknown": usage("--pad: is 'maybe', expected auto, off or a multiple", "--pad=maybe"),
    "memory-budget": usage("--memory-budget: is '2 pounds', expected a size as 800MB, 1.5GiB or a number of bytes",
                           "--memory-budget=2 pounds"),
    "memory-budget-zero": usage("--memory-budget: is '0', expected a size as 800MB, 1.5GiB or a number of bytes",
                                "--memory-budget=0"),
    "memory-budget-huge": usage("--memory-budget: is '9e9TB', expected a size as 800MB, 1.5GiB or a number of bytes",
                                "--memory-budget=9e9TB"),
    "checkpoint": usage("--checkpoint: is 'some', expected auto, none, full, sqrt or away", "--checkpoint=some"),
    "mesh": usage("--mesh, --recipe: 'xp=2': expected an axis pp, rep, dp, fs, ep, cp or tp with its size, as fs=4 or fs=4@nvlink", "--mesh=xp=2"),
    "schedule": usage("--schedule: 'gpip': expected gpipe, 1f1b, interleaved=2 (or more chunks per rank), zb-h1, zb-v or file:PATH", "--mesh=pp=2", "--schedule=gpip"),
    "schedule-overlap": usage("--schedule: 'zb-v+overlap': no two of its actions can run together, expected 1f1b+overlap, interleaved=2+overlap (or more chunks per rank) or zb-h1+overlap", "--mesh=pp=2", "--schedule=zb-v+overlap"),
    "schedule-chunks": usage("--schedule: 'interleaved=0': expected gpipe, 1f1b, interleaved=2 (or more chunks per rank), zb-h1, zb-v or file:PATH", "--mesh=pp=2", "--schedule=interleaved=0"),
    "cuts-no-stages": usage("--cuts: 'blocks.1': expected an axis pp of the mesh with it, as --mesh=pp=2", "--mesh=dp=2", "--cuts=blocks.1"),
    "schedule-no-stages": usage("--schedule: 'gpipe': expected an axis pp of the mesh with it, as --mesh=pp=2", "--mesh=dp=2", "--schedule=gpipe"),
    "schedule-no-file": usage("--schedule: 'file:none.csv': expected a file that can be read: No such file or directory", "--mesh=pp=2", "--schedule=file:none.csv"),
    "dump-schedule-no-stages": usage("--dump-schedule: expected an axis pp of the mesh with it, as --mesh=pp=2", "--mesh=dp=2", "--dump-schedule=s.csv"),
    "dump-schedule-ending": usage("--dump-schedule: is 's.png', expected a file FILE.svg or FILE.csv", "--mesh=pp=2", "--dump-schedule=s.png"),
    "mesh-twice": usage("--mesh, --recipe: 'dp=4': expected each axis once", "--mesh=dp=2,dp=4"),
    "recipe": usage("--mesh, --recipe: 'zero4': expected ddp, fsdp, zero1, zero2, zero3, zero3-keep, ep, ep-gather, ep-all-to-all, sp, cp, cp-gather, cp-heads, cp-ring or an axis with its size", "--mesh=dp=2", "--recipe=zero4"),
    "moe-factor-no-ep": usage("--moe-factor: expected an axis ep of the mesh with it, as --mesh=ep=2", "--mesh=dp=2", "--moe-factor=2"),
    "moe-factor-gather": usage("--moe-factor: ep-gather drops no rows, expected --recipe=ep-all-to-all with it", "--mesh=ep=2", "--recipe=ep-gather", "--moe-factor=2"),
    "moe-overflow-no-ep": usage("--moe-overflow=error: expected an axis ep of the mesh with it, as --mesh=ep=2", "--moe-overflow=error"),
    "recipe-mesh": usage("--mesh, --recipe: 'fsdp': expected a mesh, as dp=2,tp=2", "--recipe=fsdp"),
    "recipe-level": usage("--mesh, --recipe: 'fsdp=zero3': expected an axis fs or dp, which divides state, as fs=2", "--recipe=tp=4,sp,fsdp=zero3,rep=2"),
    "micro-batches-zero": usage("--micro-batches: is '0', expected an integer from 1 to 1048576", "--micro-batches=0"),
    "micro-batches-text": usage(
        "--micro-batches: is 'two', expected an integer from 1 to 1048576", "--micro-batches", "two"
    ),
    "optimizer-unknown": usage(
        "--optimizer: is 'rmsprop', expected adamw, sgd, lion, adafactor or muon", "--optimizer=rmsprop"
    ),
    "moments-unknown": usage("--moments: is 'fp8', expected fp32, bf16 or 8bit", "--moments=fp8"),
    "lr-negative": usage("--lr: is '-1', expected a number >= 0", "--lr=-1"),
    "lr-not-a-number": usage("--lr: is 'nan', expected a number >= 0", "--lr=nan"),
    "clip-zero": usage("--clip: is '0', expected a number > 0 or inf", "--clip=0"),
    "flag-with-value": usage("--dry-run: has value 'yes', expected none", "--dry-run=yes"),
    "given-twice": usage("--lr: given twice, as '1' and '2'", "--lr=1", "--lr=2"),
    "dry-run-emits": usage("--dry-run: writes nothing, expected no --emit", "--dry-run", "--emit=plan"),
}

OPTIMIZERS = {
    "moments-of-adafactor": Case(
        ["honec", "p.hone", "-o", "train", "--optimizer=adafactor", "--moments=bf16"],
        1,
        "p.hone/graph.mlir:1:1: hone.optimizer: moments is 'bf16', but adafactor has them in fp32 only",
        Workshop.package,
    ),
    "codes-of-lion": Case(
        ["honec", "p.hone", "-o", "train", "--optimizer=lion", "--moments=8bit"],
        1,
        "p.hone/graph.mlir:1:1: hone.optimizer: moments is '8bit', but lion has them in fp32 or bf16 only",
        Workshop.package,
    ),
}

BUDGETS = {
    "budget-too-small": Case(
        honec("--memory-budget=100"),
        1,
        "p.hone/graph.mlir:1:1: memory budget of 100 B (100 bytes) is too small: the smallest that works is 5696 bytes (5.57KiB); "
        "--offload=auto may need less",
        Workshop.package,
    ),
    "budget-of-a-policy": Case(
        honec("--memory-budget=100B", "--checkpoint=none"),
        1,
        "p.hone/graph.mlir:1:1: memory budget of 100 B (100 bytes) is too small: the smallest that works is 5696 bytes (5.57KiB); "
        "--offload=auto may need less",
        Workshop.package,
    ),
}

OUTPUTS = {
    "output-folder-missing": Case(
        ["honec", "p.hone", "-o", "none/train"], 1, "none/train: cannot be written: No such file or directory"
    ),
    "output-is-a-folder": Case(
        ["honec", "p.hone", "-o", "p.hone"], 1, "p.hone: is a directory, expected a file to write"
    ),
    "output-is-the-graph": Case(
        ["honec", "p.hone", "-o", "p.hone/../p.hone/graph.mlir"],
        1,
        "p.hone/../p.hone/graph.mlir: is a file of the package, expected another file to write",
        Workshop.package,
    ),
    "output-full": Case(
        ["honec", "p.hone", "--emit=mlir", "-o", "/dev/full"],
        1,
        "/dev/full: cannot be written: No space left on device",
    ),
    "report-over-a-file": Case(
        honec("--emit=plan", "--report=p.hone/graph.mlir"),
        1,
        "p.hone/graph.mlir/report.json: cannot be written: Not a directory",
    ),
}

PACKAGES = {
    "package-missing": Case(
        ["honec", "q.hone", "-o", "train"], 1, "q.hone: does not exist, expected a package directory"
    ),
    "package-is-a-file": Case(
        ["honec", "p.hone/graph.mlir", "-o", "train"], 1, "p.hone/graph.mlir: is not a directory, expected a package; text of "
        "a module needs --from=PHASE",
    ),
    "manifest-missing": Case(
        honec(), 1, "p.hone/manifest.json: cannot be read: No such file or directory", removed("manifest.json")
    ),
    "manifest-truncated": Case(
        honec(),
        1,
        "p.hone/manifest.json: is not JSON: [1:12, byte=12]: Expected , or } after object property",
        raw_manifest('{"schema": 2'),
    ),
    "manifest-empty": Case(
        honec(), 1, "p.hone/manifest.json: is not JSON: [1:0, byte=0]: Unexpected EOF", raw_manifest("")
    ),
    "manifest-deep": Case(
        honec(),
        1,
        "p.hone/manifest.json: nests 65 levels deep at byte 64, expected at most 64",
        raw_manifest("[" * 50_000),
    ),
    "manifest-deep-in-an-object": Case(
        honec(),
        1,
        "p.hone/manifest.json: nests 65 levels deep at byte 320, expected at most 64",
        raw_manifest('{"a":' * 50_000),
    ),
    "cluster-deep": Case(
        honec("--cluster=c.json"),
        1,
        "c.json: nests 65 levels deep at byte 64, expected at most 64",
        lambda shop: (shop.package(), (shop.home / "c.json").write_text("[" * 50_000)),
    ),
    "manifest-array": Case(honec(), 1, "p.hone/manifest.json: is not a JSON object", raw_manifest("[]")),
    "schema-missing": Case(
        honec(), 1, 'p.hone/manifest.json: "schema" is missing, expected an integer', raw_manifest("{}")
    ),
    "schema-older": Case(
        honec(),
        1,
        "p.hone/manifest.json: schema is 1, expected 2: export the model again with this version",
        manifest(schema=1),
    ),
    "fingerprint-number": Case(
        honec(), 1, 'p.hone/manifest.json: "fingerprint" is something else, expected a string', manifest(fingerprint=7)
    ),
    "arguments-object": Case(
        honec(), 1, 'p.hone/manifest.json: "arguments" is something else, expected an array', manifest(arguments={})
    ),
    "argument-without-name": Case(
        honec(),
        1,
        'p.hone/manifest.json: argument 0: "fqn" is missing, expected a string',
        manifest(arguments=[{"kind": "param"}]),
    ),
    "argument-negative-size": Case(
        honec(),
        1,
        'p.hone/manifest.json: argument 0: "shape" is something else, expected an array of sizes',
        manifest(arguments=[{"fqn": "w", "kind": "param", "dtype": "f32", "shape": [-1]}]),
    ),
    "arguments-too-few": Case(
        honec(), 1, "p.hone/graph.mlir:2:3: has 3 arguments, expected 0 as in manifest.json", manifest(arguments=[])
    ),
    "argument-other-name": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has name 'table', expected 'other' as in manifest.json",
        lambda shop: shop.manifest(lambda content: content["arguments"][0].update(fqn="other")),
    ),
    "argument-other-kind": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has kind 'param', expected 'buffer' as in manifest.json",
        lambda shop: shop.manifest(lambda content: content["arguments"][0].update(kind="buffer")),
    ),
    "optimizer-other-rate": Case(
        honec(),
        1,
        "p.hone/manifest.json: optimizer differs from the one in graph.mlir, expected the same (honec has options for other settings)",
        manifest(optimizer={"name": "sgd", "lr": 0.1}),
    ),
    "argument-other-type": Case(
        honec(),
        1,
        "p.hone/graph.mlir:2:3: argument 0 has type 'f32[16x16]', expected 'bf16[16x16]' as in manifest.json",
        lambda shop: shop.manifest(lambda content: content["arguments"][0].update(dtype="bf16")),
    ),
    "graph-missing": Case(
        honec(), 1, "p.hone/graph.mlir: cannot be read: No such file or directory", removed("graph.mlir")
    ),
}

TEXT = "x.mlir"


def text(content: str) -> Prepare:
    """A file x.mlir."""
    return lambda shop: (shop.home / TEXT).write_text(content)


# Modules between phases.
RAISED = GRAPH.replace("module attributes {", 'module attributes {hone.package = "p.hone", ')
TEXTS = {
    "text-without-phase": Case(["honec", "-", "-o", "train"], 2, "-: is text of a module, expected --from=PHASE with it"),
    "text-file-without-phase": Case(
        ["honec", TEXT, "-o", "train"], 1, "x.mlir: is not a directory, expected a package; text of a module needs --from=PHASE",
        text(RAISED),
    ),
    "from-misspelt": usage(
        "--from: is 'padd', expected import, raise, pad, precision, autodiff, step, shard, fuse, checkpoint, plan, lower "
        "or llvm; did you mean pad?", "--from=padd"
    ),
    "from-behind-upto": usage(
        "--from: is 'plan', expected a phase up to 'fuse', the last to run", "--from=plan", "--emit=mlir", "--upto=fuse"
    ),
    "from-behind-plan": usage(
        "--from: is 'lower', expected a phase up to 'plan', the last to run", "--from=lower", "--emit=plan"
    ),
    "upto-of-a-binary": usage("--upto: expected --emit=mlir with it", "--upto=fuse"),
    "upto-too-early-for-option": usage(
        "--memory-budget: is for the phases from checkpoint on, expected it where these run, behind --upto=raise",
        "--emit=mlir", "--upto=raise", "--memory-budget=1GiB",
    ),
    "from-too-late-for-option": usage(
        "--precision: is for the phases up to step, expected it where these ran, before --from=fuse",
        "--from=fuse", "--precision=bf16",
    ),
    "upto-too-early-for-report": usage(
        "--report: expected --upto=checkpoint or a later phase with it", "--emit=mlir", "--upto=fuse", "--report=r"
    ),
    "upto-too-early-for-dump-schedule": usage(
        "--dump-schedule: expected --upto=checkpoint or a later phase with it",
        "--mesh=pp=2", "--emit=mlir", "--upto=fuse", "--dump-schedule=s.csv",
    ),
    "from-too-late-for-dry-run": usage(
        "--dry-run: expected --from=shard or an earlier phase with it", "--from=fuse", "--dry-run"
    ),
    "upto-llvm-cuda": usage(
        "--upto: is 'llvm', expected lower or an earlier phase for cuda, whose kernels leave the module there",
        "--target=cuda", "--emit=mlir", "--upto=llvm",
    ),
    "package-without-text": usage("--package: expected --from with it", "--package=q.hone"),
    "insert-without-phase": usage("--insert: is 'my-pass', expected PASS@after:PHASE", "--insert=my-pass"),
    "insert-without-pass": usage("--insert: is '@after:raise', expected PASS@after:PHASE", "--insert=@after:raise"),
    "insert-phase-misspelt": usage(
        "--insert: is after 'rase', expected import, raise, pad, precision, autodiff, step, shard, fuse, checkpoint, plan, "
        "lower or llvm; did you mean raise?", "--insert=cse@after:rase"
    ),
    "insert-outside": usage(
        "--insert: is after 'raise', expected one of the phases that run, pad to llvm", "--from=pad",
        "--insert=cse@after:raise",
    ),
    "text-is-a-package": Case(
        honec("--from=pad"), 1, "p.hone: is a directory, expected text of a module with --from; a package takes none"
    ),
    "text-missing": Case(
        ["honec", TEXT, "--from=pad", "-o", "train"], 1, "x.mlir: cannot be read: No such file or directory"
    ),
    "text-of-no-package": Case(
        ["honec", TEXT, "--from=pad", "-o", "train"], 1,
        "x.mlir: names no package, expected --package=DIR.hone, or --package=none", text(GRAPH),
    ),
    "text-of-another-target": Case(
        ["honec", TEXT, "--from=pad", "-o", "train", "--arch=x86-64-v3"], 1,
        "x.mlir: is for 'cuda sm_90', not 'cpu x86-64-v3', expected --target=cuda --arch=sm_90",
        text(RAISED.replace("module attributes {", 'module attributes {hone.target = "cuda sm_90", ')),
    ),
    "text-of-another-phase": Case(
        ["honec", TEXT, "--from=fuse", "-o", "train"], 1, "x.mlir:1:1: still has a function @forward, the step phase consumes it", text(RAISED)
    ),
    "text-without-values": Case(
        ["honec", TEXT, "--from=pad", "-o", "train"], 1,
        "x.mlir: 'shift' has no values here, expected --package=DIR.hone, which holds them",
        lambda shop: (shop.home / TEXT).write_text(
            GRAPH_WITH_CONSTANT.replace("module attributes {", 'module attributes {hone.package = "p.hone", ')
        ),
    ),
}

# The same with a table of constants that comes from a file.
CONSTANT = {"fqn": "shift", "kind": "buffer", "dtype": "f32", "shape": [16]}
GRAPH_WITH_CONSTANT = GRAPH.replace(
    "    %tokens:",
    '    %shift: tensor<16xf32> {hone.kind = "buffer", hone.fqn = "shift", hone.init = {dist = "file"}},\n    %tokens:',
)
SHIFT = {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]}


def constants(message: str, data: bytes | None) -> Case:
    """A package whose file of constants is bad or, None, missing."""

    def prepare(shop: Workshop) -> None:
        package = shop.package(GRAPH_WITH_CONSTANT, [ARGUMENTS[0], CONSTANT, *ARGUMENTS[1:]])
        if data is not None:
            (package / "consts.safetensors").write_bytes(data)

    return Case(honec(), 1, f"p.hone/consts.safetensors: {message}", prepare)


CONSTANTS = {
    "constants-missing": constants("cannot be read: No such file or directory", None),
    "constants-empty": constants("0 bytes, expected the header's length in 8", b""),
    "constants-header-longer-than-file": constants(
        "header of 1152921504606846976 bytes, expected at most the 131 that follow",
        safetensors({"shift": SHIFT}, b"\0" * 64, length=1 << 60),
    ),
    "constants-not-json": constants(
        "header is not JSON: [1:2, byte=2]: Expected object key", safetensors("{shift", b"\0" * 64)
    ),
    "constants-deep": constants(
        "header nests 65 levels deep at byte 64, expected at most 64", safetensors("[" * 100_000)
    ),
    "constants-array": constants("header is not a JSON object", safetensors([], b"")),
    "constants-truncated": constants(
        "tensor 'shift': bytes 0 to 64, expected inside [0, 60)", safetensors({"shift": SHIFT}, b"\0" * 60)
    ),
    "constants-shape": constants(
        "tensor 'shift': is F32[4, 4], expected F32[16]", safetensors({"shift": {**SHIFT, "shape": [4, 4]}}, b"\0" * 64)
    ),
    "constants-dtype": constants(
        "tensor 'shift': is I32[16], expected F32[16]", safetensors({"shift": {**SHIFT, "dtype": "I32"}}, b"\0" * 64)
    ),
    "constants-size-lies": constants(
        "tensor 'shift': 60 bytes, expected 64", safetensors({"shift": {**SHIFT, "data_offsets": [0, 60]}}, b"\0" * 64)
    ),
    "constants-tensor-missing": constants("tensor 'shift': missing", safetensors({}, b"")),
    "constants-entry-malformed": constants(
        "tensor 'shift': expected dtype, shape and two data_offsets", safetensors({"shift": 7}, b"")
    ),
}
