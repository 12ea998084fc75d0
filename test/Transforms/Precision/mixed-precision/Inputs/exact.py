"""exact.py FIXTURES WORKDIR: @gradient of every fixture with and without low precision, compared in double."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

POLICIES = ["bf16", "bf16 stream=low", "tf32"]


def lower(graph: Path, target: Path, upto: str, policy: str) -> None:
    subprocess.run(["hone-opt", graph, f"--hone-pipeline=upto={upto} precision={policy}", "-o", target], check=True)


def main() -> None:
    fixtures, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    graphs = sorted(fixtures.glob("*.hone/graph.mlir"))
    for graph in graphs:
        wide = work / f"{graph.parent.name}.wide.mlir"
        lower(graph, wide, "autodiff", "fp32")
        for policy in POLICIES:
            low = work / f"{graph.parent.name}.low.mlir"
            lower(graph, low, "autodiff", policy)
            if ("bf16" in policy) != ("xbf16>" in low.read_text()):
                sys.exit(f"{graph}: {policy}: expected bf16 exactly under a bf16 policy")
            compare = ["hone-run", "--compare", wide, low, "--f64", "--args", "2", "--rtol", "1e-9", "--atol", "1e-12"]
            subprocess.run(compare, check=True, stdout=subprocess.DEVNULL)
    low = work / "gradcheck.mlir"
    lower(fixtures / "llama_tiny.hone" / "graph.mlir", low, "precision", "bf16")
    subprocess.run(["hone-run", "--gradcheck", low, "--entry", "forward", "--directions", "1", "--tolerance", "1e-5"],
                   check=True, stdout=subprocess.DEVNULL)
    print(f"{len(graphs)} models, {len(POLICIES)} policies")


if __name__ == "__main__":
    main()
