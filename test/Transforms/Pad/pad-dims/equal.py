"""Compares padded functions with what they were: equal.py FILE.mlir WORKDIR MULTIPLE [PHASE]

The file holds one @forward. It is compiled up to PHASE (autodiff: @gradient and @evaluate; step: @step), once as it is and
once with --hone-pad-dims multiple=MULTIPLE; both are evaluated in double on the same random arguments. Results must agree to
1e-11, padding of results must be exactly zero. Prints what was padded.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FUNCTIONS = {"raise": ["forward"], "autodiff": ["gradient", "evaluate"], "step": ["step", "evaluate"]}
PHASES = {"raise": [], "autodiff": ["--hone-autodiff", "--canonicalize", "--cse"],
          "step": ["--hone-autodiff", "--canonicalize", "--cse", "--hone-build-step"]}


def main() -> None:
    source, work, multiple, phase = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], (sys.argv[4:] or ["autodiff"])[0]
    work.mkdir(parents=True, exist_ok=True)
    for name, passes in (("plain", []), ("padded", [f"--hone-pad-dims=multiple={multiple}", "--hone-verify-pad"])):
        subprocess.run(["hone-opt", source, *passes, *PHASES[phase], "-o", work / f"{name}.mlir"], check=True)
        text = subprocess.run([sys.executable, Path(__file__).parent / "unpadded.py", work / f"{name}.mlir", *FUNCTIONS[phase]],
                              check=True, capture_output=True, text=True).stdout
        (work / f"{name}.unpadded.mlir").write_text(text)
    assert "hone.parts" in (work / "padded.mlir").read_text(), "nothing was padded"
    for seed in ("3", "4"):
        subprocess.run(["hone-run", "--compare", work / "padded.unpadded.mlir", work / "plain.unpadded.mlir", "--args", seed, "--f64",
                        "--rtol", "1e-11", "--atol", "1e-11"], check=True)


main()
