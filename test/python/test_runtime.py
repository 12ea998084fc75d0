"""The runtime as a process: files as NumPy and safetensors see them, signals, kills, and full disks.

Runs honert-tiny (test/unit/runtime/programs/Tiny.cpp), from the folder HONE_BIN or build/bin.
"""

import datetime
import json
import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(os.environ.get("HONE_BIN", ROOT / "build" / "bin")) / "honert-tiny"
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
pytestmark = pytest.mark.skipif(not TINY.exists(), reason=f"{TINY} is not built")


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.npy"
    np.save(path, (np.arange(500) ** 2 % 32).astype(np.uint16))
    return path


def run(*arguments: object, **more) -> subprocess.CompletedProcess:
    return subprocess.run([TINY, *map(str, arguments)], capture_output=True, text=True, timeout=120, **more)


def start(*arguments: object, sleep_ms: int = 0) -> subprocess.Popen:
    environment = {**os.environ, "HONE_TINY_SLEEP_MS": str(sleep_ms)}
    for number in STOPS:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)  # else the program ignores it too
    return subprocess.Popen([TINY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int32, np.int64])
def test_token_arrays_of_numpy(tmp_path: Path, tokens: Path, dtype: type) -> None:
    np.save(tmp_path / "t.npy", np.load(tokens).astype(dtype))
    for name, data in (("a", tokens), ("b", tmp_path / "t.npy")):
        assert run("--data", data, "--steps", 3, "--save", tmp_path / name).returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_weights_load_in_safetensors(tmp_path: Path, tokens: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    assert run("--data", tokens, "--steps", 3, "--save", tmp_path / "w.safetensors").returncode == 0
    weights = safetensors.load_file(tmp_path / "w.safetensors")
    assert {name: value.shape for name, value in weights.items()} == {"table": (32, 32), "bias": (32,), "scale": (32,)}
    assert np.all(weights["scale"] == 1)
    # And back: what the library writes is what the runtime reads.
    safetensors.save_file(weights, tmp_path / "again.safetensors")
    done = run("--data", tokens, "--steps", 0, "--init", tmp_path / "again.safetensors", "--save", tmp_path / "b")
    assert done.returncode == 0, done.stderr
    again = safetensors.load_file(tmp_path / "b")
    assert all(np.array_equal(weights[name], again[name]) for name in weights)


def test_log_is_json_lines(tmp_path: Path, tokens: Path) -> None:
    log = tmp_path / "run.jsonl"
    assert run("--data", tokens, "--steps", 4, "--val-data", tokens, "--val-every", 2, "--log", log).returncode == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    assert [line["step"] for line in steps] == [1, 2, 3, 4]
    assert set(steps[0]) == {"step", "loss", "grad_norm", "lr", "tokens", "ms", "tokens_per_s", "tflops", "mfu", "time"}
    assert [line["step"] for line in lines if "val_loss" in line] == [2, 4]


def read_log(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_log_begins_with_the_run_and_ends_with_the_reason(tmp_path: Path, tokens: Path) -> None:
    log = tmp_path / "base.jsonl"
    flags = ("--steps", 4, "--warmup", 2, "--seed", 7, "--threads", 2, "--checkpoint-dir", tmp_path / "c")
    assert run("--data", tokens, *flags, "--checkpoint-every", 2, "--log", log).returncode == 0
    first, *lines = read_log(log)
    assert list(first) == ["run", "config", "model", "params", "ranks", "host", "started", "data"]
    passes = pytest.approx(4 / 31, abs=1e-6)  # of 31 batches per epoch
    assert first["data"] == [{"files": [str(tokens)], "tokens": 500, "share": 1, "passes": passes}]
    assert (first["run"], first["model"], first["params"]) == ("base", "tiny", 1056)
    assert abs(datetime.datetime.fromisoformat(first["started"]).timestamp() - time.time()) < 60
    config = first["config"]
    assert {"data": [str(tokens)], "steps": 4, "lr": 0.01, "warmup": 2, "seed": 7, "threads": 2}.items() <= config.items()
    assert "resume" not in config and "save" not in config
    assert [line["tokens"] for line in lines if "loss" in line] == [16, 32, 48, 64]
    saved = [(line["step"], line["checkpoint"]) for line in lines if "checkpoint" in line]
    assert saved == [(step, f"{tmp_path}/c/step-{step:08d}") for step in (2, 4)]
    assert list(lines[-1]) == ["step", "end", "median_ms", "median_tokens_per_s", "time"] and (lines[-1]["step"], lines[-1]["end"]) == (4, "done")
    times = [line["time"] for line in lines]
    assert times == sorted(times)


def test_log_of_a_run_in_parts_has_every_step_once(tmp_path: Path, tokens: Path) -> None:
    log, whole = tmp_path / "log", tmp_path / "whole"
    flags = ("--data", tokens, "--checkpoint-dir", tmp_path / "c", "--resume", "--checkpoint-every", 3, "--log", log)
    process = start(*flags, "--steps", 1000, sleep_ms=20)
    while "step 8/" not in process.stdout.readline():
        pass
    process.kill()
    process.communicate()
    with log.open("a") as file:
        file.write('{"step":9,"lo')
    for steps, sleep_ms in ((20, 20), (30, 0)):
        process = start(*flags, "--steps", steps, sleep_ms=sleep_ms)
        if steps == 20:
            while "step 13/" not in process.stdout.readline():
                pass
            process.send_signal(signal.SIGTERM)
        process.communicate()
    lines = read_log(log)
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 31))
    heads = [line.get("resumed", 0) for line in lines if "run" in line]
    ends = [line for line in lines if "end" in line]
    assert heads[0] == 0 and heads[1] >= 6 and heads[2] == ends[0]["step"]
    assert [line["end"] for line in ends] == ["SIGTERM", "done"]
    assert run("--data", tokens, "--steps", 30, "--log", whole).returncode == 0
    losses = [[line["loss"] for line in read_log(path) if "loss" in line] for path in (log, whole)]
    assert losses[0] == losses[1]


