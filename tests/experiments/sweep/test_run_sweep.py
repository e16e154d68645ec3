"""A sweep runs, stops, resumes and becomes a table of complete, unique trials."""

import dataclasses
import errno
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.experiments.closed_loop.trial import run_trial
from nao_testbed.experiments.closed_loop.trial_result import Pressing
from nao_testbed.experiments.sweep.run_sweep import (
    MAX_FIRST_FAILURES,
    AllTrialsFailed,
    Tally,
    run_sweep,
    run_sweep_trial,
)
from nao_testbed.experiments.sweep.spec import SweepSpec
from nao_testbed.experiments.sweep.sweep_table import (
    METADATA_KEY,
    TABLE_FILE,
    Sweep,
    read_sweep,
)
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.experiments.sweep.trial_store import (
    SWEEP_FILE,
    TrialStore,
    read_record,
)
from nao_testbed.models import BadInput
from nao_testbed.models.files import WriteError
from nao_testbed.sim.engine.world import default_engine
from tests.experiments.sweep.files import SHORT, spec_of
from tests.experiments.sweep.outcomes import outcome, result

FALLS = "misalignment_deg: {left_ankle: [0, 60]}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweep")


@pytest.fixture(scope="module")
def spec(folder: Path) -> SweepSpec:
    return spec_of(folder, SHORT)


class Fake:
    """Fake work that counts trials, and fails or stops at one of them."""

    def __init__(self, fails: int | None = None, stops: int | None = None) -> None:
        self.ran: list[int] = []
        self._fails = fails
        self._stops = stops

    def __call__(self, trial: SweepTrial) -> TrialOutcome:
        self.ran.append(trial.number)
        if trial.number == self._stops:
            raise KeyboardInterrupt
        if trial.number == self._fails:
            return TrialOutcome.lost("it was told to fail")
        return outcome(trial, sim_s=1.0, wall_s=0.1)


# -- real trials --------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(folder: Path) -> Sweep:
    """Two upright robots and two with an ankle that lets them fall."""
    text = SHORT.replace("misalignment_deg: {left_ankle: [0, 1, 2]}", FALLS)
    spec = spec_of(folder, text.replace("minutes: 0.02", "minutes: 0.05"))
    return run_sweep(spec, folder / "real")


def test_a_row_holds_parameters_and_outcomes(real: Sweep) -> None:
    frame = real.frame
    assert list(frame["controller"]) == ["fixed", "constant:0.9"] * 2
    assert list(frame["misalignment_deg.left_ankle"]) == [0.0, 0.0, 60.0, 60.0]
    stands = frame[frame["misalignment_deg.left_ankle"] == 0.0]
    assert (stands["sim_s"] == 3.0).all()
    assert (stands["legs_joule_loss_j"] > 0.0).all()
    assert stands["failure"].isna().all()


def test_a_trial_equals_run_trial(real: Sweep, folder: Path) -> None:
    spec = spec_of(folder, real.spec)
    alone = run_trial(next(spec.trials()).trial_cfg())
    row = real.frame.iloc[0]
    for name, joint in alone.joints.items():
        assert row[f"end_degc.{name}"] == joint.end_degc
        assert row[f"joule_loss_j.{name}"] == joint.joule_loss_j
    assert row["legs_power_w"] == alone.legs_power_w


def test_a_fall_is_a_result(real: Sweep) -> None:
    frame = real.frame
    fell = frame[frame["misalignment_deg.left_ankle"] == 60.0]
    assert fell["fell"].all()
    assert fell["failure"].str.startswith("fell at ").all()
    assert frame["error"].isna().all()


def test_the_table_holds_spec_and_versions(real: Sweep, folder: Path) -> None:
    libraries = {"pybullet": {"pybullet", "pybullet-arm64"}, "mujoco": {"mujoco-core"}}
    assert real.spec.startswith("name: short\nrobot: ")
    assert real.meta["seed"] == 0
    assert real.meta["grid"] == ["misalignment_deg.left_ankle", "controller"]
    assert libraries[default_engine()] & set(real.meta["versions"])
    raw = pq.read_schema(folder / "real" / TABLE_FILE).metadata[METADATA_KEY]
    assert json.loads(raw)["commit"] == real.meta["commit"]


def test_a_trial_that_raises_is_a_failed_one(spec: SweepSpec) -> None:
    trial = next(spec.trials())
    known = dict(trial.parameters)
    odd = dataclasses.replace(trial, parameters=known | {"posture": "Head"})
    error = run_sweep_trial(odd).error
    assert error is not None
    assert "Posture 'Head'" in error
    error = run_sweep_trial(dataclasses.replace(trial, robot_digest="0")).error
    assert error is not None
    assert "of this worker differs" in error


