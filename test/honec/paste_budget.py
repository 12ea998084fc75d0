"""What honec quotes as the smallest memory budget works when it is typed: paste_budget.py PACKAGE [FLAG...] ...

Packages with their flags are separated by --. Both forms are tried, bytes and unit.
"""

import itertools
import re
import subprocess
import sys

QUOTED = re.compile(r"the smallest that works is (\d+) bytes \(([^ )]+)\)(?:; --offload=auto may need less)?\n$")


def compile_with(words: list[str], budget: str) -> subprocess.CompletedProcess:
    return subprocess.run(["honec", *words, "--dry-run", f"--memory-budget={budget}"], capture_output=True, text=True)


def main(argv: list[str]) -> int:
    for is_end, words in itertools.groupby(argv, lambda word: word == "--"):
        if is_end:
            continue
        case = list(words)
        refused = compile_with(case, "1")
        quoted = QUOTED.search(refused.stderr)
        assert refused.returncode == 1 and quoted, (case, refused)
        size, text = quoted.groups()
        for budget in (size, text):
            done = compile_with(case, budget)
            assert done.returncode == 0, (case, budget, done.stderr)
            arena = int(re.search(r"^peak memory .*\((\d+) bytes\)", done.stdout, re.M)[1])
            assert arena <= int(size) or budget == text, (case, arena, size)
        print(size, text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
