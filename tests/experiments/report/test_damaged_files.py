"""A value of another type is named with file and key; nothing ends in a trace."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.report.run_source import read_source
from experiments.report.write import section_of
from experiments.sweep.runner import run_sweep
from experiments.sweep.summary.section import parameter_table
from experiments.sweep.sweep_table import TABLE_FILE, read_folder
from experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from experiments.sweep.trial_store import SWEEP_FILE, TRIALS
from models import BadInput
from sim.recording.run_folder import read_run
from tests.experiments.sweep.files import spec_of
from tests.experiments.sweep.outcomes import PAIRS, heat

Copy = Callable[[str], Path]


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.report.write.heat_figures", lambda *_: [])


def damage(path: Path, place: tuple[str | int, ...], value: object) -> None:
    """Put a value at a place of a JSON file."""
    data: Any = json.loads(path.read_text(encoding="utf-8"))
    inside = data
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    path.write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("seed",), "x", "seed is 'x'; give a whole number."),
        (("rows",), [], r"rows is \[\]; give a whole number."),
        (("command",), 3, "command is 3; give a list."),
        (("command",), [3], "command.0 is 3; give a text."),
        (("state",), None, "state is None; give a text."),
        (("versions",), [], r"versions is \[\]; give keys with values."),
        (("columns", "time_s"), 1, "columns.time_s is 1; give a text."),
        (("config",), "x", "config is 'x'; give keys with values."),
        (("robot_data",), 3, "robot_data is 3; give keys with values."),
        (("robot_data", "absent"), 3, "robot_data.absent is 3; give a list."),
        (
            ("robot_data", "effort_limits_nm", "HeadYaw"),
            "x",
            "robot_data.effort_limits_nm.HeadYaw is 'x'; give a number.",
        ),
    ],
)
def test_what_is_wrong_in_a_description_is_told(
    copy_of: Copy, place: tuple[str, ...], value: object, says: str
) -> None:
    folder = copy_of("odd") / "smart"
    path = folder / "meta.json"
    damage(path, place, value)
    with pytest.raises(BadInput, match=f"{re.escape(str(path))} is damaged: {says}"):
        read_run(folder)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("controller",), [], "config.controller is "),
        (("simulation",), 3, "config.simulation is 3"),
        (("simulation", "world"), "x", "config.simulation.world is 'x'"),
        (
            ("simulation", "misalignment_deg", "LHipRoll"),
            None,
            "config.simulation.misalignment_deg.LHipRoll is None; give a number",
        ),
        (("pushes",), {}, "config.pushes is "),
        (("pushes",), [3], "config.pushes.0 is 3"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_told(
    copy_of: Copy, place: tuple[str, ...], value: object, says: str
) -> None:
    """The robot is left out of the page; alone, it is refused."""
    folder = copy_of("odd")
    damage(folder / "smart" / "meta.json", ("config", *place), value)
    source = read_source(folder)
    told = "\n".join(source.warnings)
    assert "smart is left out" in told
    assert says in told
    assert section_of(source, "run1", with_replay=False).results
    with pytest.raises(BadInput, match=re.escape(says)):
        read_source(folder / "smart")


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("minutes",), "x", "minutes is 'x'; give a number."),
        (("arms", "smart", "sim_s"), [], "arms.smart.sim_s is []; give a number."),
        (
            ("arms", "smart", "joints", "HeadYaw", "end_degc"),
            "hot",
            "arms.smart.joints.HeadYaw.end_degc is 'hot'; give a number.",
        ),
        (("settings", "start_degc"), 3, "settings.start_degc is 3"),
    ],
)
def test_what_is_wrong_in_a_result_is_told_and_rows_are_read(
    copy_of: Copy, place: tuple[str, ...], value: object, says: str
) -> None:
    folder = copy_of("odd")
    damage(folder / "heat.json", place, value)
    source = read_source(folder)
    assert f"{folder / 'heat.json'} is damaged: {says}" in "\n".join(source.warnings)
    assert section_of(source, "run1", with_replay=False).results, "of the rows"


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ({"verdicts": 3}, "verdicts is 3; give a list."),
        ({"verdicts": [{"holds": 1}]}, "verdicts.0.line is missing."),
        ({"max_degc": {"HeadYaw": "x"}}, "max_degc.HeadYaw is 'x'; give a number."),
        ({"mishaps": [{"time_s": None, "what": "x"}]}, "mishaps.0.time_s is None"),
        ({"sim_s": {}}, "sim_s is {}; give a number."),
    ],
)
def test_what_is_wrong_in_a_scenarios_result_is_told(
    copy_of: Copy, scenario: dict[str, object], says: str
) -> None:
    folder = copy_of("odd") / "smart"
    damage(folder / "meta.json", ("experiment",), "scenario")
    (folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
    source = read_source(folder)
    assert source.scenario is None
    assert says in "\n".join(source.warnings)
    section_of(source, "run1", with_replay=False)


# -- sweeps --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("number",), "x", "number is 'x'; give a whole number."),
        (("robot",), 1.5, "robot is 1.5; "),
        (("parameters",), [], r"parameters is []; give keys with values."),
        (("result",), 3, "result is 3; give keys with values."),
        (("result", "legs_power_w"), "x", "result.legs_power_w is 'x'; give a number."),
        (("result", "joints"), [], "result.joints is []; give keys with values."),
        (("format",), 7, "has format 7; this version reads 1."),
    ],
)
def test_a_damaged_trial_is_left_out_and_told_and_made_again(
    tmp_path: Path, place: tuple[str, ...], value: object, says: str
) -> None:
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    whole = run_sweep(spec, folder, work=heat)
    path = sorted((folder / TRIALS).glob("*.json"))[3]
    damage(path, place, value)
    (folder / TABLE_FILE).unlink()
    found = read_folder(folder)
    (problem,) = (p for p in found.problems if "left out" in p)
    assert problem.startswith("1 trial's file cannot be read: left out, as if missing.")
    assert str(path) in problem
    assert says in problem
    assert len(found.sweep.frame) == len(whole.frame) - 1
    again: list[str] = []

    def work(trial: SweepTrial) -> TrialOutcome:
        again.append(trial.key)
        return heat(trial)

    mended = run_sweep(spec, folder, work=work)
    assert again == [path.stem]
    assert mended.frame.equals(whole.frame)


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("identity",), 3, "identity is 3; give keys with values."),
        (("identity", "keep"), [], "identity.keep is []; give keys with values."),
        (("identity", "pushes"), 3, "identity.pushes is 3; give a list."),
        (("robots",), "x", "robots is 'x'; give a whole number."),
        (("name",), None, "name is None; give a text."),
        (("versions",), 3, "versions is 3; give keys with values."),
    ],
)
def test_a_damaged_description_of_a_sweep_is_told(
    tmp_path: Path, place: tuple[str, ...], value: object, says: str
) -> None:
    """Shown from its table; not gone on with."""
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    whole = run_sweep(spec, folder, work=heat)
    path = folder / SWEEP_FILE
    damage(path, place, value)
    found = read_folder(folder)
    assert found.problems == (f"{path} is damaged: {says} The table is read.",)
    assert found.sweep.frame.equals(whole.frame)
    with pytest.raises(BadInput, match="or give another folder by --out"):
        run_sweep(spec, folder, work=heat)


def test_a_damaged_parameter_is_told_on_the_page(tmp_path: Path) -> None:
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    run_sweep(spec, folder, work=heat)
    (folder / TABLE_FILE).unlink()
    damage(folder / SWEEP_FILE, ("identity", "slope_deg"), {"uniform": {"low": "x"}})
    rows = [
        row.cells
        for row in parameter_table(read_folder(folder).sweep.meta["identity"]).rows
    ]
    (told,) = (words for name, _, words in rows if name == "slope_deg")
    assert told == "damaged: {'uniform': {'low': 'x'}}"


@pytest.mark.parametrize(
    ("place", "value"),
    [(("parameters", "posture"), 3.0), (("number",), 1), (("key",), "another")],
)
def test_a_file_that_tells_of_another_trial_is_made_again(
    tmp_path: Path, place: tuple[str, ...], value: object
) -> None:
    """Its types are right; a table of both would be wrong, or none."""
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    whole = run_sweep(spec, folder, work=heat)
    path = min((folder / TRIALS).glob("*.json"))
    damage(path, place, value)
    again = []

    def work(trial: SweepTrial) -> TrialOutcome:
        again.append(trial.key)
        return heat(trial)

    assert run_sweep(spec, folder, work=work).frame.equals(whole.frame)
    assert again == [path.stem]


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("settled_s", "x", "its column settled_s holds no numbers"),
        ("controller", None, "it has no column controller"),
    ],
)
def test_a_damaged_table_gives_way_to_the_trials(
    tmp_path: Path, column: str, value: str | None, says: str
) -> None:
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    whole = run_sweep(spec, folder, work=heat)
    table = pq.read_table(folder / TABLE_FILE)
    i = table.column_names.index(column)
    if value is None:
        table = table.remove_column(i)
    else:
        table = table.set_column(i, column, pa.array([value] * table.num_rows))
    pq.write_table(table, folder / TABLE_FILE)
    found = read_folder(folder)
    assert (
        f"{TABLE_FILE} is damaged: {says}. The trials' files are read."
        in (found.problems[0])
    )
    assert found.sweep.frame.equals(whole.frame)


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("q.HeadYaw", "x", "column q.HeadYaw holds no numbers"),
        ("time_s", float("nan"), "column time_s holds what is no time"),
        ("time_s", None, "it has no column time_s"),
        (None, None, "it is a folder"),
    ],
)
def test_a_damaged_part_is_told_by_every_reader(
    copy_of: Copy, column: str | None, values: object, says: str
) -> None:
    folder = copy_of("odd")
    path = folder / "smart" / "part-00000.parquet"
    table = pq.read_table(path)
    if column is None:
        path.unlink()
        path.mkdir()
    else:
        i = table.column_names.index(column)
        table = table.remove_column(i)
        if values is not None:
            table = table.append_column(column, pa.array([values] * table.num_rows))
        pq.write_table(table, path)
    with pytest.raises(BadInput, match=f"{re.escape(str(path))} is damaged: {says}"):
        _ = read_run(folder / "smart").frame
    told = "part-00000.parquet is damaged and was left out."
    assert any(told in warning for warning in read_source(folder).warnings)


def test_a_line_of_events_that_is_too_deep_is_damaged(copy_of: Copy) -> None:
    path = copy_of("odd") / "smart" / "events.jsonl"
    deep = '{"a": ' * 3000 + "1" + "}" * 3000
    path.write_text(f"{deep}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert read_run(path.parent).damaged_events == 1


def test_events_that_are_no_file_are_told(copy_of: Copy) -> None:
    path = copy_of("odd") / "smart" / "events.jsonl"
    path.unlink()
    path.mkdir()
    with pytest.raises(BadInput, match=f"{re.escape(str(path))} cannot be read: "):
        read_run(path.parent)
