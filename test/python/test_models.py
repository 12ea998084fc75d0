"""A sample of the catalogue in test/models: a model of every kind trains, or is refused, as docs/models.md says."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("torch")
pytest.importorskip("transformers")

sys.path.insert(0, os.path.join(ROOT, "test", "models"))

from catalogue import KINDS, Entry, catalogue  # noqa: E402
from matrix import MODELS, SAMPLE, combinations_of, worse  # noqa: E402
from run import finished, is_worse, parsed, read_rows, started  # noqa: E402
from settings import pairs  # noqa: E402

HONEC = os.environ.get("HONEC", os.path.join(ROOT, "build", "bin", "honec"))
TABLE = os.path.join(ROOT, "tools", "models-table.py")
MATRIX_TABLE = os.path.join(ROOT, "tools", "matrix-table.py")


@pytest.mark.skipif(not os.path.exists(HONEC), reason="honec is not built")
def test_one_model_of_each_kind(tmp_path) -> None:
    script = os.path.join(ROOT, "test", "models", "run.py")
    command = [sys.executable, script, "--sample", "--jobs", "1", "--results", str(tmp_path / "results.jsonl"),
               "--work", str(tmp_path / "work"), "--honec", HONEC]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "models train as they do in PyTorch" in done.stdout


def test_page_is_that_of_the_results(tmp_path) -> None:
    page = tmp_path / "models.md"
    subprocess.run([sys.executable, TABLE, "--output", str(page)], check=True)
    expected = open(os.path.join(ROOT, "docs", "models.md")).read()
    assert page.read_text() == expected, "expected docs/models.md as tools/models-table.py writes it"


@pytest.mark.parametrize(
    "result, expected, worse",
    [
        ("equal", "refused at export", False),
        ("refused at export", "equal", True),
        ("refused by honec", "refused at export", False),
        ("differs", "equal", True),
        ("differs", "differs", False),
        ("differs", "refused at export", True),
        ("timeout", None, True),
        ("equal", None, False),
    ],
)
def test_what_is_worse(result: str, expected: str | None, worse: bool) -> None:
    assert is_worse({"result": result}, expected and {"result": expected}) is worse


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def never() -> None:
    while True:
        pass


def too_much() -> None:
    bytearray(2**40)


@pytest.mark.parametrize(
    "make, result, reason",
    [
        (killed, "crash", "Python ends with SIGKILL in PyTorch"),
        (never, "timeout", "PyTorch had not ended after 1 s"),
        (too_much, "wrong entry", "MemoryError"),
    ],
)
def test_a_model_that_breaks_its_process_gets_a_row(make, result: str, reason: str, tmp_path) -> None:
    arguments = parsed(["--work", str(tmp_path), "--limit", "1"])
    child = started(Entry("broken", "losses", make), arguments)
    while (row := finished(child, arguments)) is None:
        time.sleep(0.05)
    assert row["result"] == result and reason in row["reason"], row


def test_catalogue_is_large_and_its_results_are_of_it() -> None:
    entries = catalogue()
    rows = read_rows(Path(ROOT, "docs", "models.jsonl"))
    assert len(entries) >= 300 and len({entry.kind for entry in entries.values()}) >= 15
    assert rows.keys() <= entries.keys(), "expected results of the catalogue's models only"


@pytest.mark.skipif(os.environ.get("HONE_LARGE") != "1", reason="takes a minute: tools/check-large.sh runs all models")
@pytest.mark.skipif(not os.path.exists(HONEC), reason="honec is not built")
@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
def test_pairs_of_settings(tmp_path) -> None:
    script = os.path.join(ROOT, "test", "models", "matrix.py")
    command = [sys.executable, script, "--sample", "--results", str(tmp_path / "results.jsonl"),
               "--work", str(tmp_path / "work"), "--honec", HONEC]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "16 of 16 settings of 3 models" in done.stdout


def test_combinations_hold_every_pair() -> None:
    rows = [list(vars(row).items()) for row in pairs()]
    held = {pair for row in rows for pair in itertools.combinations(row, 2)}
    values = [sorted({row[place] for row in rows}, key=str) for place in range(len(rows[0]))]
    assert [len(column) for column in values] == [4, 4, 2, 2, 2, 2]
    for first, second in itertools.combinations(values, 2):
        assert held >= set(itertools.product(first, second))
    shared = [combinations_of(name) for name in SAMPLE]
    assert {str(row) for share in shared for row in share} == set(map(str, pairs()))


def test_page_of_the_matrix_is_that_of_the_results(tmp_path) -> None:
    page = tmp_path / "models-matrix.md"
    subprocess.run([sys.executable, MATRIX_TABLE, "--output", str(page)], check=True)
    expected = open(os.path.join(ROOT, "docs", "models-matrix.md")).read()
    assert page.read_text() == expected, "expected docs/models-matrix.md as tools/matrix-table.py writes it"


def test_matrix_has_a_model_of_each_kind() -> None:
    kinds = {catalogue()[name].kind for name in MODELS}
    assert kinds == set(KINDS)
    assert read_rows(Path(ROOT, "docs", "models-matrix.jsonl")).keys() <= set(MODELS)


def test_a_setting_that_does_worse_is_found() -> None:
    equal, refused, wrong = ({"result": result, "reason": "why"} for result in ("equal", "refused by honec", "differs"))
    row = lambda **settings: {"name": "m", "result": "equal", "settings": settings}
    assert worse(row(a=wrong), row(a=equal)) == ["m, a: differs, why"]
    assert worse(row(a=refused), row(a=equal)) == ["m, a: refused by honec, why"]
    assert worse(row(a=equal, b=refused), row(a=refused, b=refused)) == []
    assert worse({"name": "m", "result": "timeout", "reason": "late"}, row(a=equal)) == ["m"]
