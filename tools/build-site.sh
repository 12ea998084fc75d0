#!/usr/bin/env bash
# Builds the site of docs/ in build/site/html, and checks its links. Open build/site/html/index.html.
set -euo pipefail
cd "$(dirname "$0")/.."
HONE_SITE=1 tools/setup.sh
.venv/bin/python tools/site_pages.py build/site/pages
PYTHONPATH=.venv/site .venv/bin/python -m zensical build --clean --strict
.venv/bin/python test/check-site.py build/site/html
