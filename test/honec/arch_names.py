"""honec takes each name of a CPU or refuses it in one line: arch_names.py PACKAGE all|NAME... [-- FLAG...]

`all`: every CPU that LLVM lists for this machine's architecture, and GPU architectures that do and do not exist.
"""

import collections
import re
import subprocess
import sys


def all_names() -> list[str]:
    listed = subprocess.run(
        ["llc", "-mtriple=x86_64-linux-gnu", "-mcpu=help"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    ).stderr
    cpus = re.search(r"Available CPUs.*?:\n\n(.*?)\n\n", listed, re.S)[1]
    gpus = [f"sm_{number}" for number in (0, 20, 50, 70, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121, 999)]
    return re.findall(r"^\s+(\S+)\s+- Select", cpus, re.M) + gpus + ["sm_", "sm_90a", "sm_-80", "help", ""]


def main(argv: list[str]) -> int:
    flags = argv[argv.index("--") + 1 :] if "--" in argv else []
    package, *names = argv[: argv.index("--")] if "--" in argv else argv
    codes = collections.Counter()
    for name in all_names() if names == ["all"] else names:
        emit = "ptx" if name.startswith("sm_") else "obj"
        done = subprocess.run(
            ["honec", package, f"--arch={name}", f"--emit={emit}", "-o", "/dev/null", *flags],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode in (0, 1, 2), (name, done)
        one_line = done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
        assert one_line if done.returncode else not done.stderr, (name, done)
        codes[done.returncode] += 1
    print(", ".join(f"{count} with exit {code}" for code, count in sorted(codes.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
