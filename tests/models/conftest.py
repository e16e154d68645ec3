"""The two robots that the tests know, and copies of them to spoil."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

TWO_LEG = Path(__file__).parents[1] / "data" / "two_leg"


@pytest.fixture
def spoil(tmp_path: Path) -> Callable[[str, str, str], Path]:
    """Return a function that copies the walker and changes one text in one file."""

    def change(file: str, old: str, new: str) -> Path:
        folder = tmp_path / "robot"
        if not folder.exists():
            shutil.copytree(TWO_LEG, folder)
        text = (folder / file).read_text()
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {file}"
        (folder / file).write_text(text.replace(old, new))
        return folder

    return change
