"""Reading damaged or incomplete run folders, with warnings."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nao_testbed.experiments.report.run_source import read_source, runs_in
from nao_testbed.models import BadInput
from nao_testbed.models.system import lock

Copy = Callable[[str], Path]


def test_complete_run_is_read_without_warnings(heat_folder: Path) -> None:
    source = read_source(heat_folder)
    assert (source.kind, source.name, source.warnings) == ("heat", "heat", ())
    assert [trial.name for trial in source.trials] == ["fixed", "smart"]
    assert source.heat is not None
    assert all(len(trial.frame) == trial.run.meta.rows for trial in source.trials)


def test_robot_folder_can_be_read_as_a_run(heat_folder: Path) -> None:
    source = read_source(heat_folder / "smart")
    assert (source.kind, source.warnings, source.heat) == ("heat", (), None)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is empty"),
        (lambda path: path.write_text("x", "utf-8"), "is a file"),
        (
            lambda path: (path.mkdir(), (path / "notes.txt").touch()),
            "is not a run folder",
        ),
    ],
)
def test_invalid_run_folder_is_refused(
    tmp_path: Path, make: Callable[[Path], object], says: str
) -> None:
    make(tmp_path / "run")
    with pytest.raises(BadInput, match=says):
        read_source(tmp_path / "run")


def test_killed_run_is_read_from_its_rows(killed: Path) -> None:
    source = read_source(killed)
    assert source.heat is None
    assert [len(trial.frame) > 0 for trial in source.trials] == [True, True]
    told = "\n".join(source.warnings)
    assert "computed from the recorded rows" in source.warnings[0]
    assert "fixed: the run was killed" in told
    assert "smart: its rows end at 3" in told


def test_damaged_files_are_reported_and_skipped(copy_of: Copy) -> None:
    folder = copy_of("damaged")
    for part in (folder / "fixed").glob("part-*.parquet"):  # a slow run has several
        part.write_bytes(b"PAR1 no more")
    with (folder / "smart" / "events.jsonl").open("a", encoding="utf-8") as file:
        file.write("{no event\n")
    source = read_source(folder)
    told = "\n".join(source.warnings)
    assert "part-00000.parquet is damaged" in told
    assert "fixed: 0 of its 150 rows exist" in told
    assert "smart: 1 damaged line" in told
    fixed, smart = source.trials
    assert not len(fixed.frame)
    assert len(smart.frame) == 150


def test_missing_part_is_reported(copy_of: Copy) -> None:
    folder = copy_of("gone")
    parts = sorted((folder / "fixed").glob("part-*.parquet"))  # a slow run has several
    last = len(parts) - 1
    parts[last].rename(parts[last].with_name(f"part-{last + 2:05}.parquet"))
    told = f"fixed: part {last}, {last + 1} of its rows is missing."
    assert told in read_source(folder).warnings


@pytest.mark.parametrize("text", ["", "[1]", '{"trials": {"fixed": 3}}'])
def test_damaged_result_is_reported(copy_of: Copy, text: str) -> None:
    folder = copy_of("damaged")
    (folder / "heat.json").write_text(text, "utf-8")
    source = read_source(folder)
    assert source.heat is None
    assert "heat.json" in "\n".join(source.warnings)


def test_missing_robot_folder_is_reported(copy_of: Copy) -> None:
    folder = copy_of("half")
    for path in (folder / "smart").iterdir():
        path.unlink()
    (folder / "smart").rmdir()
    source = read_source(folder)
    assert source.heat is not None
    assert source.warnings == ("smart: its folder is missing, with its rows.",)


def test_robot_with_unreadable_description_is_skipped(copy_of: Copy) -> None:
    folder = copy_of("odd")
    (folder / "smart" / "meta.json").write_text("{", "utf-8")
    assert "smart is left out" in "\n".join(read_source(folder).warnings)
    (folder / "fixed" / "meta.json").write_text("{", "utf-8")
    (folder / "heat.json").unlink()
    with pytest.raises(BadInput, match="no readable data"):
        read_source(folder)


def test_run_in_progress_is_reported(copy_of: Copy) -> None:
    folder = copy_of("live") / "fixed"
    path = folder / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**meta, "state": "running", "rows": None}), "utf-8")
    with (folder / "events.jsonl").open("a", encoding="utf-8") as events:
        lock(events)
        assert "the run is in progress" in "\n".join(read_source(folder).warnings)


def test_robots_of_one_controller_are_named_by_their_folders(
    copy_of: Copy,
) -> None:
    folder = copy_of("twins")
    (folder / "heat.json").unlink()
    shutil.copytree(folder / "smart", folder / "smart-2")
    names = [trial.name for trial in read_source(folder).trials]
    assert names == ["fixed", "smart (smart)", "smart (smart-2)"]


# -- parent folders of runs ------------------------------------------------------------


def change_meta(folder: Path, **fields: object) -> None:
    path = folder / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(meta | fields), encoding="utf-8")


def test_run_folder_contains_only_itself(heat_folder: Path, killed: Path) -> None:
    for folder in (heat_folder, heat_folder / "smart", killed):
        assert runs_in(folder) == (folder,)


@pytest.mark.parametrize("has_result", [True, False])
def test_other_experiment_beside_robots_is_a_separate_run(
    copy_of: Copy, has_result: bool
) -> None:
    """A folder with another experiment is not a robot of the heat run."""
    folder = copy_of("mixed")
    shutil.copytree(folder / "smart", folder / "dance")
    change_meta(folder / "dance", experiment="scenario")
    if not has_result:
        (folder / "heat.json").unlink()
    assert runs_in(folder) == (folder, folder / "dance")
    assert [trial.name for trial in read_source(folder).trials] == ["fixed", "smart"]


def test_each_run_below_a_folder_keeps_its_kind(
    copy_of: Copy, heat_folder: Path
) -> None:
    above = copy_of("above")
    (above / "heat.json").unlink()
    shutil.copytree(heat_folder, above / "heat")
    (above / "sweep").mkdir()
    (above / "sweep" / "sweep.json").write_text("{}", "utf-8")
    change_meta(above / "fixed", experiment="scenario")
    change_meta(above / "smart", experiment="scenario")
    shown = [path.name for path in runs_in(above)]
    assert shown == ["fixed", "heat", "smart", "sweep"]


def test_robots_of_two_commands_are_two_runs(copy_of: Copy) -> None:
    folder = copy_of("above")
    (folder / "heat.json").unlink()
    assert runs_in(folder) == (folder,), "robots of one command are one run"
    change_meta(folder / "smart", command=["another"])
    assert runs_in(folder) == (folder / "fixed", folder / "smart")
    with pytest.raises(BadInput, match=r"2 runs of different commands.*above/fixed"):
        read_source(folder)
