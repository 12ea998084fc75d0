#!/usr/bin/env python3
"""Collects the shared libraries that a wheel brings: wheel_libraries.py DOWNLOADS FOLDER.

They are builds of others, which need no newer glibc than honec's executables do: Intel's of oneDNN, which is in
DOWNLOADS (requirements-onednn.txt), and Debian 11's of libgomp and of the C++ library, which are downloaded.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

MEMBERS = {
    "libdnnl.so.2": "/lib/libdnnl.so.2",
    "libdnnl.LICENSE": "/doc/onednn/LICENSE",
    "libdnnl.THIRD-PARTY-PROGRAMS": "/doc/onednn/THIRD-PARTY-PROGRAMS",
}
# Debian 11's of GCC 10.2: the package and its SHA-256, and the library.
GCC = "pool/main/g/gcc-10"
PACKAGES = {
    "libgomp1_10.2.1-6_amd64.deb": (
        "4530c95aefa48e33fd8cf4acbe5c4b559dbe7bdf4c56469986c83a203982cef1",
        "usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0",
        "libgomp.so.1",
    ),
    "libgcc-s1_10.2.1-6_amd64.deb": (
        "e478f2709d8474165bb664de42e16950c391f30eaa55bc9b3573281d83a29daf",
        "lib/x86_64-linux-gnu/libgcc_s.so.1",
        "libgcc_s.so.1",
    ),
    "libstdc++6_10.2.1-6_amd64.deb": (
        "5c155c58935870bf3b4bfe769116841c0d286a74f59eccfd5645693ac23f06b1",
        "usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.28",
        "libstdc++.so.6",
    ),
}
MIRRORS = ("http://deb.debian.org/debian", "http://archive.debian.org/debian")
NOTICE = """libgomp.so.1, libgcc_s.so.1 and libstdc++.so.6 are those of GCC 10.2 as Debian built them (packages libgomp1,
libgcc-s1 and libstdc++6): GNU General Public License, version 3 or later, with the GCC Runtime Library Exception,
version 3.1. Source: the Debian package gcc-10, version 10.2.1-6.
"""


def main() -> None:
    downloads, folder = map(Path, sys.argv[1:])
    [onednn] = downloads.glob("onednn_cpu_gomp-*.whl")
    with zipfile.ZipFile(onednn) as wheel:
        for file, ending in MEMBERS.items():
            [member] = [name for name in wheel.namelist() if name.endswith(ending)]
            (folder / file).write_bytes(wheel.read(member))

    for name, (digest, member, file) in PACKAGES.items():
        package = downloads / name
        for mirror in MIRRORS:
            if not _is_whole(package, digest):
                _download(f"{mirror}/{GCC}/{name}", package)
        if not _is_whole(package, digest):
            sys.exit(f"error: {package}: expected Debian's package with SHA-256 {digest}; get it from another mirror")
        unpacked = downloads / package.stem
        subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
        (folder / file).write_bytes((unpacked / member).read_bytes())
    (folder / "gcc.NOTICE").write_text(NOTICE)


def _is_whole(package: Path, digest: str) -> bool:
    return package.exists() and hashlib.sha256(package.read_bytes()).hexdigest() == digest


def _download(address: str, package: Path) -> None:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            package.write_bytes(answer.read())
    except OSError as error:
        print(f"warning: {address}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
