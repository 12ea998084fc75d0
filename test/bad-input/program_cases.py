"""Bad input of a compiled program: token files, weights, flags."""

from __future__ import annotations

import gzip
import json
import pickle
import struct
from typing import Sequence

from workshop import Case, Prepare, Workshop, safetensors


def training(*arguments: str) -> Sequence[str]:
    return ("./train", "--data", "tokens.bin", "--steps", "2", "--quiet", *arguments)


def good_run(shop: Workshop) -> None:
    shop.binary()
    shop.tokens()


def tokens(data: bytes, name: str = "tokens.bin") -> Prepare:
    return lambda shop: (shop.binary(), shop.tokens(name, data))


def ids(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def llmc(magic: int, version: int, count: int, data: bytes) -> bytes:
    """A token file of llm.c: a header of 256 words, then the ids."""
    return struct.pack("<256i", magic, version, count, *[0] * 253) + data


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def id_array(values: Sequence[int]) -> bytes:
    """The values of an input [2, 8] of i64."""
    return npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2, 8), }", struct.pack("<16q", *values))


def named_ids(*arguments: str) -> Sequence[str]:
    """A run whose tokens and targets are given by name."""
    return ("./train", "--input", "tokens=x.npy", "--input", "targets=y.npy", "--steps", "2", "--quiet", *arguments)


def named(shop: Workshop, x: Sequence[int], y: Sequence[int]) -> None:
    shop.binary()
    shop.tokens("x.npy", id_array(x))
    shop.tokens("y.npy", id_array(y))


TABLE = {"dtype": "F32", "shape": [16, 16], "data_offsets": [0, 1024]}


def weights(message: str, data: bytes) -> Case:
    """A run that starts from a bad file of weights."""

    def prepare(shop: Workshop) -> None:
        good_run(shop)
        (shop.home / "w.safetensors").write_bytes(data)

    return Case(training("--init", "w.safetensors"), 1, f"w.safetensors: {message}", prepare)


def flags(message: str, *arguments: str) -> Case:
    """A wrong command line of the compiled program."""
    return Case(training(*arguments), 2, message, good_run)


FORMATS = "expected token ids: headerless uint16, .npy or llm.c's"


def not_tokens(message: str, data: bytes) -> Case:
    """A file of another kind where tokens are expected."""
    return Case(
        training(),
        1,
        f"tokens.bin: looks like {message} (ids that look so: save them as .npy)",
        tokens(data),
    )


def not_weights(message: str, data: bytes) -> Case:
    """A file of another kind where weights are expected."""
    return weights(f"looks like {message}, expected a safetensors file, as safetensors.torch.save_file writes", data)


