"""What a training program shows on a terminal: two lines that are drawn over, never more rows than that."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from screen import Screen, on_a_terminal

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(os.environ.get("HONE_BIN", ROOT / "build" / "bin")) / "honert-tiny"
pytestmark = pytest.mark.skipif(not TINY.exists(), reason=f"{TINY} is not built")


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.npy"
    np.save(path, (np.arange(500) ** 2 % 32).astype(np.uint16))
    return path


def rows_after_header(text: bytes, columns: int) -> list[str]:
    """The rows below the line that explains MFU; whether the machine is busy is another matter."""
    screen = Screen(columns)
    screen.feed(text)
    rows = [row.rstrip() for row in screen.rows]
    header = max(number for number, row in enumerate(rows) if "GFLOP/s (" in row or "measured" in row)
    return [row for row in rows[header + 1:] if row and not row.startswith("load: ")]


@pytest.mark.parametrize("columns", [80, 40, 200])
def test_100_steps_leave_at_most_4_rows(tokens: Path, columns: int) -> None:
    text = on_a_terminal([TINY, "--data", tokens, "--steps", 100], columns, HONE_TINY_SLEEP_MS="5")
    rows = rows_after_header(text, columns)
    status = [row for row in rows if row.startswith(("step ", "["))]
    assert len(status) == 2 and status[0].startswith("step 100/100 | epoch 3.23 | loss ")
    assert status[1].startswith("[##########] 0:00:00 left | ")
    assert all(len(row) < columns for row in status)
    if columns >= 80:
        assert len(rows) <= 4, "\n".join(rows)
        assert " | grad norm " in status[0] and " tok/s" in status[1]
    assert "100 steps in " in "".join(rows)


def test_lines_are_drawn_ten_times_a_second_at_most(tokens: Path) -> None:
    text = on_a_terminal([TINY, "--data", tokens, "--steps", 100], HONE_TINY_SLEEP_MS="5")
    seconds = float(re.search(rb"100 steps in ([0-9.]+) s", text).group(1))
    assert 3 <= text.count(b" left") <= seconds / 0.1 + 4


def test_lines_between_steps_stand_above(tokens: Path) -> None:
    text = on_a_terminal([TINY, "--data", tokens, "--steps", 6, "--val-data", tokens, "--val-every", 2])
    rows = rows_after_header(text, 80)
    assert [row.split(" | ")[0] for row in rows[:4]] == ["step 2/6", "step 4/6", "step 6/6", "step 6/6"]
    assert [" | val " in row for row in rows[:4]] == [True, True, True, False] and rows[4].startswith("[##")


def test_the_time_left_is_that_of_the_latest_steps(tokens: Path) -> None:
    text = on_a_terminal([TINY, "--data", tokens, "--steps", 40], HONE_TINY_SLEEP_MS="100")
    # The first draw is after one step of 100 ms, so 39 steps are left.
    assert b"] 0:00:04 left" in text


def test_style_and_width_from_the_environment(tokens: Path) -> None:
    command = [TINY, "--data", tokens, "--steps", 3]
    assert b"\x1b[2m[" in on_a_terminal(command)
    assert b"\x1b[2m" not in on_a_terminal(command, NO_COLOR="1")
    narrow = on_a_terminal(command, 0, COLUMNS="30")
    assert max(len(row) for row in rows_after_header(narrow, 200) if row.startswith(("[", "step"))) == 29
    dumb = on_a_terminal(command, TERM="dumb")
    assert b"\x1b" not in dumb and dumb.count(b"\nstep ") == 3


def test_rows_that_a_narrower_terminal_wrapped_are_erased(tokens: Path) -> None:
    text = on_a_terminal([TINY, "--data", tokens, "--steps", 80], 120, narrowed=40, HONE_TINY_SLEEP_MS="10")
    erase = b"\r\x1b[K" + b"\x1b[A\x1b[K"
    assert erase + b"step" in text and erase + 3 * b"\x1b[A\x1b[K" + b"step" in text


def test_a_long_check_of_ids_is_told(tmp_path: Path) -> None:
    with (tmp_path / "long").open("wb") as file:
        file.truncate(1 << 28)
    text = on_a_terminal([TINY, "--data", tmp_path / "long", "--steps", 1], 300)
    first, last = text.split(b"hone: tiny")
    name = b"checking the ids of " + bytes(tmp_path / "long")
    assert first.startswith(name + b" (256.00 MiB)\r\n\r\x1b[K" + name + b": 0 %")
    assert first.endswith(b"\r\x1b[K") and name not in last
