"""hone train and what works on its runs, with a package that is there: no torch takes part."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import FIXTURES

np = pytest.importorskip("numpy")

PACKAGE = os.path.join(FIXTURES, "gpt2_tiny.hone")  # 61 ids
RUN = f"""
model = "{PACKAGE}"
[data]
train = "data/train*.npy"
val = "data/val.npy"
[train]
steps = 12
lr = 1e-3
checkpoint-every = 5
threads = 1
"""


def write_tokens(folder: Path, vocab: int = 61, **facts: object) -> None:
    ids = (np.arange(4000) * 7 % 61).astype(np.uint16)
    folder.mkdir(exist_ok=True)
    np.save(folder / "train-0.npy", ids[:1500])
    np.save(folder / "train-1.npy", ids[1500:3000])
    np.save(folder / "val.npy", ids[3000:])
    facts = {"tokenizer": "bytes", "sha256": None, "vocab": vocab, "end": None, "labels": False} | facts
    (folder / "tokens.json").write_text(json.dumps(facts))


def losses(log: Path, key: str = "loss") -> dict[int, float]:
    rows = map(json.loads, log.read_text().splitlines())
    return {row["step"]: row[key] for row in rows if key in row and "step" in row}


@pytest.fixture
def ready(hone):
    """A folder with tokens and a run file."""
    write_tokens(hone.folder / "data")
    hone.write("run.toml", RUN)
    return hone


def test_a_run_keeps_what_it_was_made_of(ready) -> None:
    done = ready("train", "run.toml", "steps=6", "name=first")
    run = ready.folder / "runs" / "first"
    assert {"run.toml", "train", "report", "log.jsonl", "checkpoints", "weights.safetensors"} <= set(os.listdir(run))
    assert "steps = 6" in (run / "run.toml").read_text() and (run / "report" / "index.html").is_file()
    assert "6 steps in" in done.stdout and list(losses(run / "log.jsonl")) == [1, 2, 3, 4, 5, 6]
    # The same as the program by hand, on the shards joined.
    ids = [np.load(ready.folder / "data" / f"train-{i}.npy") for i in (0, 1)]
    np.save(ready.folder / "joined.npy", np.concatenate(ids))
    words = ["--data", "joined.npy", "--steps", "6", "--lr", "1e-3", "--log", "log.jsonl", "--threads", "1"]
    subprocess.run([run / "train", *words], cwd=ready.folder, check=True, capture_output=True)
    assert losses(ready.folder / "log.jsonl") == losses(run / "log.jsonl")


def test_resume_lists_changes_and_repeats_no_flags(ready) -> None:
    ready("train", "run.toml", "steps=6")
    done = ready("train", "--resume", "runs/run", "steps=12", "clip=1")
    lines = [line for line in done.stdout.splitlines() if "(before: " in line]
    assert lines == ["resume: steps 12 (before: 6)", "resume: clip 1 (before: not given)"]
    assert done.stdout.index("resume: steps 12") < done.stdout.index("step 7/12")
    assert list(losses(ready.folder / "runs/run/log.jsonl")) == list(range(1, 13))
    assert "clip = 1" in (ready.folder / "runs/run/run.toml").read_text()
    # Without changes, nothing is listed.
    done = ready("train", "--resume", "runs/run")
    assert "(before: " not in done.stdout
    assert done.stdout.endswith("\ngo on: hone train --resume runs/run steps=24\n")
    # The program alone goes on with the same flags; a flag that is off is taken back.
    done = subprocess.run(
        ["runs/run/train", "--resume", "runs/run/checkpoints", "--steps=13"],
        cwd=ready.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "resume: steps 13 (before: 12)\n" in done.stdout
    ready("train", "--resume", "runs/run", "steps=14", "quiet=true")
    done = ready("train", "--resume", "runs/run", "steps=15", "quiet=false")
    assert "resume: quiet false (before: true)\n" in done.stdout
    # What is no flag of the program, the command lists.
    done = ready("train", "--resume", "runs/run", "chunk-loss=64")
    assert "resume: compile.chunk-loss 64 (before: not given)\n" in done.stdout
    ready("report", "runs/run", "--profile")  # refuses the report of another program
    assert ready.refusal("train", "--resume", "runs/run", "name=b").startswith("name: a run keeps its name;")
    # A folder of curves in one that is not there yet.
    ready("train", "--resume", "runs/run", "steps=16", "tensorboard=curves/run")
    assert os.listdir(ready.folder / "curves/run")
    # What checkpoints hold cannot change, and the run is left as it was.
    kept = (ready.folder / "runs/run/run.toml").read_text()
    program = (ready.folder / "runs/run/train").read_bytes()
    for change, difference in (
        ("precision=bf16", ": precision fp32, this program has bf16; expected the same; for its weights alone: "),
        ("moments=bf16", "/state.safetensors: tensor "),
        ("data.train=data/train-0.npy", ": the run had another file for --data ("),
    ):
        error = ready.refusal("train", "--resume", "runs/run", change)
        assert error.startswith("runs/run/checkpoints/step-00000016") and difference in error
        hint = "; hone train RUN.toml name=OTHER init=runs/run starts another run from its weights"
        assert error.endswith(hint) == (not change.startswith("data"))
    assert (ready.folder / "runs/run/run.toml").read_text() == kept
    assert (ready.folder / "runs/run/train").read_bytes() == program
    # A program of an earlier version, without --check, goes on.
    (ready.folder / "runs/run/train").rename(ready.folder / "real")
    older = ready.write(
        "runs/run/train",
        '#!/bin/sh\ncase "$*" in\n*--help-json*) ./real --help-json | grep -v \'"check"\' ;;\n'
        '*--check\\ *) exit 3 ;;\n*) exec ./real "$@" ;;\nesac\n',
    )
    older.chmod(0o755)
    assert "step 17/17" in ready("train", "--resume", "runs/run", "steps=17").stdout
    older.unlink()
    error = ready.refusal("train", "--resume", "runs/run")
    assert error.endswith("runs/run/train: cannot be run: No such file or directory")


def test_a_resumed_run_equals_one_that_was_not_stopped(ready) -> None:
    ready("train", "run.toml", "name=whole")
    ready("train", "run.toml", "name=half", "steps=7")
    ready("train", "--resume", "runs/half", "steps=12")
    assert losses(ready.folder / "runs/half/log.jsonl") == losses(ready.folder / "runs/whole/log.jsonl")


def test_the_program_takes_the_place_of_the_command(ready) -> None:
    """Signals and exit codes are its own."""
    words = [sys.executable, "-m", "hone", "train", "run.toml", "steps=100000000"]
    process = subprocess.Popen(words, cwd=ready.folder, env=ready.environment, stdout=subprocess.PIPE, text=True)
    log = ready.folder / "runs/run/log.jsonl"
    deadline = time.monotonic() + 120
    while not (log.exists() and '"loss"' in log.read_text()) and time.monotonic() < deadline:  # a step is done
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert printed.endswith("\ngo on: hone train --resume runs/run\n")
    assert (ready.folder / "runs/run/checkpoints/latest").is_file()


def test_the_second_compile_is_taken_from_the_cache(ready, hone_cache) -> None:
    ready("train", "run.toml", "steps=1", "name=a")
    programs = set((hone_cache / "hone/programs").iterdir())
    assert "compiling" not in ready("train", "run.toml", "steps=1", "name=b").stderr
    assert set((hone_cache / "hone/programs").iterdir()) == programs
    other = ready("train", "run.toml", "steps=1", "name=c", "compile.chunk-loss=off")
    assert "compiling gpt2_tiny.hone" in other.stderr
    assert len(set((hone_cache / "hone/programs").iterdir())) == len(programs) + 1


def test_init(ready) -> None:
    ready("train", "run.toml", "steps=8", "name=a")
    last = losses(ready.folder / "runs/a/log.jsonl")[8]
    done = ready("train", "run.toml", "steps=1", "name=b", "init=runs/a", "lr=0")
    assert "weights: runs/a/" in done.stdout
    assert losses(ready.folder / "runs/b/log.jsonl")[1] < last
    done = ready("train", "run.toml", "steps=1", "name=c", "init=runs/a/checkpoints")
    assert "weights: runs/a/checkpoints/step-00000008/state.safetensors (" in done.stdout
    # What a folder must hold, the program says.
    (ready.folder / "empty").mkdir()
    error = ready.refusal("train", "run.toml", "name=d", "init=empty")
    assert error.startswith("--init: empty: expected model.safetensors, state.safetensors (a checkpoint) or latest")
    error = ready.refusal("train", "run.toml", "name=e", "init=none")
    assert error == "init: no file or folder none, expected weights (safetensors), a folder that has some, a run"
    assert not (ready.folder / "runs/e").exists()


def test_documents_are_kept_apart_or_said_to_be_crossed(ready) -> None:
    note = (
        "note: attention crosses documents: data/train-0.npy .. data/train-1.npy (2 files) holds 7, and a token sees "
        'those before its own in the row; --documents=21 of honec (in run.toml documents = "eos") keeps them apart'
    )
    assert "note:" not in ready("train", "run.toml", "steps=1", "name=unknown").stdout
    write_tokens(ready.folder / "data", documents=1, end_id=21)
    assert "note:" not in ready("train", "run.toml", "steps=1", "name=one").stdout
    write_tokens(ready.folder / "data", documents=7, end_id=21)
    assert note in ready("train", "run.toml", "steps=1", "name=crossed").stdout.splitlines()
    assert "note:" not in ready("train", "run.toml", "steps=1", "name=apart", "documents=eos").stdout
    assert "documents = 21" in (ready.folder / "runs/apart/run.toml").read_text()
    first = [losses(ready.folder / f"runs/{name}/log.jsonl")[1] for name in ("one", "crossed", "apart")]
    assert first[0] == first[1] != first[2]


def test_ends_of_documents_that_are_refused(ready) -> None:
    assert ready.refusal("train", "run.toml", "documents=eos") == (
        'compile.documents: is "eos", and no tokens.json beside the files of data.train says which id ends a document; '
        "expected that id, as documents = 50256"
    )
    error = ready.refusal("train", "run.toml", "documents=61")
    assert "the end of documents is id 61, expected an id of the tokens, from 0 to 60" in error
    error = ready.refusal("train", "run.toml", "documents=-1")
    assert "run.toml: compile.documents: is '-1', expected an id, an integer from 0 to 2147483647" in error


def test_refusals(ready) -> None:
    assert ready.refusal("train", "rnu.toml") == "rnu.toml: No such file or directory (did you mean run.toml?)"
    assert ready.refusal("train", "run.toml", "stpes=3") == "'stpes': no such key (did you mean steps?)"
    assert ready.refusal("train", "--resume", "runs/none").startswith("runs/none: is not a run, expected a folder that")
    error = ready.refusal("train", "run.toml", "data.train=none.npy")
    assert error == "data.train: no file none.npy; hone tokens TEXT --bytes -o . makes some"
    error = ready.refusal("train", "run.toml", "batch=2x16")
    assert error == f"{PACKAGE}: is a package, --batch is for a model that is exported"
    error = ready.refusal("train", "run.toml", "compile.precision=fp4")
    assert error.startswith("run.toml: compile.precision: is 'fp4', expected fp32,")
    # What the program refuses leaves a folder in which a corrected run can start.
    assert ready.refusal("train", "run.toml", "lr=-1") == "run.toml: train.lr: '-1', expected a number >= 0"
    ready("train", "run.toml", "steps=1")
    assert ready.refusal("train", "run.toml") == (
        "runs/run: holds a run; hone train --resume runs/run goes on, name=OTHER starts another one"
    )
    hone = ready
    (hone.folder / "runs/begun").mkdir()
    hone.write("runs/begun/run.toml", RUN)
    assert hone.refusal("train", "--resume", "runs/begun").startswith("runs/begun: has no checkpoint yet; hone train")


def test_the_tokens_must_fit_the_model(ready) -> None:
    write_tokens(ready.folder / "data", vocab=100)
    assert ready.refusal("train", "run.toml") == (
        f"data/tokens.json: the tokenizer has 100 ids, {PACKAGE} has embeddings for 61; expected a smaller tokenizer "
        "(hone tokens --train-bpe 61) or a model with vocab 100"
    )
    write_tokens(ready.folder / "data", tokenizer="tokenizer.json", sha256="0")
    ready.write("data/tokenizer.json", "{}")
    assert ready.refusal("train", "run.toml") == (
        "data/tokenizer.json: is not the tokenizer that data/tokens.json names; hone tokens makes both anew"
    )
    write_tokens(ready.folder / "data", labels=True)
    assert ready.refusal("train", "run.toml").startswith(f"{PACKAGE}: takes no input 'labels' beside its tokens, which")
    ready.write("data/tokens.json", "[]")
    assert ready.refusal("train", "run.toml") == "data/tokens.json: is no file of hone tokens"
    (ready.folder / "data/tokens.json").unlink()
    ready("train", "run.toml", "steps=1")  # files of other tools have no tokens.json
    np.save(ready.folder / "data/train-1.npy", np.zeros(9, np.int64))
    ready("train", "run.toml", "steps=1", "name=b")  # types of ids may differ
    ready.write("data/train-1.npy", "This is a text and no array of ids, as one may give it by mistake.")
    assert ready.refusal("train", "run.toml", "name=c").startswith("data/train-1.npy: looks like text, expected token")


def test_several_sources(ready) -> None:
    write_tokens(ready.folder / "books", sha256="0")
    mixture = '["data/train-0.npy,data/train-1.npy:3", "books/*.npy:1"]'
    ready.write("run.toml", RUN.replace('"data/train*.npy"', mixture))
    assert ready.refusal("train", "run.toml") == (
        "books/tokens.json: was made with another tokenizer than data/tokens.json: one id means two words; hone tokens "
        "--tokenizer FILE makes both with one"
    )
    write_tokens(ready.folder / "books")
    done = ready("train", "run.toml", "steps=6")
    assert "data: 2 sources, 7000 tokens, " in done.stdout
    assert "  books/train-0.npy .. books/val.npy (3 files), 4000 tokens, 25 % of the windows, read " in done.stdout
    ready("train", "--resume", "runs/run", "steps=12")
    ready("train", "run.toml", "name=whole")
    assert losses(ready.folder / "runs/run/log.jsonl") == losses(ready.folder / "runs/whole/log.jsonl")
    error = ready.refusal("train", "--resume", "runs/run", 'data.train=["data/train-*.npy:1", "books/*.npy:1"]')
    assert "the run had other weights for --data source 1 (3072 slots, now 2048)" in error


def test_eval(ready) -> None:
    ready("train", "run.toml", "val-batches=1000")
    result = ready.json("eval", "runs/run")
    (logged,) = losses(ready.folder / "runs/run/log.jsonl", "val_loss").values()
    assert result["val_loss"] == pytest.approx(logged, abs=1e-12)
    assert result["perplexity"] == pytest.approx(np.exp(logged))
    assert f"validation loss {logged:.4f} nats per token" in ready("eval", "runs/run").stdout
    before = ready.json("eval", "runs/run", "--data", "data/train-0.npy", "--batches", "1")["val_loss"]
    assert before != result["val_loss"]
    error = ready.refusal("eval", "runs/run", "--weights", "no.safetensors")
    assert error.startswith("no.safetensors: cannot be read")
    ready.write("run2.toml", re.sub("val = .*\n", "", RUN))
    ready("train", "run2.toml", "steps=1")
    assert ready.refusal("eval", "runs/run2").startswith("runs/run2: its run file has no [data] val; --data FILE gives")


def test_the_newest_weights(tmp_path) -> None:
    """A run that was resumed and has not ended has saved its weights before its newest checkpoint."""
    from hone.cli.runs import Run
    from hone.errors import HoneError

    run = Run(tmp_path)
    with pytest.raises(HoneError, match="has no weights yet, expected a run that has ended or saved a checkpoint"):
        run.weights()
    state = run.checkpoints / "step-00000020" / "state.safetensors"
    state.parent.mkdir(parents=True)
    for path, when in ((run.saved, 100), (state, 200)):
        path.touch()
        os.utime(path, (when, when))
    (run.checkpoints / "latest").write_text("step-00000020\n")
    assert run.weights() == state and run.steps_done() == 20
    os.utime(run.saved, (300, 300))
    assert run.weights() == run.saved


def test_a_package_that_is_gone() -> None:
    from hone.cli.token_data import token_input
    from hone.errors import HoneError

    with pytest.raises(HoneError, match="manifest.json: No such file or directory; hone compile with the run's model"):
        token_input(Path("no-such-package"))


def test_report(ready) -> None:
    ready("train", "run.toml", "steps=1")
    found = ready.json("report", "runs/run")
    report = json.loads((ready.folder / found["data"]).read_text())
    assert "profile" not in found and found["advice"] == report["advice"]
    assert found["costliest"] == report["costliest"] and found["costliest"][0]["module"].startswith("blocks.*")
    done = ready("report", "runs/run", "--profile")
    assert "profile  runs/run/report/profile.json" in done.stdout and "measured ms" in done.stdout
    assert json.loads((ready.folder / "runs/run/report/profile.json").read_text())
    assert list(losses(ready.folder / "runs/run/log.jsonl")) == [1]  # the run is as it was
    (ready.folder / "runs/run/report/index.html").unlink()
    assert ready.refusal("report", "runs/run").startswith("runs/run/report/index.html: no such file;")


def test_shares_of_a_profile_are_of_measured_times() -> None:
    from hone.cli.report import _described

    row = {"module": "m", "seconds": 0.001, "share": 0.9, "measured": 0.003}
    found = {"report": "r", "data": "d", "seconds": 0.002, "costliest": [row], "advice": [], "measured": 0.006}
    assert "m             3.000         1.000  50.0 %" in _described(found)


def test_another_name_has_curves_of_its_own(ready) -> None:
    ready("train", "run.toml", "steps=1", "tensorboard=tb")
    ready.write("run.toml", RUN + 'tensorboard = "tb"\n')
    ready("train", "run.toml", "steps=1", "name=other")
    assert os.listdir(ready.folder / "tb/other") and 'tensorboard = "tb/other"' in (
        ready.folder / "runs/other/run.toml").read_text()
    ready("train", "run.toml", "steps=1", "name=third", "tensorboard=third")
    assert os.listdir(ready.folder / "third")


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun")
def test_a_pipeline(ready) -> None:
    """Its report is that of its stages, and one rank generates."""
    error = ready.refusal("train", "run.toml", "mesh=pp=2", "micro-batches=2")
    assert error == (
        "run.toml: has no key launch, and its mesh has 2 ranks; expected what starts them, as "
        'launch = "mpirun -np 2" at the top'
    )
    launch = "launch=mpirun --allow-run-as-root --oversubscribe -np 2"
    ready("train", "run.toml", "mesh=pp=2", "micro-batches=2", "steps=1", launch)
    found = ready.json("report", "runs/run")
    assert found["schedule"] == "1f1b" and 0 < found["bubble"] < 1 and len(found["stages"]) == 2
    assert "stage  work ms  idle ms  arena MiB" in ready("report", "runs/run").stdout
    assert ready.json("report", "runs/run/report/stage1")["costliest"]
    assert "runs/run/report/stage0 describes a stage" in ready.refusal("report", "runs/run", "--profile")
    done = ready("generate", "runs/run", "--prompt", "0", "-n", "2", "--temperature", "0")
    assert "PyTorch" not in done.stderr


def test_runs_with_other_seeds_are_one_curve(ready) -> None:
    result = ready.json("sweep", "run.toml", "seed=1,2", "lr=1e-3,1e-2", "steps=4")
    svg = (ready.folder / result["curves"]).read_text()
    ElementTree.fromstring(svg)
    assert svg.count('class="band"') == 4  # loss and validation of two rates
    assert len(re.findall(r'x="688"[^<]*\(2 seeds\)</text>', svg)) == 2


def test_the_curve_of_seeds() -> None:
    from hone.cli.curves import curve_of

    curve = curve_of("a", [{"loss": [(1, 2.0), (2, 1.0)]}, {"loss": [(1, 4.0)]}])
    assert (curve.name, curve.lines, curve.low, curve.high) == (
        "a (2 seeds)", {"loss": [(1, 3.0)]}, {"loss": [(1, 2.0)]}, {"loss": [(1, 4.0)]})
    assert curve_of("a", [{"loss": [(1, 2.0)]}]).low == {}


def test_sweep_and_compare(ready) -> None:
    result = ready.json("sweep", "run.toml", "lr=0,1e-2,1e-3", "steps=8", "tensorboard=tb")
    folders = [f"runs/run-sweep/lr={lr}" for lr in ("0", "1e-2", "1e-3")]
    assert [row["run"] for row in result["runs"]] == folders
    assert sorted(os.listdir(ready.folder / "tb")) == sorted(Path(folder).name for folder in folders)
    best = {row["run"]: row["best_val_loss"] for row in result["runs"]}
    assert result["best"] == min(best, key=best.get) != folders[0]
    assert [row["keys"] for row in result["runs"]] == [{"train.lr": 0}, {"train.lr": 0.01}, {"train.lr": 0.001}]
    programs = {(ready.folder / folder / "train").read_bytes() for folder in folders}
    assert len(programs) == 1
    # Given again: what is done stays, and the table is the same.
    stamps = [(ready.folder / folder / "log.jsonl").read_text() for folder in folders]
    ends = [json.loads(stamp.splitlines()[-1]) for stamp in stamps]
    assert [row["ms"] for row in result["runs"]] == [end["median_ms"] for end in ends]  # as a run's last line has it
    text = ready("sweep", "run.toml", "lr=0,1e-2,1e-3", "steps=8", "tensorboard=tb").stdout
    assert [(ready.folder / folder / "log.jsonl").read_text() for folder in folders] == stamps
    assert [line.split()[:2] for line in text.splitlines() if line.startswith("*")] == [["*", result["best"]]]
    assert ready.refusal("sweep", "run.toml", "lr=0,1e-2", "steps=9").startswith(
        "runs/run-sweep/lr=0: was made with train.steps 8, run.toml says 9; expected equal ones, or another name"
    )
    assert ready.refusal("sweep", "run.toml", "lr=,3") == "'lr=,3': expected KEY=VALUE,VALUE,..."
    assert ready.refusal("sweep", "run.toml", code=2).startswith("no values, expected KEY=VALUE,VALUE,...")

    error = ready.refusal("compare", "runs/run-sweep")
    assert error.endswith("a folder that hone train made; it holds some: runs/run-sweep/*")
    everything = sorted(map(str, (ready.folder / "runs/run-sweep").iterdir()))
    assert len(everything) == 4 and len(ready.json("compare", *everything, "-o", "all.svg")["runs"]) == 3
    assert ready.refusal("compare", "runs/run-sweep/compare.svg").startswith("runs/run-sweep/compare.svg: is not a run")
    compared = ready.json("compare", *folders[:2], "-o", "both.svg")
    assert compared["best"] == folders[1] and compared["curves"] == "both.svg"
    svg = (ready.folder / "both.svg").read_text()
    assert svg.count("<path class=\"curve\"") == 4 and "lr=1e-2" in svg and svg.endswith("</svg>\n")

    ElementTree.fromstring(svg)
    assert ready.refusal("compare", "runs/none").startswith("runs/none: is not a run")
    error = ready.refusal("compare", folders[0], "-o", "no/x.svg")
    assert error == "no/x.svg: cannot be written: No such file or directory"


def test_generate_refuses_what_it_cannot_run(ready) -> None:
    ready("train", "run.toml", "steps=1")
    error = ready.refusal("generate", "runs/run", "--prompt", "a")
    assert error.startswith(f"{PACKAGE}: is a package; generating needs its PyTorch model,")
    assert ready.refusal("generate", "runs/run", "--top-p", "2") == "--top-p is 2, expected a share above 0 and up to 1"
    assert ready.refusal("generate", "runs/run", "--temperature=-1") == "--temperature is -1, expected a number >= 0"
    (ready.folder / "data/tokens.json").unlink()
    ready("train", "run.toml", "steps=1", "name=b")
    assert ready.refusal("generate", "runs/b").startswith("runs/b: its data has no tokens.json; --tokenizer FILE names")