TOKEN_FILES = {
    "tokens-missing": Case(training(), 1, "tokens.bin: cannot be read: No such file or directory", Workshop.binary),
    "tokens-are-a-folder": Case(
        training(),
        1,
        "tokens.bin: is not a regular file",
        lambda shop: (shop.binary(), (shop.home / "tokens.bin").mkdir()),
    ),
    "tokens-empty": Case(training(), 1, "tokens.bin: holds no tokens", tokens(b"")),
    "tokens-are-text": not_tokens(
        "text, expected token ids: hone tokens tokens.bin --bytes -o data makes them",
        b"First Citizen:\nBefore we proceed any further, hear me speak.\n" * 3,
    ),
    "tokens-are-little-text": not_tokens(
        "text, expected token ids: hone tokens tokens.bin --bytes -o data makes them",
        b"First Citizen:\nBefore we proceed any further\n",
    ),
    "tokens-are-text-of-windows": not_tokens(
        "text, expected token ids: hone tokens tokens.bin --bytes -o data makes them",
        "First Citizen:\r\nBefore we proceed any further\r\n".encode("utf-16"),
    ),
    "tokens-are-json": not_tokens(f"JSON, {FORMATS}", b'[{"text": "Before we proceed any further, hear me speak."}, {}]\n' * 2),
    "tokens-are-zip": not_tokens(f"a zip archive (.zip, .npz, .pt), {FORMATS}", b"PK\x03\x04" + b"\0" * 96),
    "tokens-are-gzip": not_tokens(
        f"a file compressed by gzip, {FORMATS}", gzip.compress(bytes(range(256)), compresslevel=6, mtime=0)
    ),
    "tokens-are-parquet": not_tokens(f"a Parquet file, {FORMATS}", b"PAR1" + b"\x15\0" * 40 + b"PAR1"),
    "tokens-are-weights": not_tokens(
        f"a safetensors file, {FORMATS}", safetensors({"table": TABLE}, b"\0" * 1024)
    ),
    "tokens-are-torch": not_tokens(
        f"a file of torch.save, {FORMATS}", b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19." + b"\0" * 99
    ),
    "tokens-are-pickle": not_tokens(f"a pickle of Python, {FORMATS}", pickle.dumps(list(range(200)), protocol=4)),
    "tokens-odd-size": Case(
        training(),
        1,
        "tokens.bin: has 129 bytes, expected an even number (uint16 ids)",
        tokens(ids(*range(16)) * 4 + b"x"),
    ),
    "tokens-fewer-than-a-batch": Case(
        training(),
        1,
        "tokens.bin: holds 3 tokens, expected at least 17 (a batch of 2 x 8 and one more)",
        tokens(ids(1, 2, 3)),
    ),
    "tokens-one-short-of-a-batch": Case(
        training(),
        1,
        "tokens.bin: holds 16 tokens, expected at least 17 (a batch of 2 x 8 and one more)",
        tokens(ids(*[1] * 16)),
    ),
    "tokens-id-too-large": Case(
        training(),
        1,
        "tokens.bin: token 16 at position 20, expected 0 to 15",
        tokens(ids(*[1] * 20, 16, *[1] * 20)),
    ),
    "tokens-llmc-truncated": Case(
        training(),
        1,
        "tokens.bin: has 1124 bytes, expected 1224 (its header says 100 tokens)",
        tokens(llmc(20240520, 1, 100, ids(*[1] * 50))),
    ),
    "tokens-llmc-header-only": Case(training(), 1, "tokens.bin: holds no tokens", tokens(llmc(20240520, 1, 0, b""))),
    "tokens-llmc-half-header": Case(
        training(),
        1,
        "tokens.bin: has 100 bytes, expected a header of 1024 (magic 20240520)",
        tokens(llmc(20240520, 1, 0, b"")[:100]),
    ),
    "tokens-llmc-version": Case(
        training(),
        1,
        "tokens.bin: version 9 of magic 20240520, expected 1",
        tokens(llmc(20240520, 9, 50, ids(*[1] * 50))),
    ),
    "tokens-npy-truncated": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy shape [64] of uint16, but 64 bytes of elements",
        tokens(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (64,), }", ids(*[1] * 32)), "t.npy"),
    ),
    "tokens-npy-floats": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy of float32, expected uint16, uint32, int32 or int64",
        tokens(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }", b"\0" * 256), "t.npy"),
    ),
    "tokens-npy-big-endian": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy element type '>u2', expected a little-endian integer, float or bool",
        tokens(npy("{'descr': '>u2', 'fortran_order': False, 'shape': (64,), }", b"\0" * 128), "t.npy"),
    ),
    "tokens-npy-objects": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy element type '|O', expected a little-endian integer, float or bool",
        tokens(npy("{'descr': '|O', 'fortran_order': False, 'shape': (64,), }", b"\0" * 512), "t.npy"),
    ),
    "tokens-npy-huge-shape": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: .npy header is malformed",
        tokens(
            npy("{'descr': '<u2', 'fortran_order': False, 'shape': (18446744073709551616,), }", b"\0" * 512), "t.npy"
        ),
    ),
    "tokens-npy-negative": Case(
        ("./train", "--data", "t.npy"),
        1,
        "t.npy: token -1 at position 0, expected 0 to 15",
        tokens(
            npy("{'descr': '<i4', 'fortran_order': False, 'shape': (40,), }", struct.pack("<40i", *[-1] * 40)), "t.npy"
        ),
    ),
    # Ids of inputs that are given by name; the loss ignores -100.
    "ids-of-targets": Case(
        named_ids(),
        1,
        "y.npy: id -5 at position 3, expected 0 to 15 or -100",
        lambda shop: named(shop, [1] * 16, [1, -100, 15, -5] * 4),
    ),
    "ids-of-tokens-ignored": Case(
        named_ids(),
        1,
        "x.npy: id -100 at position 1, expected 0 to 15; -100 marks ignored labels, which only an input of a loss with "
        "ignore_index=-100 takes",
        lambda shop: named(shop, [1, -100] * 8, [1] * 16),
    ),
    "ids-of-validation": Case(
        named_ids("--val-input", "tokens=x.npy", "--val-input", "targets=z.npy"),
        1,
        "z.npy: id 16 at position 15, expected 0 to 15 or -100",
        lambda shop: (named(shop, [1] * 16, [-100] * 8 + [1] * 8), shop.tokens("z.npy", id_array([1] * 15 + [16]))),
    ),
    "ids-of-validation-missing": Case(
        named_ids("--val-input", "tokens=x.npy"),
        2,
        "--val-input: nothing for 'targets', expected --val-input targets=FILE.npy (i64 of shape [2, 8]) or --val-data "
        "FILE",
        lambda shop: named(shop, [1] * 16, [1] * 16),
    ),
    "tokens-npy-no-header": Case(
        ("./train", "--data", "t.npy"), 1, "t.npy: is no .npy file", tokens(b"\x93NUMPY", "t.npy")
    ),
    "tokens-bad-leave-no-output": Case(
        training("--save", "w.safetensors", "--log", "run.jsonl"),
        1,
        "tokens.bin: holds 3 tokens, expected at least 17 (a batch of 2 x 8 and one more)",
        tokens(ids(1, 2, 3)),
    ),
    "validation-missing": Case(
        training("--val-data", "v.bin"), 1, "v.bin: cannot be read: No such file or directory", good_run
    ),
    "validation-too-short": Case(
        training("--val-data", "v.bin"),
        1,
        "v.bin: holds 1 tokens, expected at least 17 (a batch of 2 x 8 and one more)",
        lambda shop: (good_run(shop), shop.tokens("v.bin", ids(1))),
    ),
}



