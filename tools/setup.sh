#!/usr/bin/env bash
# Installs what building and testing Hone needs and this machine lacks: Debian packages (as root) and a Python virtual
# environment in .venv. A second run finds everything in place and returns at once.
#   HONE_PREFIX=DIR    LLVM, MLIR, lld and oneDNN are in DIR, as conda lays them out: no Debian package is installed
#   HONE_DEVELOPER=1   also clang-tidy and clangd
#   HONE_NO_PYTHON=1   leave the Python environment out (the compiler and the runtime need none)
#   HONE_BUILD_ONLY=1  leave out of it what building does not need: all but cuDNN
#   HONE_MODELS=1      also the packages of the catalogue in test/models (timm, diffusers), in .venv/models
#   HONE_SITE=1        also what builds the site (tools/build-site.sh), in .venv/site
#   HONE_NO_CUDNN=1    leave cuDNN out of it (0.5 GB; without it attention on GPUs is compiled unfused)
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${HONE_PREFIX:-}" ]; then
  missing=()
  for file in bin/{clang,clang++,ld.lld,llvm-readelf,mlir-tblgen} lib/cmake/{llvm/LLVM,mlir/MLIR}Config.cmake \
    lib/lib{MLIROptLib,lldELF}.a lib/libdnnl.so.2 include/{lld/Common/Driver,dnnl,gtest/gtest}.h; do
    [ -e "$HONE_PREFIX/$file" ] || missing+=("$file")
  done
  if [ "${#missing[@]}" -gt 0 ]; then
    echo "setup: HONE_PREFIX is $HONE_PREFIX, which lacks ${missing[*]}; docs/install.md lists what it has to hold" >&2
    exit 1
  fi
fi

packages=(
  libmlir-19-dev mlir-19-tools llvm-19-dev llvm-19-tools clang-19 clang-format-19 lld-19 liblld-19-dev
  libdnnl-dev libgtest-dev libclang-rt-19-dev ccache cmake ninja-build libopenmpi-dev openmpi-bin libzstd-dev
  zlib1g-dev bible-kjv
)
# A Python from elsewhere than Debian brings its own venv.
[ -z "${HONE_PREFIX:-}" ] || packages=()
python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3 python3-venv)
[ "${HONE_DEVELOPER:-0}" = 1 ] && packages+=(clang-tidy-19 clangd-19)
missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ "${#missing[@]}" -gt 0 ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "setup: not root; install these Debian packages and run this again: ${missing[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

[ "${HONE_NO_PYTHON:-0}" = 1 ] && exit 0
# Modules are compiled when they are first imported: most never are, and pip would compile them one after the other.
install() { # OPTIONS FILE
  .venv/bin/python -m pip install -q --no-compile "$@"
}
[ -x .venv/bin/python ] || python3 -m venv .venv
# Only its libraries, to ask them about plans: what else these packages want belongs to a GPU.
stamp=.venv/hone-requirements-cudnn.txt
if [ "${HONE_NO_CUDNN:-0}" != 1 ] && ! cmp -s python_frontend/requirements-cudnn.txt "$stamp"; then
  echo "setup: installing cuDNN in .venv"
  install --no-deps -r python_frontend/requirements-cudnn.txt
  cp python_frontend/requirements-cudnn.txt "$stamp"
fi
[ "${HONE_BUILD_ONLY:-0}" = 1 ] && exit 0
stamp=.venv/hone-requirements.txt
if ! cmp -s python_frontend/requirements.txt "$stamp"; then
  echo "setup: installing what tests and examples use in .venv"
  install -r python_frontend/requirements.txt
  cp python_frontend/requirements.txt "$stamp"
fi
# ptxas and nvdisasm: 42 MB to download, 121 MB in .venv. What else is in these packages needs a CUDA toolkit.
stamp=.venv/hone-requirements-cuda-tools.txt
if ! cmp -s python_frontend/requirements-cuda-tools.txt "$stamp"; then
  echo "setup: installing CUDA's assembler and disassembler in .venv"
  install --no-deps -r python_frontend/requirements-cuda-tools.txt
  for tool in ptxas nvdisasm; do
    chmod a+x .venv/lib/python3.*/site-packages/nvidia/cu13/bin/$tool
    ln -sfr .venv/lib/python3.*/site-packages/nvidia/cu13/bin/$tool .venv/bin/
  done
  cp python_frontend/requirements-cuda-tools.txt "$stamp"
fi
# In a folder of their own: transformers tries to use torchvision wherever it finds it, and only the catalogue can import
# one that was built for another build of torch.
stamp=.venv/hone-requirements-models.txt
if [ "${HONE_MODELS:-0}" = 1 ] && ! cmp -s python_frontend/requirements-models.txt "$stamp"; then
  echo "setup: installing the packages of test/models in .venv/models"
  rm -rf .venv/models
  install --no-deps --target .venv/models -r python_frontend/requirements-models.txt
  cp python_frontend/requirements-models.txt "$stamp"
fi
stamp=.venv/hone-requirements-site.txt
if [ "${HONE_SITE:-0}" = 1 ] && ! cmp -s python_frontend/requirements-site.txt "$stamp"; then
  echo "setup: installing the generator of the site in .venv/site"
  rm -rf .venv/site
  install --no-deps --target .venv/site -r python_frontend/requirements-site.txt
  cp python_frontend/requirements-site.txt "$stamp"
fi
# `import hone` and the command `hone` work in that environment.
for packages in .venv/lib/python3.*/site-packages; do
  echo "$PWD/python_frontend" > "$packages/hone.pth"
done
printf '#!%s\nimport sys\n\nfrom hone.cli import main\n\nsys.exit(main())\n' "$PWD/.venv/bin/python" > .venv/bin/hone
chmod +x .venv/bin/hone
