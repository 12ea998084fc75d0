"""The page of a report with a profile or another report beside it: hone report of a folder of honec --report=DIR."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import pytest

from hone.cli.report import main
from hone.errors import HoneError

LAUNCHES = [
    {"name": "dot_general a", "family": "contraction", "times": 2, "seconds": 1e-3},
    {"name": "reduce b", "family": "row", "times": 1, "seconds": 2e-3},
    {"name": "reduce b", "family": "row", "times": 0, "seconds": 2e-3},
]
REPORT = {
    "schema": 2,
    "step": {"seconds": 4e-3},
    "costliest": [
        {"module": "blocks.*.mlp.up", "seconds": 2e-3, "share": 0.5, "launches": [0]},
        {"module": "(update, no module)", "seconds": 1e-3, "share": 0.25, "launches": [1, 2]},
    ],
    "advice": [{"flag": "--precision=bf16", "text": "products take 3.00 ms of 4.00 ms"}],
    "launches": LAUNCHES,
}


def event(index: int, family: str, microseconds: float) -> dict:
    """Of a step that took longer than the median."""
    return {"name": "x", "cat": family, "dur": 2 * microseconds, "args": {"median_us": microseconds, "launch": index}}


EVENTS = [event(0, "contraction", 3000), event(0, "contraction", 1000), event(1, "row", 500), {"ph": "M"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = json.dumps(REPORT)
    packed = base64.b64encode(zlib.compress(text.encode())).decode()
    page = f'<p>before</p><script type="application/zlib" id="data">{packed}</script><p>after</p>'
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "report.json").write_text(text)
    return tmp_path


def write_trace(folder: Path, events: list) -> str:
    path = folder / "trace.json"
    path.write_text(json.dumps({"otherData": {"machine": "2 threads"}, "traceEvents": events}))
    return str(path)


def data_of(folder: Path) -> dict:
    page = (folder / "index.html").read_text()
    assert page.startswith("<p>before</p>") and page.endswith("<p>after</p>")
    return json.loads(zlib.decompress(base64.b64decode(page.split('id="data">')[1].split("<")[0])))


def test_measured(folder: Path, capsys) -> None:
    """Times are those of one run of a launch; the worst ratio comes first."""
    assert main([str(folder), f"--profile={write_trace(folder, EVENTS)}", "--json"]) == 0
    times = data_of(folder)["measured"]
    assert times == {"file": "trace.json", "machine": "2 threads", "seconds": [pytest.approx(2e-3), 5e-4, None]}
    worst = json.loads(capsys.readouterr().out)["worst"]
    assert [row["name"] for row in worst] == ["dot_general a", "reduce b"]
    assert {key: data_of(folder)[key] for key in REPORT} == REPORT


def test_in_short(folder: Path, capsys) -> None:
    """A terminal shows the step, the costliest modules and the advice, as the page does."""
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "step     4.000 ms (estimated)",
        "",
        "module               estimated ms   share",
        "blocks.*.mlp.up             2.000  50.0 %",
        "(update, no module)         1.000  25.0 %",
        "",
        "What would help (a flag of honec is a key of [compile]):",
        "  --precision=bf16: products take 3.00 ms of 4.00 ms",
    ]
    assert main([str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["costliest"], found["advice"]) == (REPORT["costliest"], REPORT["advice"])
    # A report of an older honec, with nothing to advise.
    older = {key: value for key, value in REPORT.items() if key != "costliest"} | {"advice": []}
    (folder / "report.json").write_text(json.dumps(older))
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["step     4.000 ms (estimated)"]


def test_measured_in_short(folder: Path, capsys) -> None:
    """With a profile, what the modules took stands beside what was estimated: of a step, by how often launches run."""
    assert main([str(folder), f"--profile={write_trace(folder, EVENTS)}"]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        f"profile  {folder / 'trace.json'}",
        "step     4.000 ms (estimated), 4.500 ms in launches (measured)",
        "",
        "module               measured ms  estimated ms   share",
        "blocks.*.mlp.up            4.000         2.000  88.9 %",
        "(update, no module)        0.500         1.000  11.1 %",
        "",
        "What would help (a flag of honec is a key of [compile]):",
        "  --precision=bf16: products take 3.00 ms of 4.00 ms",
        "",
        "Launches that take longer than estimated, by the ratio:",
        "launch         measured ms  estimated ms  ratio",
        "dot_general a        2.000         1.000    2.0",
        "reduce b             0.500         2.000    0.2",
    ]


def test_compare_in_short(folder: Path, capsys) -> None:
    other = folder / "other" / "report.json"
    other.parent.mkdir()
    other.write_text(json.dumps(REPORT | {"step": {"seconds": 5e-3}}))
    assert main([str(folder), f"--compare={folder / 'other'}"]) == 0
    line = f"step     4.000 ms (estimated), {folder / 'other'} 5.000 ms: ratio 0.800"
    assert line in capsys.readouterr().out.splitlines()
    assert main([str(folder), f"--compare={other}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["other"] == {"run": str(other), "seconds": 5e-3}


def test_compare(folder: Path, tmp_path: Path) -> None:
    """Of a folder, of report.json, and beside a profile."""
    write_trace(folder, EVENTS)
    for other in (folder, folder / "report.json"):
        assert main([str(folder), "--profile", str(folder / "trace.json"), f"--compare={other}"]) == 0
        assert data_of(folder)["other"] == REPORT and "measured" in data_of(folder)


@pytest.mark.parametrize(
    "events, message",
    [
        ([], "no event names a launch"),
        ([event(0, "row", 1)], "of another program: launch 0 is row there, contraction in the report; compile with"),
        ([event(9, "row", 1)], "of another program: launch 9 is row there, none in the report"),
    ],
)
def test_refused_profiles(folder: Path, events: list, message: str) -> None:
    before = (folder / "index.html").read_text()
    with pytest.raises(HoneError, match=message):
        main([str(folder), f"--profile={write_trace(folder, events)}"])
    assert (folder / "index.html").read_text() == before


def test_refused_files(folder: Path) -> None:
    (folder / "text").write_text("text")
    for words, message in (
        (["--profile=none"], "none: no such file or directory; the program's --profile=none writes it"),
        ([f"--profile={folder / 'text'}"], "text: is no profile, expected a file of the program's --profile"),
        (["--compare=none"], "none: no report.json there, expected a run, or a folder of honec --report=DIR"),
        ([f"--compare={folder / 'text'}"], "text: is no report of schema 2"),
    ):
        with pytest.raises(HoneError, match=message):
            main([str(folder), *words])
    (folder / "index.html").write_text("no page")
    with pytest.raises(HoneError, match="index.html: holds no report, expected the page"):
        main([str(folder), f"--compare={folder}"])