def sources(message: str, *arguments: str, code: int = 2) -> Case:
    """Wrong values of --data or --val-data; there are a.bin, b.bin, and bad.bin with an id that is too large."""

    def prepare(shop: Workshop) -> None:
        shop.binary()
        for name in ("a.bin", "b.bin"):
            shop.tokens(name, ids(*range(16)) * 4)
        shop.tokens("bad.bin", ids(*[1] * 20, 16))

    return Case(("./train", *arguments, "--quiet"), code, message, prepare)


SOURCES = {
    "sources-no-match": sources(
        "--data: no file matches 'web/*.bin'; . holds a.bin, b.bin, bad.bin, train", "--data=web/*.bin", code=1
    ),
    "sources-some-without-weight": sources(
        "--data: 'b.bin' has no weight, 'a.bin:0.7' has one; expected a weight for each or for none",
        "--data=a.bin:0.7", "--data=b.bin",
    ),
    "sources-weight-zero": sources(
        "--data: 'b.bin:0' has the weight '0', expected a number > 0 such as b.bin:0.3",
        "--data=a.bin:1", "--data=b.bin:0",
    ),
    "sources-weight-negative": sources(
        "--data: '[ab].bin:-2' has the weight '-2', expected a number > 0 such as [ab].bin:0.3", "--data=[ab].bin:-2"
    ),
    "sources-weight-text": sources(
        "--data: 'a.bin:half' has the weight 'half', expected a number > 0 such as a.bin:0.3", "--data=a.bin:half"
    ),
    "sources-weight-too-small": sources(
        "--data: 'b.bin:1e-4' has a share of 0.0001, expected at least 1/4096 of the sum of the weights",
        "--data=a.bin:1", "--data=b.bin:1e-4",
    ),
    "sources-epochs": sources(
        "--steps: given in epochs, of which each weighted --data has its own; expected a number of steps, or of "
        "--tokens: 0.5 times all 128 tokens are --steps 4 or --tokens 64",
        "--data=a.bin:1", "--data=b.bin:2", "--steps=0.5epochs",
    ),
    "sources-validation-weight": sources(
        "--val-data: 'b.bin:1' has a weight, expected files alone: these are read in order, none is mixed",
        "--data=a.bin", "--val-data=b.bin:1",
    ),
    "sources-empty-in-list": sources(
        "--data: 'a.bin,,b.bin', expected a name before and after each comma", "--data=a.bin,,b.bin"
    ),
    "sources-expanded-by-the-shell": sources(
        "b.bin: unknown, expected a flag of --help (a pattern in quotes is expanded by this program: --data "
        "'DIR/*.bin')",
        "--data", "a.bin", "b.bin",
    ),
    "sources-id-of-one-file": sources(
        "bad.bin: token 16 at position 20, expected 0 to 15", "--data=a.bin,bad.bin", "--data=b.bin", code=1
    ),
}

