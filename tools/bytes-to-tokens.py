#!/usr/bin/env python3
"""Makes token files of a text, one token per byte: bytes-to-tokens.py TEXT TRAIN.bin VAL.bin

The files are headerless uint16, as nanoGPT writes them; the last tenth of the text is for validation. Prints the
unigram entropy of the text in nats per byte: the loss of a model that knows only how often each byte occurs.
"""

import array
import collections
import math
import sys

VALIDATION_SHARE = 0.1


def unigram_entropy(text: bytes) -> float:
    counts = collections.Counter(text)
    return -sum(n / len(text) * math.log(n / len(text)) for n in counts.values())


def write_tokens(path: str, text: bytes) -> None:
    tokens = array.array("H", list(text))
    if sys.byteorder == "big":
        tokens.byteswap()
    with open(path, "wb") as file:
        tokens.tofile(file)


def main(argv: list[str]) -> int:
    if len(argv) != 4:
        print("error: wrong number of arguments, expected TEXT TRAIN.bin VAL.bin", file=sys.stderr)
        return 2
    try:
        with open(argv[1], "rb") as file:
            text = file.read()
        split = len(text) - int(len(text) * VALIDATION_SHARE)
        if not 0 < split < len(text):
            print(f"error: {argv[1]}: has {len(text)} bytes, expected enough to split", file=sys.stderr)
            return 1
        write_tokens(argv[2], text[:split])
        write_tokens(argv[3], text[split:])
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{unigram_entropy(text):.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
