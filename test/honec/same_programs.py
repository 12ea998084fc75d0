"""Compares the text of two plans of a pipeline, but for the attribute that has their schedule: same_programs.py A B"""

import re
import sys
from pathlib import Path

texts = []
for path in map(Path, sys.argv[1:]):
    text, found = re.subn(r'dist\.schedule = "[^"]*"', "", path.read_text())
    if found != 1 or text.count('plan.actions "step"') < 2:
        sys.exit(f"{path}: expected one schedule and the lists of several stages")
    texts.append(text)
if texts[0] != texts[1]:
    sys.exit(f"{sys.argv[1]} and {sys.argv[2]} differ")
