"""A terminal for tests: a program runs on a pseudo-terminal, and a model of its screen shows what a user would see."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from typing import Any, Mapping

# What the runtime sends: text, CR, LF, erase to the end of the line, cursor up by one row, and styles.
TOKEN = re.compile(rb"\r|\n|\x1b\[K|\x1b\[A|\x1b\[[02]m|[^\r\n\x1b]+")


class Screen:
    """Rows of a terminal that wraps at `columns` and scrolls; those that have left the screen stay in `rows`."""

    def __init__(self, columns: int = 80, height: int = 24) -> None:
        self.columns, self.height = columns, height
        self.rows: list[str] = [""]
        self.row = self.column = 0

    def feed(self, text: bytes) -> None:
        at = 0
        while at < len(text):
            token = TOKEN.match(text, at)
            assert token, f"unknown sequence {text[at:at + 12]!r}"
            at = token.end()
            self._apply(token.group())

    def _apply(self, token: bytes) -> None:
        if token == b"\r":
            self.column = 0
        elif token == b"\n":
            self._down()
        elif token == b"\x1b[K":
            self.rows[self.row] = self.rows[self.row][:self.column]
        elif token == b"\x1b[A":
            self.row = max(self.row - 1, len(self.rows) - self.height, 0)
        elif not token.startswith(b"\x1b"):
            for character in token.decode():
                self._put(character)

    def _put(self, character: str) -> None:
        if self.column == self.columns:
            self.column = 0
            self._down()
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[:self.column] + character + row[self.column + 1:]
        self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append("")


def on_a_terminal(command: list[Any], columns: int = 80, narrowed: int | None = None, **environment: str) -> bytes:
    """What `command` writes to a terminal of 24 rows; 0 columns: one that does not know how many. After the first
    status lines it has `narrowed` columns, if that is given."""

    def resize(columns: int) -> None:
        fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    leader, follower = pty.openpty()
    resize(columns)
    inherited: Mapping[str, str] = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "TERM")}
    process = subprocess.Popen([str(word) for word in command], stdout=follower, stderr=subprocess.PIPE,
                               env={**inherited, "TERM": "xterm", **environment})
    os.close(follower)
    text = b""
    while True:
        try:
            part = os.read(leader, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        text += part
        if narrowed is not None and b" left" in text:
            resize(narrowed)
    os.close(leader)
    assert process.wait() == 0, process.stderr.read()
    return text
