"""lit configuration. Tests run in the build directory, with the tools of the build and of LLVM on PATH."""

import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "hone"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "fixtures", "golden", "python", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.hone_build_dir, "test")

venv_python = os.path.join(config.hone_source_dir, ".venv", "bin", "python")
python = venv_python if os.path.exists(venv_python) else sys.executable
config.substitutions.append(("%python", python))
config.substitutions.append(("%lit", os.path.abspath(sys.argv[0])))  # for a project with tests of its own
config.substitutions.append(("%fixtures", os.path.join(config.test_source_root, "fixtures")))
# Packages that fixtures/cached.py makes, for all tests.
config.substitutions.append(("%made", os.path.join(config.hone_build_dir, "test", "made")))
config.substitutions.append(("%plugins", os.path.join(config.hone_build_dir, "test", "plugins")))
config.substitutions.append(("%source", config.hone_source_dir))
config.substitutions.append(("%build", config.hone_build_dir))
config.substitutions.append(("%llvm_include", config.llvm_include_dir))

build_bin = os.path.join(config.hone_build_dir, "bin")
path = [build_bin, config.llvm_tools_dir, os.path.dirname(python), config.environment.get("PATH", "")]
config.environment["PATH"] = os.pathsep.join(path)

# A test that needs a tool or a module this build or machine lacks says `REQUIRES:` and is reported as unsupported.
for tool in (
    "cluster-tables",
    "device-code",
    "hone-lsp-server",
    "hone-opt",
    "hone-plan-attention",
    "hone-run",
    "hone-tools",
    "honec",
    "honert-divided",
    "honert-fuzz-messages",
    "honert-meet",
    "honert-ranks",
    "honert-staged",
    "honert-tiny",
    "plan-chain",
    "print-schedule",
):
    if shutil.which(tool, path=build_bin):
        config.available_features.add(tool)
sys.path.append(os.path.join(config.hone_source_dir, "tools"))
from device_kernels import find_tool  # noqa: E402

for tool in ("ptxas", "nvdisasm"):
    if found := find_tool(tool):
        config.available_features.add(tool)
        config.environment[f"HONE_{tool.upper()}"] = found  # for honec and tools: the one that was found here
planner = shutil.which("hone-plan-attention", path=build_bin)
if planner and subprocess.run([planner, "--version"], capture_output=True).returncode == 0:
    config.available_features.add("cudnn")
if shutil.which("bible"):
    config.available_features.add("bible")
if wheel := os.environ.get("HONE_WHEEL"):
    config.available_features.add("wheel")
    config.substitutions.append(("%wheel", os.path.abspath(wheel)))
if shutil.which("mpirun"):
    config.available_features.add("mpirun")
if shutil.which("chromium"):
    config.available_features.add("chromium")
if shutil.which("node"):
    config.available_features.add("node")
if shutil.which("clang-tidy-19"):
    config.available_features.add("clang-tidy")
if shutil.which("cbc"):
    config.available_features.add("cbc")
if python == venv_python:
    config.available_features.add("torch")
if os.environ.get("HONE_LARGE") == "1":  # tools/check-large.sh: tests that take long
    config.available_features.add("large")
