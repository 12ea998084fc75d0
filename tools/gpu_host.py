"""What the GPU check says of its host: the GPU, its driver, versions, the rate of copies, and whether NCCL works."""

from __future__ import annotations

import ctypes
import datetime
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys

import gpu_process
from gpu_process import Failure


# What Hone is compared with, by the names of describe_host().
PEERS = ("torch", "torchao", "jax", "llm.c")


def find_llmc() -> str | None:
    """The program of llm.c: HONE_LLMC, or train_gpt2cu of the path."""
    return shutil.which(os.environ.get("HONE_LLMC") or "train_gpt2cu")


def describe_host() -> dict:
    """The GPU, its driver, and the versions of what is beside it."""
    facts = {"date": f"{datetime.datetime.now():%Y-%m-%d %H:%M}", "host": platform.processor() or platform.machine(),
             "gpu": None, **dict.fromkeys(PEERS), "llm.c": pathlib.Path(find_llmc() or "").name or None}
    try:
        query = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,power.limit",
                                "--format=csv,noheader"], capture_output=True, text=True, check=True)
        names = ("gpu", "driver", "memory", "power limit")
        facts |= dict(zip(names, query.stdout.splitlines()[0].split(", "), strict=True))
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError):
        pass
    for module in ("torch", "torchao", "jax"):
        found = subprocess.run([sys.executable, "-c", f"import {module}; print({module}.__version__)"],
                               capture_output=True, text=True)
        if found.returncode == 0:
            facts[module] = found.stdout.split()[-1]
    return facts


class Driver:
    """The few calls of libcuda.so.1 that a copy on the device takes."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        context, self.device = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)

    def close(self) -> None:
        """Gives the device's memory back, events and all."""
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)

    def call(self, name: str, *arguments) -> None:
        if code := getattr(self.library, name)(*arguments):
            raise Failure(f"{name}: CUDA error {code}")

    def memory(self, size: int) -> ctypes.c_uint64:
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def event(self) -> ctypes.c_void_p:
        event = ctypes.c_void_p()
        self.call("cuEventCreate", ctypes.byref(event), 0)
        return event


def measure_copy(size: int = 2**30, times: int = 20) -> dict:
    """GB/s, read and written together, of copies of `size` bytes from device memory to device memory."""
    try:
        driver = Driver()
        source, target, begin, end = driver.memory(size), driver.memory(size), driver.event(), driver.event()
        milliseconds = []
        for _ in range(times):
            driver.call("cuEventRecord", begin, None)
            driver.call("cuMemcpyDtoDAsync_v2", target, source, ctypes.c_size_t(size), None)
            driver.call("cuEventRecord", end, None)
            driver.call("cuEventSynchronize", end)
            passed = ctypes.c_float()
            driver.call("cuEventElapsedTime", ctypes.byref(passed), begin, end)
            milliseconds.append(passed.value)
        for address in (source, target):
            driver.call("cuMemFree_v2", address)
        driver.close()
    except (OSError, Failure) as error:
        return {"error": str(error)}
    return {"bytes": 2 * size, "gb_per_s": 2 * size / statistics.median(milliseconds[2:]) / 1e6}


def probe_nccl() -> dict:
    """What NCCL does as the only rank on the GPU, where it was packed: a line for each call that works."""
    probe = gpu_process.HERE / "hone-probe-nccl"
    if not probe.exists():
        return {"skipped": "not packed"}
    try:
        return {"ok": True, "works": gpu_process.execute([probe], 120).splitlines()}
    except (OSError, Failure) as error:
        return {"ok": False, "error": str(error)}
