"""Checks that pages of one program show the same module after each phase that they have: same_texts.py REPORT..."""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from pathlib import Path


def texts_of(folder: str) -> dict[str, str]:
    page = (Path(folder) / "index.html").read_text(encoding="utf-8")
    packed = page.split('<script type="application/zlib" id="data">')[1].split("</script>")[0]
    texts = json.loads(zlib.decompress(base64.b64decode(packed)))["ir"]
    # The fingerprint is that of what was compiled.
    return {phase: re.sub(r'hone.fingerprint = "\w+"', "", text) for phase, text in texts.items()}


def main() -> None:
    whole = texts_of(sys.argv[1])
    for folder in sys.argv[2:]:
        for phase, text in texts_of(folder).items():
            assert text == whole[phase], f"{folder}: {phase} differs"


main()
