"""hone watch: hands the log of a run on, while it is written or later; each point once."""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Sequence

from ..errors import HoneError
from .command import Parser
from .runs import Run, open_run
from .sinks import SINKS, Sink

_SECONDS = 1.0  # between looks at a log that has not ended
_KINDS = ("val_loss", "loss")  # of which each step has one line


def main(argv: Sequence[str]) -> int:
    arguments = _parser().read(argv)
    run = open_run(arguments.run)
    if arguments.once and not run.log.is_file():
        raise HoneError(f"{run.log}: no such file; without --once, hone watch waits for it")
    sink = SINKS[arguments.to](run.folder, arguments.project)
    watcher = Watcher(run, sink, Sent(run.folder / f"watch-{arguments.to}.json" if sink.keeps else None))
    watcher.watch(arguments.once)
    if sink.keeps:
        counts = f"{_count(watcher.counts['loss'], 'step')} and {_count(watcher.counts['val_loss'], 'validation')}"
        print(f"{run.folder}: {counts} sent to {arguments.to}, run {watcher.sent.id}")
    return 0


class Log:
    """A log that a run writes, and shortens when it is resumed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = 0  # of what was read
        self._last = b""  # line of that

    def rows(self) -> Iterator[tuple[bool, dict[str, Any]]]:
        """What whole lines since the last call say, and whether each is the first of the log; all again where the log
        is not what it was."""
        try:
            file = open(self._path, "rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._end - len(self._last))
            if file.read(len(self._last)) != self._last:
                self._end, self._last = 0, b""
                file.seek(0)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                is_first = self._end == 0
                self._end += len(line)
                self._last = line
                try:
                    row = json.loads(line)
                except ValueError:
                    raise HoneError(f"{self._path}: expected lines of JSON, found {line[:40]!r}") from None
                yield is_first, row


class Sent:
    """What the library has, in a file beside the log; without a path in memory. One process at a time has the file."""

    def __init__(self, path: Path | None) -> None:
        self.started: str | None = None  # the run: when its first process started
        self.id: str | None = None  # its name in the library
        self.steps: dict[str, int] = {}  # the last of each kind
        self.ended = False
        self._file = None
        if path is None:
            return
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise HoneError(f"{path}: another hone watch sends this run, expected one at a time") from None
        except OSError as error:
            raise HoneError(f"{path}: cannot be written: {error.strerror}") from None
        text = os.read(self._file, 1 << 16).partition(b"\n")[0]
        try:
            if text:
                kept = json.loads(text)
                self.started, self.id, self.steps, self.ended = (
                    kept[name] for name in ("started", "id", "steps", "ended")
                )
        except (ValueError, TypeError, KeyError):
            raise HoneError(f"{path}: is damaged; remove it to send the whole run as a new one") from None

    def begin(self, started: str) -> None:
        """Forgets another run, whose log was written over."""
        if self.started != started:
            self.started, self.id, self.steps, self.ended = started, None, {}, False

    def keep(self) -> None:
        if self._file is None:
            return
        facts = {"started": self.started, "id": self.id, "steps": self.steps, "ended": self.ended}
        line = (json.dumps(facts) + "\n").encode()
        # The first line counts: a process that is killed in between leaves a whole one.
        os.pwrite(self._file, line, 0)
        os.ftruncate(self._file, len(line))


class Watcher:
    """Sends what a log has and the library lacks. The library is called when there is something to send."""

    def __init__(self, run: Run, sink: Sink, sent: Sent) -> None:
        self.sent = sent
        self.counts = dict.fromkeys(_KINDS, 0)
        self._run = run
        self._sink = sink
        self._head: dict[str, Any] | None = None  # the first line of the log
        self._is_open = False

    def watch(self, once: bool) -> None:
        log = Log(self._run.log)
        end = None  # the reason, where nothing follows it
        try:
            while True:
                for is_first, row in log.rows():
                    end = row.get("end")
                    if is_first:
                        self._begin(row)
                    else:
                        self._take(row)
                if end is not None or once:
                    break
                time.sleep(_SECONDS)
            if end is not None and not self.sent.ended:
                self._open()
                self._finish(end)
                self.sent.ended = True
                self.sent.keep()
        finally:
            if self._is_open:  # the run goes on, or an error ends this
                self._finish(None)

    def _take(self, row: dict[str, Any]) -> None:
        kind = next((kind for kind in _KINDS if kind in row), None)
        if kind is None or row["step"] <= self.sent.steps.get(kind, -1):
            return  # or is done again
        # The time is that of a process.
        numbers = {key: value for key, value in row.items() if key not in ("step", "time")}
        self._open()
        with self._call():
            self._sink.log(row["step"], numbers)
        self.counts[kind] += 1
        self.sent.steps[kind] = row["step"]
        self.sent.ended = False
        self.sent.keep()

    def _begin(self, head: dict[str, Any]) -> None:
        if "run" not in head:
            raise HoneError(f"{self._run.log}: its first line names no run, expected what a program of Hone writes")
        if self._is_open and self._head != head:
            self._finish(None)
        self._head = head
        self.sent.begin(head["started"])

    def _open(self) -> None:
        if self._is_open:
            return
        assert self._head is not None
        settings = {key: value for key, value in self._run.file().values().items() if key.startswith("compile.")}
        facts = {key: self._head[key] for key in ("model", "params", "ranks", "host") if key in self._head}
        name = self._run.folder.resolve().name
        with self._call():
            self.sent.id = self._sink.start(name, self.sent.id, settings | self._head["config"] | facts)
        self._is_open = True
        self.sent.keep()

    def _finish(self, end: str | None) -> None:
        with self._call():
            self._sink.finish(end)
        self._is_open = False

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Of the library, whose errors are many."""
        try:
            yield
        except Exception as error:
            self._is_open = False
            if isinstance(error, BrokenPipeError):
                raise
            text = str(error) or type(error).__name__
            raise HoneError(f"{self._sink.name}: {text}; hone watch {self._run.folder} goes on from here") from error


def _parser() -> Parser:
    parser = Parser("watch", "Sends the log of a run to a library, while it is written or later; each point once.")
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument("--to", choices=list(SINKS), default="jsonl", help="default: jsonl, lines on standard output")
    parser.add_argument("--project", metavar="NAME", default="hone", help="of W&B, experiment of MLflow (default hone)")
    parser.add_argument("--once", action="store_true", help="end with the log, even if the run has not ended")
    return parser


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"
