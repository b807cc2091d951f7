"""What all tests share."""

import os
import subprocess
from pathlib import Path

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")
# A cluster of tests listens on this machine only and lives for seconds: it leaves no token in anybody's home.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
# By this the workers of a test are told from anybody else's.
os.environ["FIRSTFLIGHT_MARK"] = "firstflight-test"

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def binary() -> str:
    """The command of the same checkout."""
    binary = os.environ.get("FIRSTFLIGHT_BINARY")
    if binary is None:
        pytest.skip("FIRSTFLIGHT_BINARY names no command to compare with; test.sh does")
    return binary


def command(binary: str, *words: str, code: int = 0) -> str:
    """What the command prints."""
    done = subprocess.run([binary, *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"`firstflight {' '.join(words)}` ends with {done.returncode}, not {code}: {done.stderr}"
    return done.stdout if code == 0 else done.stderr
