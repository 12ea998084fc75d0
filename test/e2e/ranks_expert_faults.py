"""What ranks that send rows to experts do when one is lost or differs: ranks_expert_faults.py PACKAGE FOLDER.

As ranks_pipeline_faults.py, on dp=2,ep=2 with an all-to-all that has room for any routing: the programs are exact, so a
run goes on to the same bits where ranks gather tokens instead, and without experts divided.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from ranks_lost import WAITS
from ranks_pipeline_faults import Programs, check


class ExpertPrograms(Programs):
    mesh, elsewhere = "dp=2,ep=2", ("", "ep=4", "dp=2")
    waits = WAITS
    other = "--micro-batches=2"

    def options(self, mesh: str) -> list[str]:
        if mesh != self.mesh:
            return [f"--mesh={mesh}"] if mesh else []
        return [f"--mesh={mesh}", "--recipe=ep-all-to-all", "--moe-factor=inf"]


def main(argv: list[str]) -> int:
    package, folder = Path(argv[1]).resolve(), Path(argv[2]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    return check(ExpertPrograms(package, folder), "number of micro-batches")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
