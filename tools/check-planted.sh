#!/usr/bin/env bash
# Plants known defects (test/planted/bugs.py) one at a time in a copy of the last commit and reports which test catches
# each. Exits 1 if more than one in twenty survives. Takes about a minute per defect; runs at the lowest priority.
#   tools/check-planted.sh [NAME...]     these defects (default: all); results are kept in build/planted/results.txt,
#                                        and what is in there is not planted again
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/planted
mkdir -p "$work"
if [ ! -d "$work/source" ]; then
  git worktree prune
  git worktree add -q --detach "$work/source" HEAD
  ln -s "$PWD/.venv" "$work/source/.venv"
fi
git -C "$work/source" checkout -q --force --detach "$(git rev-parse HEAD)"
if [ ! -f "$work/build/build.ninja" ]; then
  cmake --preset release -S "$work/source" -B "$work/build" > "$work/configure.log"
fi
python=.venv/bin/python
[ -x "$python" ] || python=python3
exec nice -n 19 "$python" test/planted/plant.py "$work/source" "$work/build" "$@" --results "$work/results.txt"
