"""hone doctor: what this machine has for compiling and training; each line is ok, or what to type."""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Callable, Sequence

from ..errors import HoneError
from .cache import cache_folder
from .command import Parser, show
from .tools import find_tool, resources


@dataclass(frozen=True)
class Finding:
    name: str
    is_ok: bool
    found: str
    advice: str = ""  # what to type where it is not ok
    is_needed: bool = True  # else nothing but a choice depends on it


def main(argv: Sequence[str]) -> int:
    parser = Parser("doctor", "Checks what this machine has. Exit code 1 if something is missing that any run needs.")
    parser.add_json()
    arguments = parser.read(argv)
    findings = [check() for check in CHECKS]
    lines = []
    for each in findings:
        state = "ok" if each.is_ok else "missing" if each.is_needed else "-"
        lines.append(f"{each.name:<11} {state:<8} {each.found}" + ("" if each.is_ok else f"; {each.advice}"))
    show(arguments, [vars(each) for each in findings], "\n".join(lines))
    return int(any(each.is_needed and not each.is_ok for each in findings))


def check_compiler() -> Finding:
    advice = "put the folder of honec on PATH, or build it: tools/build.sh release honec"
    try:
        honec = find_tool("honec")
    except HoneError:
        return Finding("compiler", False, "no honec", advice)
    done = subprocess.run([honec, "--version"], capture_output=True, text=True)
    if done.returncode:
        return Finding("compiler", False, f"{honec} does not start: {done.stderr.strip()[-200:]}", advice)
    missing = [name for name in ("libhonert.a", "crti.o") if not (resources() / name).is_file()]
    if missing:
        return Finding("compiler", False, f"{resources()} lacks {missing[0]}", "ninja -C build honec-resources")
    return Finding("compiler", True, f"{done.stdout.strip()}, {honec}")


def check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer")


def check_packages() -> Finding:
    """For exporting models and making tokens, which no run of a package needs. Read without importing them."""
    found, missing = [], []
    for name in ("torch", "transformers", "safetensors", "tokenizers"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    text = ", ".join(found + [f"no {name}" for name in missing])
    advice = (
        f"pip install --extra-index-url https://download.pytorch.org/whl/cpu {' '.join(missing)} "
        "(to export models, to make tokens)"
    )
    return Finding("packages", not missing, text, advice, is_needed=False)


def check_cpu() -> Finding:
    flags = _cpu_flags()
    if not flags:
        return Finding("cpu", False, "/proc/cpuinfo has no flags", "expected an x86-64 machine with Linux")
    if not {"avx2", "fma"} <= flags:
        return Finding("cpu", False, "no AVX2 or no FMA", "programs need x86-64-v3 or newer")
    fast = [name for name in ("avx512f", "avx512_bf16", "amx_bf16") if name in flags]
    return Finding("cpu", True, f"{len(os.sched_getaffinity(0))} cores, avx2, {', '.join(fast) or 'no avx512'}")


def check_onednn() -> Finding:
    library = _open_onednn()
    if library is None:
        return Finding("oneDNN", False, "no libdnnl.so.2", "apt install libdnnl2, or pip install hone's wheel")

    class Version(ctypes.Structure):
        _fields_ = [(name, ctypes.c_int) for name in ("major", "minor", "patch")]

    library.dnnl_version.restype = ctypes.POINTER(Version)
    version = library.dnnl_version().contents
    return Finding("oneDNN", True, f"{version.major}.{version.minor}.{version.patch}")


def check_mpi() -> Finding:
    mpirun = shutil.which("mpirun")
    if not mpirun:
        return Finding("MPI", False, "no mpirun", "apt install openmpi-bin (for several ranks)", is_needed=False)
    done = subprocess.run([mpirun, "--version"], capture_output=True, text=True)
    return Finding("MPI", True, (done.stdout.splitlines() or [mpirun])[0])


def check_driver() -> Finding:
    driver = _open("libcuda.so.1")
    if driver is None:
        return Finding("GPU driver", False, "no libcuda.so.1", "install NVIDIA's driver (for a GPU)", is_needed=False)
    number, count = ctypes.c_int(), ctypes.c_int()
    code = driver.cuInit(0)
    if code or driver.cuDriverGetVersion(ctypes.byref(number)) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return Finding("GPU driver", False, f"cuInit returns {code}", "nvidia-smi says why", is_needed=False)
    text = f"for CUDA {number.value // 1000}.{number.value % 1000 // 10}, {count.value} GPU(s)"
    return Finding("GPU driver", True, text)


def check_cublaslt() -> Finding:
    return _library("cuBLASLt", ("libcublasLt.so.13", "libcublasLt.so.12"), "cublasLtGetVersion", "cublas")


def check_cudnn() -> Finding:
    return _library("cuDNN", ("libcudnn_graph.so.9", "libcudnn.so.9"), "cudnnGetVersion", "cudnn-cu13")


def check_nccl() -> Finding:
    library = _open("libnccl.so.2")
    if library is None:
        return _absent("NCCL", "libnccl.so.2", "nccl-cu13")
    version = ctypes.c_int()
    library.ncclGetVersion(ctypes.byref(version))
    return Finding("NCCL", True, _packed(version.value))


def check_load() -> Finding:
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    free = max(1, cores - round(load))
    text = f"{load:.1f} on {cores} cores"
    return Finding("load", load < cores, text, f"train with threads={free}: others use the cores", is_needed=False)


def check_disk() -> Finding:
    folder = cache_folder("programs")
    free = shutil.disk_usage(folder).free
    size = sum(path.stat().st_size for path in folder.parent.rglob("*") if path.is_file())
    text = f"{free / 1e9:.1f} GB free for {folder.parent}, which has {size / 1e9:.2f} GB"
    return Finding("disk", free > 2e9, text, f"rm -r {folder.parent} frees what is made again when needed")


CHECKS: tuple[Callable[[], Finding], ...] = (
    check_compiler,
    check_python,
    check_packages,
    check_cpu,
    check_onednn,
    check_mpi,
    check_driver,
    check_cublaslt,
    check_cudnn,
    check_nccl,
    check_load,
    check_disk,
)


def _cpu_flags() -> set[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def _open(name: str) -> ctypes.CDLL | None:
    """Out of the wheel, by the loader, or out of NVIDIA's Python packages."""
    for path in [*_bundled(name), name, *glob.glob(f"{sys.prefix}/lib/python3*/site-packages/nvidia/*/lib/{name}")]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def _open_onednn() -> ctypes.CDLL | None:
    """As programs do: oneDNN's own search need not find what it needs."""
    _open("libgomp.so.1")
    if library := _open("libdnnl.so.2"):
        return library
    for name in ("libgcc_s.so.1", "libstdc++.so.6"):
        _open(name)
    return _open("libdnnl.so.2")


def _bundled(name: str) -> list[Path]:
    try:
        shared = resources() / "shared"
    except HoneError:
        return []
    return [shared / name] if (shared / name).is_file() else []


def _library(name: str, files: Sequence[str], function: str, package: str) -> Finding:
    for file in files:
        if library := _open(file):
            try:
                version = getattr(library, function)
            except AttributeError:
                return Finding(name, True, f"{file}, which tells no version")
            version.restype = ctypes.c_size_t
            return Finding(name, True, f"{_packed(version())} ({file})")
    return _absent(name, files[0], package)


def _absent(name: str, file: str, package: str) -> Finding:
    return Finding(name, False, f"no {file}", f"pip install nvidia-{package} (for a GPU)", is_needed=False)


def _packed(number: int) -> str:
    """As these libraries pack it: 130100 is 13.1.0, 91900 is 9.19.0."""
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
