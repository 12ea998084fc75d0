"""Gives a package's model another name: rename_model.py PACKAGE NAME"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path


def main() -> None:
    package, name = Path(sys.argv[1]), sys.argv[2]
    graph = package / "graph.mlir"
    quoted = 'hone.model = "' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = graph.read_text(encoding="utf-8")
    changed = re.sub(r'hone\.model = "[^"]*"', lambda _: quoted, text, count=1)
    assert changed != text, "the module has no name"
    graph.write_text(changed, encoding="utf-8")
    path = package / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["fingerprint"] = hashlib.sha256(changed.encode()).hexdigest()
    path.write_text(json.dumps(manifest), encoding="utf-8")


main()
