"""Paths and shared helpers of the front end's tests."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "test", "fixtures")
EXAMPLES = os.path.join(ROOT, "python_frontend", "examples")
HONE_OPT = os.environ.get("HONE_OPT", os.path.join(ROOT, "build", "bin", "hone-opt"))

pytest.register_assert_rewrite("bigram", "command", "taken_cases")  # helpers that assert
sys.path[:0] = [os.path.join(ROOT, "python_frontend"), EXAMPLES, FIXTURES]

try:  # several processes share few cores here, and the models are tiny
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None


@pytest.fixture(autouse=True)
def seeded():
    """The same weights in every run: how an initialisation is described depends on the values drawn."""
    if torch:
        torch.manual_seed(0)


@pytest.fixture
def verified(tmp_path):
    """A function that gives MLIR text to hone-opt and fails with its complaint; does nothing where it is not built."""

    def verify(text: str) -> None:
        if not os.path.exists(HONE_OPT):
            return
        path = tmp_path / "graph.mlir"
        path.write_text(text)
        command = [HONE_OPT, str(path), "--hone-verify-import", "-o", os.devnull]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return verify


@pytest.fixture(scope="session")
def hone_cache(tmp_path_factory):
    """Packages and programs that the tests of a process share, as a user's runs do."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def hone(tmp_path, hone_cache):
    """The command `hone` in tmp_path; skips where honec is not built."""
    from command import HONEC, Command

    if not os.path.exists(HONEC):
        pytest.skip("honec is not built")
    return Command(tmp_path, hone_cache)
