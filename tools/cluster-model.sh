#!/usr/bin/env bash
# Writes the tables of docs/benchmarks/cluster-model.md as the model computes them now.
# test/Analysis/Cost/cluster-tables.test compares.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/benchmarks/cluster-model.md
{
  sed '/<!-- tables/,$d' "$page"
  build/bin/cluster-tables
  sed '1,/<!-- end of tables/d' "$page"
} >"$page.new"
mv "$page.new" "$page"
