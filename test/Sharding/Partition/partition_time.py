"""How long a step takes to divide: partition_time.py PACKAGE MESH RECIPE SECONDS.

Processor time, of the user and the system, of hone-opt up to the shard phase less that up to the step phase, in which it
has parsed the package and built the step: both write nothing. The least of three runs, since other processes share caches.
Exits 1 where it is more than SECONDS.
"""

import os
import resource
import subprocess
import sys


def seconds(package: str, options: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["hone-opt", os.path.join(package, "graph.mlir"), f"--hone-pipeline={options}", "-o", os.devnull]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(argv: list[str]) -> int:
    package, mesh, recipe, limit = argv[1:]
    divided = f"mesh={mesh} recipe={recipe}"
    step, shard = (min(seconds(package, f"upto={phase} {divided}") for _ in range(3)) for phase in ("step", "shard"))
    print(f"{mesh} {recipe}: {shard - step:.2f} s to divide a step that is built in {step:.2f} s, expected at most {limit} s")
    return 1 if shard - step > float(limit) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