# -- resuming -----------------------------------------------------------------------


def test_existing_trials_are_not_run_again(spec: SweepSpec, tmp_path: Path) -> None:
    first, second = Fake(), Fake()
    tallies: list[Tally] = []
    run_sweep(spec, tmp_path / "out", work=first)
    sweep = run_sweep(spec, tmp_path / "out", on_tally=tallies.append, work=second)
    assert first.ran == list(range(6))
    assert second.ran == []
    assert len(sweep.frame) == 6
    assert (tallies[-1].done, tallies[-1].skipped) == (6, 6)


def test_a_stopped_sweep_has_a_table_and_resumes(
    spec: SweepSpec, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_sweep(spec, tmp_path / "out", work=Fake(stops=4))
    assert len(read_sweep(tmp_path / "out").frame) == 4
    rest = Fake()
    frame = run_sweep(spec, tmp_path / "out", work=rest).frame
    assert rest.ran == [4, 5]
    assert frame["trial"].is_unique
    assert len(frame) == 6


def test_a_sweep_resumes_after_full_disk(
    spec: SweepSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = [1, 1, 1, 1]  # for the description and three trials

    def sync(_: int) -> None:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room.pop()

    with monkeypatch.context() as patch:
        patch.setattr("nao_testbed.experiments.sweep.trial_store.os.fsync", sync)
        with pytest.raises(WriteError, match="No space left on device"):
            run_sweep(spec, tmp_path / "out", work=Fake())
    assert len(read_sweep(tmp_path / "out").frame) == 3
    rest = Fake()
    frame = run_sweep(spec, tmp_path / "out", work=rest).frame
    assert rest.ran == [3, 4, 5]
    assert frame.equals(run_sweep(spec, tmp_path / "whole", work=Fake()).frame)


def test_a_failed_trial_is_reported_and_repeated(
    spec: SweepSpec, tmp_path: Path
) -> None:
    frame = run_sweep(spec, tmp_path / "out", work=Fake(fails=2)).frame
    assert list(frame["error"].dropna()) == ["it was told to fail"]
    again = Fake()
    frame = run_sweep(spec, tmp_path / "out", work=again).frame
    assert again.ran == [2]
    assert frame["error"].isna().all()


def test_a_sweep_ends_early_if_all_trials_fail(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, SHORT + "robots: 100\n")
    ran: list[int] = []

    def broken(trial: SweepTrial) -> TrialOutcome:
        ran.append(trial.number)
        return TrialOutcome.lost("the plug was out.")

    with pytest.raises(AllTrialsFailed, match="all failed; the last error: the plug"):
        run_sweep(spec, tmp_path / "out", work=broken)
    assert len(ran) == MAX_FIRST_FAILURES < spec.n_trials
    assert (read_sweep(tmp_path / "out").frame["error"] == "the plug was out.").all()


@pytest.mark.parametrize("rest", ["", "{", '{"format": 0}', "[1]"])
def test_a_torn_file_is_run_again(spec: SweepSpec, tmp_path: Path, rest: str) -> None:
    run_sweep(spec, tmp_path / "out", work=Fake())
    torn = list(spec.trials())[3]
    (tmp_path / "out" / "trials" / f"{torn.key}.json").write_text(rest, "utf-8")
    (tmp_path / "out" / "trials" / "other.json.tmp").write_text("{", "utf-8")
    again = Fake()
    frame = run_sweep(spec, tmp_path / "out", work=again).frame
    assert again.ran == [3]
    assert len(frame) == 6


def test_a_duplicate_trial_is_stored_once(spec: SweepSpec, tmp_path: Path) -> None:
    class Twice:
        workers = 1

        def run(
            self, trials: Iterator[SweepTrial], work: object, on_result: object
        ) -> None:
            assert callable(on_result)
            for trial in trials:
                for sim_s in (1.0, 2.0):
                    on_result(trial, outcome(trial, sim_s=sim_s))

    tallies: list[Tally] = []
    engine: object = Twice()
    sweep = run_sweep(spec, tmp_path / "out", engine, tallies.append)  # type: ignore[arg-type]  # `run` is all that counts
    assert list(sweep.frame["sim_s"]) == [1.0] * 6
    assert tallies[-1].done == 6


def test_a_result_survives_writing_and_reading(spec: SweepSpec, tmp_path: Path) -> None:
    """An infinite number is null there, as in the JSON of `heat`."""
    found: dict[str, Any] = {
        "joints": {"LKneePitch": {"steady_degc": math.inf}},
        "flags": {"CATCHING": 3},
        "pressing": {"l_wrist on table": Pressing(first_s=1, largest_n=2, last_n=0)},
        "failure": "fell at 2 s",
    }
    run_sweep(spec, tmp_path / "out", work=lambda trial: outcome(trial, **found))
    path = min((tmp_path / "out" / "trials").glob("*.json"))
    record = read_record(path)
    assert '"steady_degc": null' in path.read_text("utf-8")
    assert record.result == result(
        controller=str(record.parameters["controller"]), **found
    )


# -- another sweep in the folder ------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("minutes: 0.02", "minutes: 0.03", "minutes was 0.02 and is 0.03"),
        ("name: short", "name: short\nseed: 3", "seed was 0 and is 3"),
        ("[0, 1, 2]", "[0, 1]", "was [0.0, 1.0, 2.0] and is [0.0, 1.0]"),
        ("[0, 1, 2]", "{uniform: [0, 1]}", "is {'uniform': [0.0, 1.0]}"),
    ],
)
def test_another_sweep_is_rejected_with_the_difference(
    spec: SweepSpec, tmp_path: Path, before: str, after: str, words: str
) -> None:
    run_sweep(spec, tmp_path / "out", work=Fake())
    other = spec_of(tmp_path, SHORT.replace(before, after))
    with pytest.raises(BadInput, match="holds another sweep") as refused:
        run_sweep(other, tmp_path / "out", work=Fake())
    assert words in str(refused.value)


