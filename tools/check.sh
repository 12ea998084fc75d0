#!/usr/bin/env bash
# Builds everything and runs every test; the one command on a fresh machine. The last line reads "N passed, N failed";
# the exit code is 0 only if nothing failed. Logs of the parts are in build/check/.
#   HONE_FAST=1   leaves the Python tests that need torch out
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
logs=$root/build/check
cores=$(nproc)
workers=$((cores + 1)) # some tests wait: for a time limit, for a signal, for another rank
passed=0 failed=0 skipped=0
python=.venv/bin/python
lit=/usr/lib/llvm-19/build/utils/lit/lit.py

# Adds what a test tool counted, or one failure if it stopped before counting. It took since `began`.
count() { # NAME STATUS PASSED FAILED SKIPPED
  local name=$1 status=$2 good=${3:-0} bad=${4:-0} left=${5:-0}
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  if [ "$status" -eq 0 ] && [ $((good + bad + left)) -eq 0 ]; then
    echo "$name: ran no test"
    bad=1
  fi
  passed=$((passed + good)) failed=$((failed + bad)) skipped=$((skipped + left))
  printf '%-22s %5d passed %3d failed %3d skipped  %4d s\n' "$name" "$good" "$bad" "$left" "$((SECONDS - began))"
  if [ "$bad" -ne 0 ]; then tail -n 60 "$logs/$name.log"; fi
}

run() { # NAME COMMAND...: sets status
  local name=$1
  shift
  began=$SECONDS
  "$@" > "$logs/$name.log" 2>&1
  status=$?
}

one() { # NAME COMMAND...: a check that passes or fails as a whole
  run "$@"
  count "$1" "$status" "$((status == 0))"
}

number() { # LOG PATTERN: the first number in the last line that matches, or 0
  local found
  found=$(grep -aE "$2" "$1" | tail -n 1 | sed -E 's/[^0-9]*([0-9]+).*/\1/')
  echo "${found:-0}"
}

word() { # LOG WORD: N of "N WORD" in the last line that has it, or 0
  grep -aoE "[0-9]+ $2" "$1" | tail -n 1 | grep -oE '^[0-9]+' || echo 0
}

# What tests import is installed while the build runs.
HONE_BUILD_ONLY=1 tools/setup.sh || exit 1
mkdir -p "$logs"
tools/setup.sh > "$logs/setup.log" 2>&1 &
setup=$!
began=$SECONDS
tools/build.sh > "$logs/build.log" 2>&1
status=$?
wait "$setup" || { cat "$logs/setup.log"; exit 1; }
count build "$status" "$((status == 0))"
if [ "$status" -ne 0 ]; then
  echo "$passed passed, $failed failed"
  exit 1
fi

no_warnings() { ! grep -E '^[^ ]+:[0-9]+:[0-9]+: warning:' "$logs/build.log"; }
formatted() {
  git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format-19 --dry-run -Werror
}
docs() {
  rm -rf "$logs/docs"
  tools/generate-docs.sh "$logs/docs" && diff -r docs/generated "$logs/docs"
}
one warnings no_warnings
one format formatted
one docs docs

run lit "$python" "$lit" -j "$workers" -v "$root/build/test"
log=$logs/lit.log
count lit "$status" "$(number "$log" '^ *Passed *:')" \
  "$(number "$log" '^ *Failed *:')" "$(number "$log" '^ *Unsupported *:')"

# What follows runs one thread a process as a rule. pytest is as many processes as there are cores.
pytest=
busy() {
  local count
  count=$(jobs -rp | wc -l)
  if [ -n "$pytest" ] && kill -0 "$pytest" 2>/dev/null; then count=$((count + cores - 1)); fi
  echo "$count"
}
start() { # NAME COMMAND...: leaves a log, and a file with exit code, start and end
  while [ "$(busy)" -ge "$workers" ]; do wait -n; done
  (
    name=$1
    shift
    run "$name" "$@"
    echo "$status $began $SECONDS" > "$logs/$name.end"
  ) &
}

# Adds up the shards of a test executable. One that stopped before counting is a failure.
count_shards() { # NAME
  local name=$1 good=0 bad=0 left=0 worst=0 first=$SECONDS last=0 log status end failures
  : > "$logs/$name.log"
  for log in "$logs/$name".shard*.log; do
    read -r status began end < "${log%.log}.end"
    failures=$(number "$log" '^\[  FAILED  \] [0-9]+ test')
    if [ "$status" -ne 0 ] && [ "$failures" -eq 0 ]; then failures=1; fi
    if [ "$failures" -ne 0 ]; then tail -n 60 "$log" >> "$logs/$name.log"; fi
    good=$((good + $(number "$log" '^\[  PASSED  \]')))
    left=$((left + $(number "$log" '^\[  SKIPPED \]')))
    bad=$((bad + failures))
    worst=$((status > worst ? status : worst))
    first=$((began < first ? began : first)) last=$((end > last ? end : last))
  done
  began=$((SECONDS - (last - first)))
  count "$name" "$worst" "$good" "$bad" "$left"
}

rm -f "$logs"/*.end "$logs"/*.shard*
# The longest first.
if [ "${HONE_FAST:-0}" != 1 ]; then
  # A worker that has run out of tests takes some of another: a few take minutes.
  start pytest "$python" -m pytest -q -n "$cores" --dist worksteal test/python
  pytest=$!
fi
for tests in "$root"/build/bin/*-tests; do
  for ((shard = 0; shard < cores; ++shard)); do
    start "$(basename "$tests").shard$shard" env GTEST_TOTAL_SHARDS="$cores" GTEST_SHARD_INDEX="$shard" \
      "$tests" --gtest_brief=1
  done
done
wait

for tests in "$root"/build/bin/*-tests; do count_shards "$(basename "$tests")"; done
if [ "${HONE_FAST:-0}" != 1 ]; then
  log=$logs/pytest.log
  read -r status began end < "$logs/pytest.end"
  began=$((SECONDS - (end - began)))
  count pytest "$status" "$(word "$log" passed)" "$(word "$log" failed)" "$(word "$log" skipped)"
fi

echo "$skipped skipped, in $SECONDS s"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
