"""The command `nao-testbed` in this process, in an empty folder."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from experiments.cli import main


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, on a machine without a screen."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DISPLAY", raising=False)
    return folder


@pytest.fixture
def nao_testbed(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[str], Ran]:
    """Return a function that runs a command line."""

    def run(line: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["nao-testbed", *shlex.split(line)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        status = end.value.code
        assert isinstance(status, int)
        return Ran(status=status, out=said.out, err=said.err)

    return run
