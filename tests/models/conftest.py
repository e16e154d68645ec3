"""Modified robot copies and test libraries."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nao_testbed.models import Robot
from nao_testbed.models.files.yaml_forms import FileErrors
from nao_testbed.models.library import Library
from nao_testbed.models.load.library_files import load_library

DATA = Path(__file__).parents[1] / "data"
Spoil = Callable[[str, str, str], Path]
Load = Callable[..., Library]


@pytest.fixture
def load(nao: Robot, tmp_path: Path) -> Load:
    """Return a function that writes files into a NAO's library and reads it."""

    def load(text: str, **others: str) -> Library:
        folder = tmp_path / "library"
        folder.mkdir(exist_ok=True)
        for name, content in {"here": text, **others}.items():
            (folder / f"{name}.yaml").write_text(content, "utf-8")
        return load_library(dataclasses.replace(nao, folder=tmp_path))

    return load


def problems(load: Load, text: str, **others: str) -> list[str]:
    """Return line and message of each problem, without the folder."""
    with pytest.raises(FileErrors) as caught:
        load(text, **others)
    return [f"{e.path.name}:{e.line}: {e.problem}" for e in caught.value.errors]


@pytest.fixture
def spoil(tmp_path: Path) -> Spoil:
    """Return a function that copies the two-legged robot and changes a text in a file.

    It gets a `resources.yaml` or `leds.csv` if that file is named.
    """

    def change(file: str, old: str, new: str) -> Path:
        folder = tmp_path / "robot"
        if not folder.exists():
            shutil.copytree(DATA / "two_leg", folder)
        if not (folder / file).exists():
            shutil.copy(DATA / f"two_leg_{file}", folder / file)
        text = (folder / file).read_text("utf-8")
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {file}"
        (folder / file).write_text(text.replace(old, new), "utf-8")
        return folder

    return change
