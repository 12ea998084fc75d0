"""Compares what the functions of stages send together with what the whole function sends.

Reads two listings of dist-print-collectives: of a step, and of its stages. Functions of chunks, as @accumulate.3, count as one.
"""

import collections
import re
import sys


def read(path):
    functions = collections.defaultdict(collections.Counter)
    for line in open(path):
        if line.startswith("@"):
            sent = functions[line.strip().split(".")[0]]
        elif found := re.fullmatch(r"  (.+): (\d+) x (\d+) = \d+\n", line):
            sent[found[1], int(found[3])] += int(found[2])
    return functions


def main(whole, stages):
    whole, stages = read(whole), read(stages)
    for name in ["@accumulate", "@evaluate"]:
        assert whole[name] == stages[name], f"{name}: the step sends {whole[name]}, its stages {stages[name]}"
        print(name, "sends the same:", sum(whole[name].values()), "collectives")


main(*sys.argv[1:])
