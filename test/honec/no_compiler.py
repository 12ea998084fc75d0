"""Runs honec by its full path with no PATH at all: no_compiler.py PACKAGE OUTPUT."""

import shutil
import subprocess
import sys

honec = shutil.which("honec")
subprocess.run([honec, sys.argv[1], "-o", sys.argv[2]], env={}, check=True)
subprocess.run([sys.argv[2], "--version"], env={}, check=True)
