"""Checks that the lines of a pipeline in a dry run agree: pipeline_step.py FILE

Each stage works and is idle up to the update, which begins when the last one is there; so the times of all stages add
up to the same, the bubble is the idle share of it, and the step ends with the longest update.
"""

import re
import sys

text = open(sys.argv[1]).read()


def number(pattern: str) -> float:
    return float(re.search(pattern, text)[1])


def close(name: str, found: float, expected: float, tolerance: float) -> None:
    if abs(found - expected) > tolerance:
        sys.exit(f"{name} is {found}, expected {expected}")


micro_batches = number(r"pipeline .*, (\d+) micro-batch")
makespan = number(r"bubble .* % of ([0-9.]+) ms")
rows = [line.split() for line in re.search(r"  stage, ms.*\n((?:  \d+ .*\n)+)", text)[1].splitlines()]
idle = longest = 0.0
for stage, *columns in rows:
    *parts, update, work, waits, messages = map(float, columns)
    # Printed with three places.
    close(f"work of stage {stage}", work, micro_batches * sum(parts) + update, 0.001 * (micro_batches + 1))
    close(f"time of stage {stage}", work - update + waits, makespan, 0.003)
    if not 0 <= messages <= waits:
        sys.exit(f"stage {stage} waits {messages} ms for messages, expected at most {waits}")
    idle += waits
    longest = max(longest, update)
if len(rows) < 2 or makespan <= 0 or idle <= 0:
    sys.exit(f"expected stages that wait, found {rows}")
# Places and the tiny model: a share of 0.1 %, and of each idle time.
close("bubble", number(r"bubble +([0-9.]+) %"), 100 * idle / (makespan * len(rows)), 0.5)
close("step", number(r"estimated step +([0-9.]+) ms"), makespan + longest, 0.01)