def test_log_ends_with_the_error(tmp_path: Path, tokens: Path) -> None:
    log = tmp_path / "log"
    assert run("--data", tokens, "--steps", 9, "--lr", "1e38", "--log", log).returncode == 1
    last = read_log(log)[-1]
    assert last["end"].startswith("error: step ") and "expected a finite value" in last["end"]


@pytest.mark.parametrize("number", STOPS)
def test_a_signal_ends_the_run_after_its_step(tmp_path: Path, tokens: Path, number: signal.Signals) -> None:
    weights, checkpoints = tmp_path / "w", tmp_path / "c"
    process = start("--data", tokens, "--steps", 1000, "--save", weights, "--checkpoint-dir", checkpoints, sleep_ms=20)
    while "step 3/1000 " not in process.stdout.readline():
        pass
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 128 + number, err
    assert f"stopped by {number.name} after step " in out
    stopped = int(out.split("after step ")[1].split(":")[0])
    # The same bits as a run of so many steps.
    assert run("--data", tokens, "--steps", stopped, "--save", tmp_path / "same").returncode == 0
    assert weights.read_bytes() == (tmp_path / "same").read_bytes()
    assert (checkpoints / "latest").read_text() == f"step-{stopped:08d}\n"


def test_a_second_signal_ends_it_at_once(tokens: Path) -> None:
    process = start("--data", tokens, "--steps", 10, sleep_ms=1500)
    while "MFU" not in process.stdout.readline():
        pass
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    process.communicate(timeout=10)
    assert process.returncode == 128 + signal.SIGINT
    assert time.monotonic() - begin < 1


def test_kills_lose_no_committed_checkpoint(tmp_path: Path, tokens: Path) -> None:
    assert run("--data", tokens, "--steps", 400, "--save", tmp_path / "whole", "--quiet").returncode == 0
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    moment = random.Random(seed)
    arguments = ("--data", tokens, "--steps", 400, "--checkpoint-dir", tmp_path / "c", "--checkpoint-every", 1,
                 "--resume", "--save", tmp_path / "w")
    kills, newest = 0, 0
    while True:
        process = start(*arguments)
        try:
            out, err = process.communicate(timeout=moment.uniform(0.05, 0.25))
            assert process.returncode == 0 and not err, err
            break
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
            assert not err  # no checkpoint was ever found damaged
            kills += 1
            committed = [int(path.name[5:]) for path in (tmp_path / "c").glob("step-*")]
            assert max(committed, default=0) >= newest
            newest = max(committed, default=0)
    assert kills > 0
    assert (tmp_path / "w").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not list((tmp_path / "c").glob(".tmp*"))


def test_a_mixture_that_is_killed_goes_on_by_its_folder_alone(tmp_path: Path, tokens: Path) -> None:
    """After the first kill no flag is given: data, weights, order and length are those of the run."""
    np.save(tmp_path / "other.npy", (np.arange(300) * 5 % 32).astype(np.uint16))
    flags = ("--data", f"{tokens}:0.7", "--data", f"{tmp_path}/oth*.npy:0.3", "--shuffle", "--seed", 5, "--steps", 60)
    assert run(*flags, "--save", tmp_path / "whole").returncode == 0
    given = (*flags, "--save", tmp_path / "w", "--checkpoint-dir", tmp_path / "c", "--checkpoint-every", 3)
    for last in (8, 23, 41):
        process = start(*given, sleep_ms=10)
        while f"step {last}/" not in process.stdout.readline():
            pass
        process.kill()
        process.communicate()
        given = ("--resume", tmp_path / "c")
    done = run(*given)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split("resume: after step ")[1].split()[0]) >= 39
    assert (tmp_path / "w").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_full_disk_is_said_and_keeps_the_last_checkpoint(tmp_path: Path, tokens: Path) -> None:
    arguments = ("--data", tokens, "--checkpoint-dir", tmp_path / "c", "--checkpoint-every", 1)
    assert run(*arguments, "--steps", 2).returncode == 0
    good = (tmp_path / "c" / "step-00000002" / "state.safetensors").read_bytes()

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = run(*arguments, "--steps", 4, "--resume", preexec_fn=small_files)
    assert done.returncode == 1
    warnings = done.stderr.splitlines()
    assert len(warnings) == 3 and all("cannot be written: File too large" in line for line in warnings)
    assert warnings[0].startswith("warning: ") and warnings[2].startswith("error: ")
    assert (tmp_path / "c" / "step-00000002" / "state.safetensors").read_bytes() == good
    assert not list((tmp_path / "c").glob(".tmp*"))


def test_libraries_are_opened_where_they_are_needed(tmp_path: Path, tokens: Path) -> None:
    mapped = subprocess.run(["ldd", TINY], capture_output=True, text=True).stdout
    assert "dnnl" not in mapped and "gomp" not in mapped
    (tmp_path / "libgomp.so.1").write_text("no library")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    assert run("--info", env=environment).returncode == 0
    done = run("--data", tokens, "--steps", 1, env=environment)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "libgomp.so.1" in done.stderr and "; threads need libgomp (Debian: libgomp1; or a copy" in done.stderr
