"""Machine instructions per logit of the kernel of the loss, over all of its sweeps, from the PTX of a program in bf16.

    loss_instructions.py FILE.ptx MOST

Prints a line. It is an error if there are more than MOST instructions, or if a logit is read more than twice: by a loop
for the maximum and the sum, and by one that writes the gradient.
"""

import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import device_kernels
import sass

BYTES = 2  # of a logit


def main(path: pathlib.Path, most: float) -> None:
    ptxas, nvdisasm = (device_kernels.find_tool(name) for name in ("ptxas", "nvdisasm"))
    assert ptxas and nvdisasm
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder) / "code"
        device_kernels.run_tool([ptxas, "-O3", "-arch=sm_90", "-o", code, path])
        text = device_kernels.run_tool([nvdisasm, "-c", code]).stdout
    bodies = {name: body for name, body in sass.KERNEL.findall(text) if re.search(r"_row_max_sub_exp_sum_bf16x", name)}
    (name, body), = bodies.items()
    # Of an unrolled loop and the one for its rest, the one that takes more per logit counts.
    reading, writing = [], []
    for each in sass.Graph(body).find_stretches():
        if each.loaded:
            (writing if each.moved > each.loaded else reading).append(each.instructions / (each.loaded / BYTES))
    total = max(reading) + max(writing)
    print(f"{name}: {total:.1f} instructions per logit: {max(reading):.1f} to read it, {max(writing):.1f} to write its "
          f"gradient")
    if len(reading) != len(writing) or total > most:
        sys.exit(f"error: expected a sweep that reads for each that writes, and at most {most} instructions; got loops of "
                 f"{reading} and {writing}")


main(pathlib.Path(sys.argv[1]), float(sys.argv[2]))