WEIGHTS = {
    "weights-missing": Case(
        training("--init", "none.safetensors"),
        1,
        "none.safetensors: cannot be read: No such file or directory",
        good_run,
    ),
    "weights-empty": weights("has 0 bytes, expected a safetensors file (8 bytes header length first)", b""),
    "weights-no-header": weights("has 3 bytes, expected a safetensors file (8 bytes header length first)", b"\x08\0\0"),
    "weights-header-longer-than-file": weights(
        "header of 1099511627776 bytes, expected at most 100000000 (is it a safetensors file?)",
        safetensors({"table": TABLE}, b"\0" * 1024, length=1 << 40),
    ),
    "weights-header-longest": weights(
        "header of 18446744073709551615 bytes, expected at most 100000000 (is it a safetensors file?)",
        safetensors({"table": TABLE}, b"\0" * 1024, length=(1 << 64) - 1),
    ),
    "weights-are-an-index": weights(
        "is the index of weights in several files, expected one safetensors file, as model.save_pretrained(DIR, "
        "max_shard_size='1TB') writes",
        json.dumps(
            {"metadata": {"total_size": 1024}, "weight_map": {"table": "model-00001-of-00002.safetensors"}}, indent=2
        ).encode(),
    ),
    "weights-are-json": not_weights("JSON", json.dumps({"architectures": ["GPT2LMHeadModel"], "n_layer": 12, "n_head": 12, "a": 1}).encode()),
    "weights-are-a-pointer": not_weights(
        "a Git LFS pointer (the file itself was not fetched)",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 548105171\n",
    ),
    "weights-are-torch": not_weights("a zip archive (.zip, .npz, .pt)", b"PK\x03\x04" + b"\0" * 96),
    "weights-are-npy": not_weights("an .npy file", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }", b"\0" * 256)),
    "weights-not-json": weights("header, byte 8: expected '{'", safetensors("table", b"\0" * 1024)),
    "weights-array": weights("header, byte 8: expected '{'", safetensors([], b"")),
    "weights-truncated": weights(
        "tensor 'table' has bytes 0 to 1024, expected a range within 1000", safetensors({"table": TABLE}, b"\0" * 1000)
    ),
    "weights-too-long": weights("4 bytes after the last tensor", safetensors({"table": TABLE}, b"\0" * 1028)),
    "weights-shape": weights(
        "tensor 'table' has shape [16, 15], expected [16, 16]",
        safetensors({"table": {**TABLE, "shape": [16, 15], "data_offsets": [0, 960]}}, b"\0" * 960),
    ),
    "weights-transposed-rank": weights(
        "tensor 'table' has shape [256], expected [16, 16]",
        safetensors({"table": {**TABLE, "shape": [256]}}, b"\0" * 1024),
    ),
    "weights-dtype": weights(
        "tensor 'table' is F64, expected F32",
        safetensors({"table": {**TABLE, "dtype": "F64", "data_offsets": [0, 2048]}}, b"\0" * 2048),
    ),
    "weights-dtype-unknown": weights(
        "tensor 'table' has dtype F33, expected F32, F64, BF16, F16, I64, I32, I8 or BOOL",
        safetensors({"table": {**TABLE, "dtype": "F33"}}, b"\0" * 1024),
    ),
    "weights-size-lies": weights(
        "tensor 'table' has 1000 bytes, expected those of F32 of shape [16, 16]",
        safetensors({"table": {**TABLE, "data_offsets": [0, 1000]}}, b"\0" * 1000),
    ),
    "weights-offsets-reversed": weights(
        "tensor 'table' has bytes 1024 to 0, expected a range within 1024",
        safetensors({"table": {**TABLE, "data_offsets": [1024, 0]}}, b"\0" * 1024),
    ),
    "weights-offsets-negative": weights(
        "header, byte 71: expected a whole number >= 0",
        safetensors({"table": {**TABLE, "data_offsets": [-8, 1016]}}, b"\0" * 1024),
    ),
    "weights-size-overflows": weights(
        "tensor 'table' has 1024 bytes, expected those of F32 of shape [4611686018427387904, 16]",
        safetensors({"table": {**TABLE, "shape": [1 << 62, 16]}}, b"\0" * 1024),
    ),
    "weights-tensor-missing": weights("tensor 'table' is missing (F32 of shape [16, 16])", safetensors({}, b"")),
    "weights-tensor-extra": weights(
        "tensor 'chair' is not in this program",
        safetensors({"table": TABLE, "chair": {**TABLE, "data_offsets": [1024, 2048]}}, b"\0" * 2048),
    ),
    "weights-overlap": weights(
        "tensor 'chair' starts at byte 512 of the data, expected 1024 (no holes, no overlaps)",
        safetensors({"table": TABLE, "chair": {**TABLE, "data_offsets": [512, 1536]}}, b"\0" * 1536),
    ),
    "weights-hole": weights(
        "tensor 'table' starts at byte 8 of the data, expected 0 (no holes, no overlaps)",
        safetensors({"table": {**TABLE, "data_offsets": [8, 1032]}}, b"\0" * 1032),
    ),
    "weights-twice": weights(
        "header, byte 89: key 'table' appears twice",
        safetensors('{"table": %s, "table": %s}' % (json.dumps(TABLE), json.dumps(TABLE)), b"\0" * 1024),
    ),
}

