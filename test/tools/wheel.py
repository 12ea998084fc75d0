"""Installs a wheel where there is no PATH, compiles and trains: wheel.py WHEEL SOURCE BUILD FOLDER."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

wheel, source, build, folder = (Path(word).resolve() for word in sys.argv[1:])
frontend, toolchain = source / "python_frontend", "hone/toolchain"
PROGRAMS = ("hone-plan-attention", "hone-tools", "honec", "hone-lsp-server", "hone-opt", "hone-run")
LIBRARIES = ("libdnnl.so.2", "libgcc_s.so.1", "libgomp.so.1", "libstdc++.so.6")
SHARED = (*LIBRARIES, "libdnnl.LICENSE", "libdnnl.THIRD-PARTY-PROGRAMS", "gcc.NOTICE")
GLIBC = ("libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1")


def plugin_files() -> set[str]:
    """Headers and the CMake package, as the install component has them."""
    prefix = folder / "component"
    command = ["cmake", "--install", build, "--prefix", prefix, "--component", "plugin"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return {path.relative_to(prefix).as_posix() for path in prefix.rglob("*") if path.is_file()}


def expected_files() -> set[str]:
    files = {path.relative_to(frontend).as_posix() for path in (frontend / "hone").rglob("*.py")}
    files |= {f"hone/{path.relative_to(frontend).as_posix()}" for path in (frontend / "examples").glob("*.py")}
    files |= {f"{toolchain}/bin/{name}" for name in PROGRAMS}
    files |= {f"{toolchain}/lib/honec/shared/{name}" for name in SHARED}
    files |= {f"{toolchain}/{path}" for path in plugin_files()}
    for name in ("honec", "hone-null-driver"):
        files |= {f"{toolchain}/{path.relative_to(build).as_posix()}" for path in (build / "lib" / name).iterdir()}
    return files


def check_files() -> None:
    tag = "py3-none-manylinux_2_28_x86_64"
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/WHEEL")]
        tagged = f"Tag: {tag}" in archive.read(metadata).decode().splitlines() and wheel.stem.endswith(tag)
        modes = {name: archive.getinfo(f"{toolchain}/bin/{name}").external_attr >> 16 for name in PROGRAMS}
    if found != expected_files():
        absent, more = sorted(expected_files() - found), sorted(found - expected_files())
        sys.exit(f"files: absent {absent}, and more than expected {more}")
    if not tagged:
        sys.exit(f"{wheel}: expected the tag {tag} in its name and in {metadata}")
    if unmarked := [name for name, mode in modes.items() if not mode & 0o111]:
        sys.exit(f"{unmarked}: not executable")
    print("files: complete")


def run(*command: object, **environment: str) -> str:
    """Without any environment: the programs find their parts by where they are."""
    words = [str(word) for word in command]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout


def run_with_glibc_alone(program: Path, shared: Path) -> None:
    """In a root that holds the program, what the wheel brings beside it, data, and glibc."""
    root, loader = folder / "root", Path("/lib64/ld-linux-x86-64.so.2").resolve()
    for name in (Path("/lib64/ld-linux-x86-64.so.2"), *(loader.parent / name for name in GLIBC)):
        copied = root / name.relative_to("/")
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, copied)
    (root / "run").mkdir()
    for path in (program, folder / "data.bin", *(shared / name for name in LIBRARIES)):
        shutil.copy(path, root / "run")
    (root / "proc").mkdir()  # by it a program finds its own folder
    enter = [shutil.which("unshare"), "-r", "-p", "-f", f"--mount-proc={root}/proc", shutil.which("chroot"), root]
    words = [f"/run/{program.name}", "--data", "/run/data.bin", "--fresh", "--steps", 2, "--threads", 2, "--quiet"]
    print(run(*enter, *words).partition(" in ")[0])


def losses(program: Path, **environment: str) -> list[float]:
    log = folder / "log.jsonl"
    log.unlink(missing_ok=True)
    run(program, "--data", "data.bin", "--steps", 3, "--seed", 1, "--fresh", "--quiet", "--log", log, **environment)
    return [row["loss"] for row in map(json.loads, log.read_text().splitlines()) if "loss" in row]


check_files()
subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
binaries = folder / "venv" / "bin"
run(binaries / "python", "-m", "pip", "install", "-q", "--no-index", wheel, HOME=os.environ.get("HOME", "/"))
print(run(binaries / "hone", "--version").strip())
print(run(binaries / "honec", "--version").strip())

(folder / "data.bin").write_bytes(bytes(2000))
package = source / "test/fixtures/gpt2_tiny.hone"
run(binaries / "honec", package, "-o", "train")
if run(folder / "train", "--info").split()[-2:] != ["oneDNN", "2.6.0"]:
    sys.exit("train --info: expected oneDNN 2.6.0, which the wheel brings")
print("oneDNN 2.6.0 of the wheel")

run(build / "bin" / "honec", package, "-o", "train-here")
[shared] = (folder / "venv" / "lib").glob("python3*/site-packages/hone/toolchain/lib/honec/shared")
there, here = losses(folder / "train"), losses(folder / "train-here", LD_LIBRARY_PATH=str(shared))
if there != here or len(there) != 3:
    sys.exit(f"losses: {there}, expected {here}")
print("losses: those of this build")
run_with_glibc_alone(folder / "train", shared)
