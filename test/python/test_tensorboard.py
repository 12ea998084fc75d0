"""The event files of --tensorboard, read by the format's specification and, where it is installed, by TensorBoard."""

import json
import os
import signal
import struct
import subprocess
from pathlib import Path
from typing import Iterator

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(os.environ.get("HONE_BIN", ROOT / "build" / "bin")) / "honert-tiny"
TAGS = ("loss", "val_loss", "lr", "grad_norm", "tokens_per_s")
pytestmark = pytest.mark.skipif(not TINY.exists(), reason=f"{TINY} is not built")


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.npy"
    np.save(path, (np.arange(500) ** 2 % 32).astype(np.uint16))
    return path


def start(*arguments: object, sleep_ms: int = 0) -> subprocess.Popen:
    return subprocess.Popen([TINY, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "HONE_TINY_SLEEP_MS": str(sleep_ms)})


def run(*arguments: object) -> None:
    process = start(*arguments)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err


def crc32c(data: bytes) -> int:
    """CRC-32C by bits: the polynomial 0x1EDC6F41, reflected."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path: Path) -> Iterator[bytes]:
    data = path.read_bytes()
    while data:
        length, check = struct.unpack_from("<QI", data)
        assert check == masked(data[:8])
        event = data[12:12 + length]
        assert len(event) == length and struct.unpack_from("<I", data, 12 + length)[0] == masked(event)
        yield event
        data = data[16 + length:]


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(message: bytes) -> Iterator[tuple[int, object]]:
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        if key & 7 == 0:
            value, at = varint(message, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", message, at)[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack_from("<f", message, at)[0], at + 4
        else:
            assert key & 7 == 2
            size, at = varint(message, at)
            value, at = message[at:at + size], at + size
        yield key >> 3, value


def read_scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """By tag, in the order of the files' names and of their records."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for path in sorted(folder.iterdir()):
        assert "tfevents" in path.name
        first, *events = records(path)
        assert dict(fields(first))[3] == b"brain.Event:2"
        for event in events:
            found = dict(fields(event))
            for _, value in fields(found[5]):
                point = dict(fields(value))
                curves.setdefault(point[1].decode(), []).append((found[2], point[2]))
    return curves


def logged(log: Path) -> dict[str, list[tuple[int, float]]]:
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    return {tag: [(entry["step"], float(np.float32(entry[tag]))) for entry in entries if tag in entry] for tag in TAGS}


def test_checksum_is_that_of_the_specification() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_scalars_are_those_of_the_log(tmp_path: Path, tokens: Path) -> None:
    run("--data", tokens, "--steps", 300, "--log-every", 2, "--val-data", tokens, "--val-every", 60,
        "--warmup", 10, "--log", tmp_path / "log", "--tensorboard", tmp_path / "tb")
    curves = read_scalars(tmp_path / "tb")
    expected = logged(tmp_path / "log")
    assert len(expected["loss"]) == 151 and len(expected["val_loss"]) == 5
    speeds, expected_speeds = curves.pop("tokens_per_s"), expected.pop("tokens_per_s")
    assert curves == expected
    assert [step for step, _ in speeds] == [step for step, _ in expected_speeds]
    np.testing.assert_allclose([rate for _, rate in speeds], [rate for _, rate in expected_speeds], rtol=1e-5)


def run_in_parts(tmp_path: Path, tokens: Path) -> Path:
    """A run that is killed amid its steps, loses half a record, is resumed, stopped and resumed."""
    folder = tmp_path / "tb"
    flags = ("--data", tokens, "--checkpoint-dir", tmp_path / "c", "--checkpoint-every", 3, "--val-data", tokens,
             "--val-every", 2, "--resume", "--tensorboard", folder)
    for steps, last, number in ((1000, "step 11/", signal.SIGKILL), (1000, "step 17/", signal.SIGTERM)):
        process = start(*flags, "--steps", steps, sleep_ms=20)
        while last not in process.stdout.readline():
            pass
        process.send_signal(number)
        process.communicate()
        if number == signal.SIGKILL:
            killed = next(folder.iterdir())
            killed.write_bytes(killed.read_bytes()[:-5])
    run(*flags, "--steps", 150)
    return folder


def test_a_run_in_parts_is_one_curve(tmp_path: Path, tokens: Path) -> None:
    folder = run_in_parts(tmp_path, tokens)
    assert len(list(folder.iterdir())) == 3
    curves = read_scalars(folder)
    assert [step for step, _ in curves["loss"]] == list(range(1, 151))
    validated = [step for step, _ in curves["val_loss"]]
    # A signal that comes during a validation ends it.
    assert validated == sorted(set(validated)) and len(set(range(2, 151, 2)) - set(validated)) <= 1
    run("--data", tokens, "--steps", 150, "--tensorboard", tmp_path / "whole")
    assert curves["loss"] == read_scalars(tmp_path / "whole")["loss"]


def test_a_new_run_leaves_the_curves_of_another(tmp_path: Path, tokens: Path) -> None:
    (tmp_path / "tb").mkdir()
    (tmp_path / "tb" / "events.out.tfevents.1.host.other").write_bytes(b"not ours")
    flags = ("--data", tokens, "--steps", 3, "--tensorboard", tmp_path / "tb")
    run(*flags)
    files = {path: path.read_bytes() for path in (tmp_path / "tb").iterdir()}
    process = start(*flags)
    _, err = process.communicate()
    (ours,) = (path.name for path in files if not path.name.endswith("other"))
    assert process.returncode == 2 and err == (
        f"error: --tensorboard: {tmp_path}/tb holds curves of an earlier run ({ours}), expected a folder without: name "
        "another one, remove this one, or go on with that run (--resume)\n")
    assert len(files) == 2 and files == {path: path.read_bytes() for path in (tmp_path / "tb").iterdir()}


def test_tensorboard_reads_the_same(tmp_path: Path, tokens: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    folder = run_in_parts(tmp_path, tokens)
    reader = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0})
    reader.Reload()
    seen = {tag: [(event.step, event.value) for event in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}
    assert seen == read_scalars(folder)
