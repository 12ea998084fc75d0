"""Pipeline schedules against torch.distributed.pipelining, which has a validator and a simulator of its own."""

from __future__ import annotations

import csv
import os
import subprocess
from types import SimpleNamespace

import pytest
from conftest import ROOT

schedules = pytest.importorskip("torch.distributed.pipelining.schedules")
Action = schedules._Action
PRINT = os.path.join(ROOT, "build", "bin", "print-schedule")
CASES = [(1, 3), (2, 1), (2, 5), (4, 3), (4, 8), (5, 12)]  # ranks, micro-batches

pytestmark = pytest.mark.skipif(not os.path.exists(PRINT), reason="print-schedule is not built")


def lists(text: str) -> dict[int, list]:
    """What torch reads from CSV."""
    return {rank: [Action.from_str(word) for word in row] for rank, row in enumerate(csv.reader(text.splitlines()))}


def printed(*words) -> dict[int, list]:
    done = subprocess.run([PRINT, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return lists(done.stdout)


@pytest.mark.parametrize(("name", "chunks"), [("gpipe", 1), ("1f1b", 1), ("interleaved=2", 2), ("interleaved=3", 3),
                                              ("zb-h1", 1), ("zb-v", 2)])
def test_torch_accepts_what_we_write(name: str, chunks: int) -> None:
    for ranks, micro in CASES:
        total = ranks * chunks
        compute = printed("compute", name, ranks, micro)
        rank_of = schedules._validate_schedule(compute, ranks, total, micro)
        expected = [min(chunk % (2 * ranks), 2 * ranks - 1 - chunk % (2 * ranks)) if name == "zb-v" else chunk % ranks
                    for chunk in range(total)]
        assert [rank_of[chunk] for chunk in range(total)] == expected
        # torch's transfers, then ours. Its simulator waits where a list has a receive, and fails in a deadlock.
        transfers = schedules._add_send_recv({rank: list(row) for rank, row in compute.items()}, rank_of.get, total)
        schedules._simulate_comms_compute(transfers, rank_of.get, total)
        ours = printed("blocking", name, ranks, micro)
        schedules._simulate_comms_compute(ours, rank_of.get, total)
        early = printed("csv", name, ranks, micro)
        for rank, row in transfers.items():
            assert sorted(row) == sorted(ours[rank]) == sorted(early[rank])


def test_torch_refuses_a_wrong_list() -> None:
    """The oracle is awake: without one receive its simulator stands still."""
    wrong = printed("blocking", "1f1b", 2, 3)
    wrong[1].remove(Action.from_str("1RECV_F1"))
    with pytest.raises(ValueError, match="not progressing"):
        schedules._simulate_comms_compute(wrong, lambda chunk: chunk, 2)


@pytest.mark.parametrize("micro", [7, 12])
def test_we_accept_what_torch_writes(tmp_path, micro: int) -> None:
    """Files that torch dumps, with cells that are empty where a rank idles."""
    ranks = 4
    made_by = {
        "v": (schedules.ScheduleZBVZeroBubble, SimpleNamespace(num_stages=2 * ranks)),
        "interleaved": (schedules.ScheduleInterleaved1F1B,
                        SimpleNamespace(n_local_stages=2, microbatches_per_round=micro if micro % ranks else ranks)),
    }
    for name, (cls, state) in made_by.items():
        state.pp_group_size, state._n_microbatches = ranks, micro
        path = tmp_path / f"{name}.csv"
        with open(path, "w", newline="") as file:
            for rank in range(ranks):
                csv.writer(file).writerow(cls._calculate_single_rank_operations(state, rank))
        read = printed("compute", path)
        with open(path) as file:
            text = file.read()
        assert read == {rank: [action for action in row if action] for rank, row in lists(text).items()}
