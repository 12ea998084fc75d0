#!/usr/bin/env bash
# Runs clang-tidy-19 with the checks of .clang-tidy; any finding fails. Needs a finished tools/build.sh.
#   tools/check-tidy.sh [FILE...]   (default: sources that differ from the main branch)
#   tools/check-tidy.sh --all       every source: hours on two cores, most of it in headers of MLIR
#   JOBS=N   N files at a time (default: the number of cores)
set -euo pipefail
cd "$(dirname "$0")/.."
tidy=$(command -v clang-tidy-19) || {
  echo "check-tidy: expected clang-tidy-19 (HONE_DEVELOPER=1 tools/setup.sh installs it)" >&2
  exit 2
}
case "${1:-}" in
--all) files=$(git ls-files '*.cpp') ;;
"") files=$(git diff --name-only --diff-filter=d "$(git merge-base HEAD origin/main)" -- '*.cpp') ;;
*) files=$(printf '%s\n' "$@") ;;
esac
# Sources that no build compiles have no commands: test inputs, comparisons with headers that are not here.
known=$(sed -n 's|^ *"file": "'"$PWD"'/\(.*\)",*$|\1|p' build/compile_commands.json)
files=$(grep -xF "$known" <<<"$files" || true)
[ -n "$files" ] || { echo "check-tidy: no file to check"; exit 0; }
echo "check-tidy: $(wc -l <<<"$files") files"
xargs -P "${JOBS:-$(nproc)}" -n 1 "$tidy" -p build --quiet <<<"$files"
