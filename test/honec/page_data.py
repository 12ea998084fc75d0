"""Prints the data that a page holds, as JSON: page_data.py INDEX.html"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from pathlib import Path


def main() -> None:
    page = Path(sys.argv[1]).read_text(encoding="utf-8")
    packed = page.split('<script type="application/zlib" id="data">')[1].split("</script>")[0]
    print(json.dumps(json.loads(zlib.decompress(base64.b64decode(packed)))))


main()
