"""What the kernels that multiply on tensor cores are made of, from their PTX.

    product_instructions.py FILE.ptx ARCH MOST

Prints a line for each. It is an error if one spills, has more registers or shared memory than two blocks of a
multiprocessor can have, or takes more than MOST machine instructions for each product in its loop: an A100 begins a
product every 8 cycles, a tensor core of an H100 every 4 at most, and a scheduler one instruction per cycle.
"""

import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import device_kernels
import sass

# Of a thread, for two blocks of four warps; of a block, as a kernel may declare.
MOST_REGISTERS, MOST_SHARED = 65536 // (2 * 128), 48 * 1024


def count_loop(body: str) -> tuple[int, int]:
    """Products of the block that has most, and its instructions: the loop has no branch within."""
    blocks = [[instruction.name for instruction in block.instructions] for block in sass.read_blocks(body)]
    names = max(blocks, key=lambda names: names.count("HMMA"))
    return names.count("HMMA"), len(names)


def main(path: pathlib.Path, arch: str, most: float) -> None:
    ptxas, nvdisasm = (device_kernels.find_tool(name) for name in ("ptxas", "nvdisasm"))
    assert ptxas and nvdisasm
    kernels = device_kernels.read_kernels(path.read_text())
    device_kernels.assemble(path, kernels, ptxas, None, arch)
    with tempfile.TemporaryDirectory() as folder:
        code = pathlib.Path(folder) / "code"
        device_kernels.run_tool([ptxas, "-O3", f"-arch={arch}", "-o", code, path])
        bodies = dict(sass.KERNEL.findall(device_kernels.run_tool([nvdisasm, "-c", code]).stdout))
    wrong = False
    for kernel in kernels:
        products, instructions = count_loop(bodies[kernel.name])
        short = re.sub(r"^k\d+_", "", kernel.name)
        print(f"{arch} {short}: {kernel.registers} registers, {kernel.spilled} bytes spilled, {kernel.shared} bytes shared, "
              f"{products} products in {instructions} instructions")
        wrong |= (products == 0 or instructions > most * products or kernel.spilled != 0
                  or kernel.registers > MOST_REGISTERS or kernel.shared > MOST_SHARED)
    if wrong:
        sys.exit(f"error: expected {MOST_REGISTERS} registers, nothing spilled, {MOST_SHARED} bytes of shared memory and "
                 f"{most} instructions for a product, at most")


main(pathlib.Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