FLAGS = {
    "train-no-data": Case(("./train",), 2, "--data: not given, expected --data FILE with tokens", good_run),
    "train-flag-unknown": flags("--fast: unknown, expected a flag of --help", "--fast"),
    "train-flag-misspelt": flags("--weigth-decay: unknown; did you mean --weight-decay?", "--weigth-decay=1"),
    "train-flag-cut": flags("--checkpoint: unknown; did you mean --checkpoint-dir?", "--checkpoint", "c"),
    "train-schedule-misspelt": flags(
        "--schedule: 'cosin', expected constant, linear, cosine or wsd; did you mean cosine?", "--schedule", "cosin"
    ),
    "train-argument": flags("more.bin: unknown, expected a flag of --help", "more.bin"),
    "train-threads-zero": flags("--threads: '0', expected a whole number from 1 to 1024", "--threads", "0"),
    "train-steps-text": Case(
        ("./train", "--data", "tokens.bin", "--steps", "ten"), 2,
        "--steps: 'ten', expected a whole number, or epochs such as 2epochs", good_run
    ),
    "train-lr-negative": flags("--lr: '-0.1', expected a number >= 0", "--lr", "-0.1"),
    "train-lr-text": flags("--lr: 'high', expected a number >= 0", "--lr", "high"),
    "train-warmup-beyond-steps": flags("--warmup: 3, expected at most --steps (2)", "--warmup", "3"),
    "train-schedule-unknown": flags(
        "--schedule: 'step', expected constant, linear, cosine or wsd", "--schedule", "step"
    ),
    "train-min-lr-alone": flags("--min-lr: given without --schedule linear, cosine or wsd", "--min-lr", "1e-5"),
    "train-decay-steps-alone": flags("--decay-steps: given without --schedule wsd", "--decay-steps", "1"),
    "train-tokens-and-steps": flags("--tokens: given with --steps, expected one of them", "--tokens", "1K"),
    "train-tokens-text": flags("--tokens: '1G', expected a number such as 5000, 300M or 1.5B", "--tokens", "1G"),
    "train-keep-best-alone": flags("--keep-best: given without --checkpoint-dir", "--keep-best"),
    "train-min-lr-above-lr": flags(
        "--min-lr: 0.001, expected at most --lr (1e-05)", "--schedule", "cosine", "--lr", "1e-5", "--min-lr", "1e-3"
    ),
    "train-resume-alone": flags("--resume: given without --checkpoint-dir", "--resume"),
    "train-resume-of-nothing": Case(
        ("./train", "--resume", "c"),
        2,
        "--data: not given, and c has no flags.json with the flags of a run; expected --data FILE with tokens and the "
        "other flags of the run",
        good_run,
    ),
    "train-resume-elsewhere": flags(
        "--checkpoint-dir: d, expected c, from which --resume goes on", "--resume=c", "--checkpoint-dir=d"
    ),
    "train-checkpoint-every-alone": flags(
        "--checkpoint-every: given without --checkpoint-dir", "--checkpoint-every", "2"
    ),
    "train-val-every-alone": flags("--val-every: given without --val-data", "--val-every", "2"),
    "train-given-twice": flags("--lr: given twice, expected once", "--lr", "1", "--lr", "2"),
    "train-flag-without-value": flags("--lr: no value, expected X", "--lr"),
    "train-switch-with-value": flags("--shuffle: takes no value, 'yes' was given", "--shuffle=yes"),
    "train-input-unknown": Case(
        training("--input", "mask=t.npy"),
        2,
        "--input: 'mask', expected an input of this program (there is none)",
        good_run,
    ),
    "train-save-unwritable": Case(
        training("--save", "none/w.safetensors"),
        1,
        "none/w.safetensors: cannot be written: No such file or directory",
        good_run,
    ),
    "train-save-over-the-program": Case(
        training("--save", "./train"), 2, "--save: ./train is this program, expected another file", good_run
    ),
    "train-log-over-the-program": Case(
        training("--log", "train"), 2, "--log: train is this program, expected another file", good_run
    ),
    "train-save-over-a-folder": Case(
        training("--save", "out"),
        1,
        "out: is no regular file, expected one or none",
        lambda shop: (good_run(shop), (shop.home / "out").mkdir()),
    ),
    "train-log-unwritable": Case(
        training("--log", "none/run.jsonl"), 1, "none/run.jsonl: cannot be written: No such file or directory", good_run
    ),
    "train-checkpoint-over-a-file": Case(
        training("--checkpoint-dir", "tokens.bin"), 1, "tokens.bin: cannot be made: File exists", good_run
    ),
}