def test_robots_may_be_added(tmp_path: Path) -> None:
    text = SHORT.replace("[0, 1, 2]", "{uniform: [0, 1]}")
    few = spec_of(tmp_path, f"{text}robots: 2\n")
    run_sweep(few, tmp_path / "out", work=Fake())
    more = Fake()
    run_sweep(spec_of(tmp_path, f"{text}robots: 3\n"), tmp_path / "out", work=more)
    assert more.ran == [4, 5]
    with pytest.raises(BadInput, match="robots was 3 and is 2"):
        run_sweep(few, tmp_path / "out", work=Fake())


def test_two_concurrent_sweeps_are_rejected(spec: SweepSpec, tmp_path: Path) -> None:
    with (
        TrialStore(tmp_path / "out", spec),
        pytest.raises(BadInput, match="another sweep is running"),
        TrialStore(tmp_path / "out", spec),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("notes.txt", "mine", "has files, but no sweep"),
        (SWEEP_FILE, "{", "cannot be read"),
        (SWEEP_FILE, '{"identity": {}, "format": 0}', "has format 0"),
    ],
)
def test_a_foreign_folder_is_not_changed(
    spec: SweepSpec, tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text(text, "utf-8")
    with pytest.raises(BadInput, match=words):
        run_sweep(spec, tmp_path / "out", work=Fake())
    assert [path.name for path in (tmp_path / "out").iterdir()] == [name]


# -- reading ------------------------------------------------------------------------


def test_another_table_is_rejected(real: Sweep, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no table"):
        read_sweep(tmp_path)
    (tmp_path / TABLE_FILE).write_bytes(b"PAR1")
    with pytest.raises(BadInput, match="cannot be read"):
        read_sweep(tmp_path)
    real.frame.to_parquet(tmp_path / "plain.parquet")
    with pytest.raises(BadInput, match="is not the table of a sweep"):
        read_sweep(tmp_path / "plain.parquet")


# -- keys ---------------------------------------------------------------------------


def test_keys_are_unique(tmp_path: Path) -> None:
    text = SHORT.replace("[0, 1, 2]", "{choice: [0, 1]}")
    trials = list(spec_of(tmp_path, f"{text}robots: 40\n").trials())
    assert len({trial.key for trial in trials}) == len(trials) == 80
    assert [trial.number for trial in trials] == list(range(80))


@given(
    column=st.sampled_from(["friction", "minutes", "misalignment_deg.left_ankle"]),
    factor=st.floats(1.0 + 1e-12, 2.0),
)
def test_a_key_depends_on_every_digit(
    spec: SweepSpec, column: str, factor: float
) -> None:
    trial = list(spec.trials())[2]
    values = dict(trial.parameters)
    values[column] = factor * float(values[column])
    changed = dataclasses.replace(trial, parameters=values, number=99)
    assert changed.key != trial.key


def test_a_billion_robots_take_no_memory(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, f"{SHORT}robots: 1000000000\n")
    assert spec.n_trials == 6 * 10**9
    assert next(spec.trials()).number == 0
    assert next(spec.trials([999_999_999])).number == 6 * 10**9 - 6
