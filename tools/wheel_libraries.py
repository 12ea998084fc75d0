#!/usr/bin/env python3
"""Collects the shared libraries that a wheel brings: wheel_libraries.py DOWNLOADS FOLDER.

They are builds of others, which need no newer glibc than honec's executables do: Intel's of oneDNN, which is in
DOWNLOADS (requirements-onednn.txt), and Debian 11's of libgomp, which is downloaded.
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
LIBGOMP = "pool/main/g/gcc-10/libgomp1_10.2.1-6_amd64.deb"
SHA256 = "4530c95aefa48e33fd8cf4acbe5c4b559dbe7bdf4c56469986c83a203982cef1"
MIRRORS = ("http://deb.debian.org/debian", "http://archive.debian.org/debian")
NOTICE = f"""libgomp.so.1 is GNU libgomp of GCC 10.2 as Debian built it ({Path(LIBGOMP).name}): GNU General Public
License, version 3 or later, with the GCC Runtime Library Exception, version 3.1. Source: the Debian package gcc-10,
version 10.2.1-6.
"""


def main() -> None:
    downloads, folder = map(Path, sys.argv[1:])
    [onednn] = downloads.glob("onednn_cpu_gomp-*.whl")
    with zipfile.ZipFile(onednn) as wheel:
        for file, ending in MEMBERS.items():
            [member] = [name for name in wheel.namelist() if name.endswith(ending)]
            (folder / file).write_bytes(wheel.read(member))

    package = downloads / Path(LIBGOMP).name
    for mirror in MIRRORS:
        if not _is_whole(package):
            _download(f"{mirror}/{LIBGOMP}", package)
    if not _is_whole(package):
        sys.exit(f"error: {package}: expected Debian's package with SHA-256 {SHA256}; get it from another mirror")
    unpacked = downloads / package.stem
    subprocess.run(["dpkg-deb", "-x", package, unpacked], check=True)
    library = unpacked / "usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"
    (folder / "libgomp.so.1").write_bytes(library.read_bytes())
    (folder / "libgomp.NOTICE").write_text(NOTICE)


def _is_whole(package: Path) -> bool:
    return package.exists() and hashlib.sha256(package.read_bytes()).hexdigest() == SHA256


def _download(address: str, package: Path) -> None:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            package.write_bytes(answer.read())
    except OSError as error:
        print(f"warning: {address}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
