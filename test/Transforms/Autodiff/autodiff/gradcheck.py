"""Checks every VJP rule against finite differences in double, over many shapes.

    python gradcheck.py [--rule NAME]... [--print]

Each rule has a table of cases; a case is one function, whose float arguments are differentiated. `hone-run --gradcheck`
compares hone-autodiff's gradient with central differences of the interpreter. Prints the number of cases and the worst
relative error per rule; exits 1 if a case fails, if a rule has fewer than 10 shapes, or if a rule of the compiler's
tables (lib/Transforms/Autodiff/Vjp*Rules.cpp) has no cases in gradcheck_cases.py.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from typing import Sequence

from gradcheck_cases import RULE_CASES, Case

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = os.path.join(HERE, *[".."] * 4, "lib", "Transforms", "Autodiff")
MIN_SHAPES = 10

LINE = re.compile(r"@(\w+) argument \d+ \S+: (ok|WRONG), relative error (\S+) over")


def check(name: str, cases: Sequence[Case]) -> bool:
    """Runs the cases of one rule and prints their worst error."""
    shapes = {(*(t for _, t, _ in case.arguments), case.type) for case in cases}
    text = "".join(case.text(f"case{i}") for i, case in enumerate(cases))
    run = subprocess.run(["hone-run", "--gradcheck", "-", "--directions", "2"], input=text, capture_output=True,
                         text=True)
    checked, wrong, worst = set(), [], 0.0
    for case, verdict, error in LINE.findall(run.stdout):
        checked.add(case)
        worst = max(worst, float(error)) if float(error) == float(error) else float("nan")
        wrong += [case] if verdict != "ok" else []
    good = run.returncode == 0 and not wrong and len(checked) == len(cases) and len(shapes) >= MIN_SHAPES
    print(f"{name:13} {len(cases):3} cases {len(shapes):3} shapes  worst relative error {worst:.2e}  "
          f"{'ok' if good else 'FAILED'}")
    if not good:
        print(run.stderr.strip())
        for case in wrong:
            print(cases[int(case[4:])].text(case))
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", action="append", choices=RULE_CASES, help="this rule only")
    parser.add_argument("--print", action="store_true", help="print the cases instead of checking them")
    options = parser.parse_args()
    if options.print:
        for name in options.rule or RULE_CASES:
            for i, case in enumerate(RULE_CASES[name]()):
                print(case.text(f"{name}_{i}"))
        return 0
    missing = set()
    for name in ("VjpRules.cpp", "VjpNamedRules.cpp"):
        with open(os.path.join(RULES, name)) as source:
            missing |= set(re.findall(r"t\.add<(\w+)Op>", source.read())) - set(RULE_CASES)
    for name in sorted(missing):
        print(f"rule {name} has no cases")
    results = [check(name, list(RULE_CASES[name]())) for name in options.rule or RULE_CASES]
    print(f"{sum(results)} of {len(results)} rules ok")
    return 0 if all(results) and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
