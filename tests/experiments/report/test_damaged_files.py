"""Damaged files are reported with file and key, without a traceback.

The expected messages are in `test_damaged_files/`; `pytest --regen-all` rewrites them.
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest_regressions.data_regression import DataRegressionFixture

from nao_testbed.experiments.report.run_source import read_source
from nao_testbed.experiments.report.write import section_of
from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.summary.section import parameter_table
from nao_testbed.experiments.sweep.sweep_table import TABLE_FILE, read_folder
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.experiments.sweep.trial_store import SWEEP_FILE, TRIALS
from nao_testbed.models import BadInput
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.sweep.files import spec_of
from tests.experiments.sweep.outcomes import NEVER, NUMBERS, PAIRS, heat

Copy = Callable[[str], Path]


@pytest.fixture(autouse=True)
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "nao_testbed.experiments.report.write.heat_figures", lambda *_: []
    )


def damage(path: Path, place: str, value: object) -> None:
    """Set a value in a JSON file at a place given by keys with dots between."""
    data: Any = json.loads(path.read_text(encoding="utf-8"))
    inside = data
    *outer, last = place.split(".")
    for key in outer:
        inside = inside[key]
    inside[last] = value
    path.write_text(json.dumps(data), encoding="utf-8")


META: list[tuple[str, object]] = [
    ("seed", "x"),
    ("rows", []),
    ("command", 3),
    ("command", [3]),
    ("state", None),
    ("versions", []),
    ("columns.time_s", 1),
    ("config", "x"),
    ("robot_data", 3),
    ("robot_data.absent", 3),
    ("robot_data.effort_limits_nm.HeadYaw", "x"),
]
CONFIG: list[tuple[str, object]] = [
    ("controller", []),
    ("simulation", 3),
    ("simulation.world", "x"),
    ("simulation.misalignment_deg.LHipRoll", None),
    ("pushes", {}),
    ("pushes", [3]),
]
RESULT: list[tuple[str, object]] = [
    ("minutes", "x"),
    ("trials.smart.sim_s", []),
    ("trials.smart.joints.HeadYaw.end_degc", "hot"),
    ("settings.start_degc", 3),
]
SCENARIO: list[dict[str, object]] = [
    {"verdicts": 3},
    {"verdicts": [{"holds": 1}]},
    {"max_degc": {"HeadYaw": "x"}},
    {"mishaps": [{"time_s": None, "what": "x"}]},
    {"sim_s": {}},
    {"never_acted": 3.0},
]
HOT: dict[str, object] = dict.fromkeys((*NUMBERS, *NEVER, "steady_degc"), 1.0)
TRIAL: list[tuple[str, object]] = [
    ("number", "x"),
    ("robot", 1.5),
    ("parameters", []),
    ("result", 3),
    ("result.legs_power_w", "x"),
    ("result.legs_power_w", 10**400),
    ("result.joints", []),
    ("result.joints", {"HeadYaw": HOT | {"time_to_80_degc_s": "x"}}),
    ("parameters.control_period", "x"),
    ("format", 7),
]
SWEEP: list[tuple[str, object]] = [
    ("identity", 3),
    ("identity.keep", []),
    ("identity.pushes", 3),
    ("robots", "x"),
    ("name", None),
    ("versions", 3),
]
"""Places in a file, and the values written there."""


def told(messages: Iterable[str], folder: Path) -> str:
    """Return messages without the folder of this test."""
    return "\n".join(messages).replace(f"{folder}/", "")


def test_damaged_description_is_reported(
    copy_of: Copy, data_regression: DataRegressionFixture
) -> None:
    said = {}
    for i, (place, value) in enumerate(META):
        folder = copy_of(f"odd{i}") / "smart"
        damage(folder / "meta.json", place, value)
        with pytest.raises(BadInput) as refused:
            read_run(folder)
        said[f"{place}: {value!r}"] = told([str(refused.value)], folder)
    data_regression.check(said)


def test_damaged_configuration_is_reported(
    copy_of: Copy, data_regression: DataRegressionFixture
) -> None:
    """The page omits the robot; reading the robot alone is refused."""
    said = {}
    for i, (place, value) in enumerate(CONFIG):
        folder = copy_of(f"odd{i}")
        damage(folder / "smart" / "meta.json", f"config.{place}", value)
        source = read_source(folder)
        (said[f"{place}: {value!r}"],) = (
            told([warning], folder) for warning in source.warnings if "left" in warning
        )
        assert section_of(source, "run1", with_replay=False).results
        with pytest.raises(BadInput) as refused:
            read_source(folder / "smart")
        assert f"smart is left out: {refused.value}" in source.warnings
    data_regression.check(said)


def test_damaged_result_is_reported_and_rows_are_used(
    copy_of: Copy, data_regression: DataRegressionFixture
) -> None:
    said = {}
    for i, (place, value) in enumerate(RESULT):
        folder = copy_of(f"odd{i}")
        damage(folder / "heat.json", place, value)
        source = read_source(folder)
        said[f"{place}: {value!r}"] = told(source.warnings, folder)
        assert section_of(source, "run1", with_replay=False).results, (
            "no results from the rows"
        )
    data_regression.check(said)


def test_damaged_result_of_a_scenario_is_reported(
    copy_of: Copy, data_regression: DataRegressionFixture
) -> None:
    said = {}
    for i, scenario in enumerate(SCENARIO):
        folder = copy_of(f"odd{i}") / "smart"
        damage(folder / "meta.json", "experiment", "scenario")
        (folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
        source = read_source(folder)
        assert source.page is not None
        assert not source.page.results
        said[str(scenario)] = told(source.warnings, folder)
        section_of(source, "run1", with_replay=False)
    data_regression.check(said)


def test_failures_of_an_earlier_version_are_shown(copy_of: Copy) -> None:
    """Earlier versions used the key `mishaps`."""
    folder = copy_of("old") / "smart"
    damage(folder / "meta.json", "experiment", "scenario")
    data = {"mishaps": [{"time_s": 1.5, "what": "nod failed"}]}
    (folder / "scenario.json").write_text(json.dumps(data), encoding="utf-8")
    page = read_source(folder).page
    assert page is not None
    assert page.happened == ((1.5, "nod failed"),)


# -- sweeps --------------------------------------------------------------------------


def test_damaged_trial_is_reported_omitted_and_repeated(
    tmp_path: Path, data_regression: DataRegressionFixture
) -> None:
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    whole = run_sweep(spec, folder, work=heat)
    path = sorted((folder / TRIALS).glob("*.json"))[3]
    said = {}
    for place, value in TRIAL:
        damage(path, place, value)
        (folder / TABLE_FILE).unlink()
        found = read_folder(folder)
        (problem,) = (p for p in found.problems if "counted as missing" in p)
        said[f"{place}: {value!r}"] = told([problem], folder).replace(
            path.name, "KEY.json"
        )
        assert len(found.sweep.frame) == len(whole.frame) - 1
        again: list[str] = []

        def work(trial: SweepTrial, again: list[str] = again) -> TrialOutcome:
            again.append(trial.key)
            return heat(trial)

        mended = run_sweep(spec, folder, work=work)
        assert again == [path.stem]
        assert mended.frame.equals(whole.frame)
    data_regression.check(said)


def test_damaged_description_of_a_sweep_is_reported(
    tmp_path: Path, data_regression: DataRegressionFixture
) -> None:
    """The page uses the table; the sweep cannot be resumed."""
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    whole = run_sweep(spec, folder, work=heat)
    path = folder / SWEEP_FILE
    before, said = path.read_bytes(), {}
    for place, value in SWEEP:
        path.write_bytes(before)
        damage(path, place, value)
        found = read_folder(folder)
        said[f"{place}: {value!r}"] = told(found.problems, folder)
        assert found.sweep.frame.equals(whole.frame)
        with pytest.raises(BadInput, match="or give another folder with --out"):
            run_sweep(spec, folder, work=heat)
    data_regression.check(said)


def test_damaged_parameter_is_marked_on_the_page(tmp_path: Path) -> None:
    folder, spec = tmp_path / "out", spec_of(tmp_path, PAIRS)
    run_sweep(spec, folder, work=heat)
    (folder / TABLE_FILE).unlink()
    damage(folder / SWEEP_FILE, "identity.slope_deg", {"uniform": {"low": "x"}})
    rows = [
        row.cells
        for row in parameter_table(read_folder(folder).sweep.meta["identity"]).rows
    ]
    (words,) = (words for name, _, words in rows if name == "slope_deg")
    assert words == "damaged: {'uniform': {'low': 'x'}}"


@pytest.mark.parametrize(
    ("place", "value"),
    [("parameters.posture", 3.0), ("number", 1), ("key", "another")],
)
def test_trial_file_with_another_trials_values_is_repeated(
    tmp_path: Path, place: str, value: object
) -> None:
    """Its types are valid, but its values do not belong to the trial."""
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
        ("settled_s", "x", "its column settled_s has no numbers"),
        ("controller", None, "it has no column controller"),
        ("controller", ["x"], "its column controller holds lists"),
        ("caught_s", "x", "its column caught_s has no numbers"),
        ("fell", 1.5, "Expected array of boolean type, got double instead"),
    ],
)
def test_damaged_table_is_replaced_by_the_trials(
    tmp_path: Path, column: str, value: object, says: str
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
        f"{TABLE_FILE} is damaged: {says}. The trial files are used."
        in (found.problems[0])
    )
    assert found.sweep.frame.equals(whole.frame)


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("q.HeadYaw", "x", "column q.HeadYaw has no numbers"),
        ("q.HeadYaw", float("nan"), "column q.HeadYaw has invalid angles"),
        ("q.HeadYaw", 1e300, "column q.HeadYaw has invalid angles"),
        ("time_s", float("nan"), "column time_s has invalid times"),
        ("time_s", None, "it has no column time_s"),
        (None, None, "it is a folder"),
    ],
)
def test_damaged_part_is_reported_by_every_reader(
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
    left_out = "part-00000.parquet is damaged and was left out."
    assert any(left_out in warning for warning in read_source(folder).warnings)


def test_part_with_invalid_column_names_is_reported(copy_of: Copy) -> None:
    path = copy_of("odd") / "smart" / "part-00000.parquet"
    path.write_bytes(path.read_bytes().replace(b"q.HeadYaw", b"\xff.HeadYaw"))
    with pytest.raises(BadInput, match=f"{re.escape(str(path))} cannot be read: "):
        _ = read_run(path.parent).frame


def test_too_deeply_nested_event_line_is_damaged(copy_of: Copy) -> None:
    path = copy_of("odd") / "smart" / "events.jsonl"
    deep = '{"a": ' * 3000 + "1" + "}" * 3000
    path.write_text(f"{deep}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert read_run(path.parent).damaged_events == 1


@pytest.mark.parametrize("time_s", ["NaN", "1e400", "9" * 400, '"x"'])
def test_event_with_invalid_time_is_damaged(copy_of: Copy, time_s: str) -> None:
    path = copy_of("odd") / "smart" / "events.jsonl"
    line = f'{{"kind": "odd", "time_s": {time_s}, "data": {{}}}}'
    path.write_text(f"{line}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert read_run(path.parent).damaged_events == 1


def test_events_that_are_not_a_file_are_reported(copy_of: Copy) -> None:
    path = copy_of("odd") / "smart" / "events.jsonl"
    path.unlink()
    path.mkdir()
    with pytest.raises(BadInput, match=f"{re.escape(str(path))} cannot be read: "):
        read_run(path.parent)
