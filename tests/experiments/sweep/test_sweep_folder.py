"""Reading a sweep folder reports missing and damaged files."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.sweep_table import (
    TABLE_FILE,
    is_sweep_folder,
    read_folder,
)
from nao_testbed.models import BadInput
from nao_testbed.models.system import lock
from tests.experiments.sweep.files import spec_of
from tests.experiments.sweep.outcomes import BAND, PAIRS, heat, stand

Copy = Callable[[], Path]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    run_sweep(spec_of(folder, PAIRS), folder / "pairs", work=heat)
    return folder / "pairs"


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Copy:
    return lambda: Path(shutil.copytree(whole, tmp_path / "pairs"))


def edit(path: Path, **changes: object) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, **changes}), encoding="utf-8")


def test_a_complete_sweep_is_read_without_warnings(whole: Path) -> None:
    found = read_folder(whole)
    assert is_sweep_folder(whole)
    assert (found.name, found.problems, found.is_running) == ("pairs", (), False)
    assert found.expected == {"fixed": 10, "smart": 10, "minheat": 10}
    assert len(found.sweep.frame) == 30


def test_a_killed_sweep_has_the_rows_of_its_trials(copy: Copy) -> None:
    folder = copy()
    wanted = read_folder(folder).sweep.frame
    (folder / TABLE_FILE).unlink()
    found = read_folder(folder)
    assert found.problems == ()
    assert_frame_equal(found.sweep.frame, wanted, check_dtype=False)


def test_trials_newer_than_the_table_are_read(copy: Copy) -> None:
    folder = copy()
    edit(next(folder.glob("trials/*.json")), result=None, error="lost")
    os.utime(folder / TABLE_FILE, (1.0, 1.0))
    found = read_folder(folder)
    assert found.sweep.frame["error"].notna().sum() == 1
    assert "older than the trials" in found.problems[0]


def test_a_copied_sweep_is_not_reported_as_killed(copy: Copy) -> None:
    """Its files may have any order of times."""
    folder = copy()
    os.utime(folder / TABLE_FILE, (1.0, 1.0))
    found = read_folder(folder)
    assert (found.problems, len(found.sweep.frame)) == ((), 30)


def test_a_damaged_table_is_reported_and_trials_are_read(copy: Copy) -> None:
    folder = copy()
    (folder / TABLE_FILE).write_bytes(b"PAR1 no more")
    found = read_folder(folder)
    assert "table.parquet cannot be read" in found.problems[0]
    assert "The trial files are used." in found.problems[0]
    assert len(found.sweep.frame) == 30


def test_damaged_trials_are_reported_as_missing(copy: Copy) -> None:
    folder = copy()
    (folder / TABLE_FILE).unlink()
    for path in sorted(folder.glob("trials/*.json"))[:2]:
        path.write_text("{", "utf-8")
    found = read_folder(folder)
    (problem,) = found.problems
    assert problem.startswith("2 trial files cannot be read and counted as missing.")
    assert str(sorted(folder.glob("trials/*.json"))[0]) in problem
    assert problem.endswith(" The others have the same problem.")
    assert len(found.sweep.frame) == 28


def test_the_table_alone_is_enough(copy: Copy) -> None:
    folder = copy()
    shutil.rmtree(folder / "trials")
    (folder / "sweep.json").unlink()
    found = read_folder(folder)
    assert found.expected == {"fixed": 10, "smart": 10, "minheat": 10}
    (folder / "sweep.json").write_text("{", "utf-8")
    assert "sweep.json cannot be read" in read_folder(folder).problems[0]


def test_a_sweep_without_trials_is_rejected(copy: Copy) -> None:
    folder = copy()
    shutil.rmtree(folder / "trials")
    (folder / TABLE_FILE).unlink()
    with pytest.raises(BadInput, match="'pairs', but no finished trial"):
        read_folder(folder)


def test_files_of_another_format_are_rejected(copy: Copy) -> None:
    folder = copy()
    edit(folder / "sweep.json", format=99)
    with pytest.raises(BadInput, match=r"sweep\.json has format 99; this version"):
        read_folder(folder)


def test_the_requested_number_may_be_unknown(copy: Copy) -> None:
    folder = copy()
    data = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
    del data["points"]
    (folder / "sweep.json").write_text(json.dumps(data), "utf-8")
    (folder / TABLE_FILE).unlink()
    assert read_folder(folder).expected is None


def test_a_running_sweep_differs_from_a_killed_one(copy: Copy) -> None:
    folder = copy()
    with (folder / ".lock").open("w", encoding="utf-8") as file:
        lock(file)
        assert read_folder(folder).is_running
    assert not read_folder(folder).is_running


def test_only_kept_robots_run_other_controllers(tmp_path: Path) -> None:
    run_sweep(spec_of(tmp_path, BAND), tmp_path / "out", work=stand)
    wanted = read_folder(tmp_path / "out")
    assert wanted.expected == {"fixed": 4, "smart": 3}
    (tmp_path / "out" / TABLE_FILE).unlink()
    found = read_folder(tmp_path / "out").sweep.frame
    for column in ("kept", "mirrored"):
        assert found[column].tolist() == wanted.sweep.frame[column].tolist()


def test_trial_count_is_known_for_drawn_controllers(
    tmp_path: Path,
) -> None:
    text = PAIRS.replace("[fixed, smart, minheat]", "{choice: [fixed, smart]}")
    run_sweep(spec_of(tmp_path, text), tmp_path / "out", work=heat)
    found = read_folder(tmp_path / "out")
    assert (found.expected, found.total, found.state) == (None, 10, ())
    (tmp_path / "out" / TABLE_FILE).unlink()
    next((tmp_path / "out" / "trials").glob("*.json")).unlink()
    (told,) = read_folder(tmp_path / "out").state
    assert told.startswith("1 of 10 trials are missing.")
