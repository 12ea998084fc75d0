#!/usr/bin/env bash
# Builds the wheel hone-VERSION-py3-none-manylinux_2_28_x86_64.whl in build/wheel, and prints its path: the Python
# package; honec, hone-opt, hone-run and hone-lsp-server in one executable that holds LLVM; what honec links executables
# from; oneDNN and OpenMP, which these open; headers for plugins. It needs no package of the machine that installs it
# (docs/install.md).
#   JOBS=N   compile N files at a time (default: the number of cores)
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${HONE_PREFIX:-}" ]; then
  echo "build-wheel: HONE_PREFIX is set, expected Debian's LLVM: what a wheel holds needs its static archives" >&2
  exit 2
fi
llvm=/usr/lib/llvm-19/bin
out=build/wheel
tree=$out/tree
toolchain=$tree/hone/toolchain
glibc=$(sed -n 's/^set(HONE_GLIBC \(.*\))$/\1/p' tools/honec/CMakeLists.txt)

HONE_BUILD_ONLY=1 HONE_NO_CUDNN=1 tools/setup.sh >&2
tools/build.sh release hone-tools honec-resources hone-plan-attention >&2

rm -rf "$tree"
mkdir -p "$toolchain/bin" "$toolchain/lib" "$out/downloads"
cp -r python_frontend/{pyproject.toml,README.md,hone,examples} "$tree"
find "$tree" -name __pycache__ -prune -exec rm -r {} +
for program in hone-tools hone-plan-attention; do
  "$llvm/llvm-strip" -o "$toolchain/bin/$program" "build/bin/$program"
done
# A wheel holds no links.
for tool in honec hone-lsp-server hone-opt hone-run; do
  printf '#!/bin/sh\nexec "${0%%/*}/hone-tools" %s "$@"\n' "$tool" > "$toolchain/bin/$tool"
  chmod +x "$toolchain/bin/$tool"
done
cp -r build/lib/honec build/lib/hone-null-driver "$toolchain/lib"
cmake --install build --prefix "$PWD/$toolchain" --component plugin >/dev/null

shared=$toolchain/lib/honec/shared
mkdir "$shared"
.venv/bin/python -m pip download -q --no-deps --require-hashes -r python_frontend/requirements-onednn.txt \
  -d "$out/downloads" >&2
.venv/bin/python tools/wheel_libraries.py "$out/downloads" "$shared"

rm -f "$out"/hone-*.whl
.venv/bin/python -m pip wheel -q --no-deps -w "$out" \
  --config-settings=--build-option=--plat-name="manylinux_${glibc/./_}_x86_64" "./$tree" >&2
ls "$PWD/$out"/hone-*.whl
