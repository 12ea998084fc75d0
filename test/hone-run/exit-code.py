"""exit-code.py CODE COMMAND...: runs COMMAND, and fails unless it exits with CODE."""

import subprocess
import sys

wanted, command = int(sys.argv[1]), sys.argv[2:]
seen = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
if seen != wanted:
    sys.exit(f"{' '.join(command)}: exit code {seen}, expected {wanted}")
