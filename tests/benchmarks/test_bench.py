"""The bench with tiny sizes: validity of the measurement, not its speed."""

import dataclasses
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import ENGINES, PARTS
from benchmarks.figures import Figure, figure, ratio
from benchmarks.loop import PinocchioAlone, measure_loop
from benchmarks.run_bench import (
    BenchCfg,
    BenchResult,
    Part,
    bench_table,
    run_bench,
    run_bench_command,
)
from benchmarks.trials import measure_real_time
from nao_testbed.experiments.live.commands import NEEDED
from nao_testbed.models import (
    BadInput,
    Robot,
    TestbedError,
    UnknownName,
    default_robot_folder,
    load_robot,
)

TINY = BenchCfg(
    seconds=0.5,
    settle_s=0.1,
    controller_blocks=2,
    rounds=1,
    trial_seconds=0.1,
    fast_forward_seconds=0.1,
    scenario_seconds=0.5,
    live_seconds=1.0,
    engines_scenario_seconds=0.5,
)
ON_BOTH = {
    f"{engine}_{what}_over_bare" for engine in ENGINES for what in ("loop", "scenario")
} | {"bullet_over_mujoco_bare", "bullet_over_mujoco_loop"}
RATIOS = ON_BOTH | {
    "loop_over_bare",
    "smart_over_alone",
    "smart_full_over_alone",
    "minheat_over_alone",
    "servo_over_pybullet",
    "two_over_one",
    "full_over_fast_forward",
    "scenario_over_bare",
    "live_watched",
    "live_idle",
}
OTHERS = {
    f"{one}_{part}_us" for one in ENGINES for part in ("loop", "bare", *PARTS)
} | {
    "loop_us",
    "bare_us",
    "alone_us",
    "smart_us",
    "smart_p99_us",
    "smart_in_loop_us",
    "smart_share",
    "smart_full_us",
    "smart_full_p99_us",
    "smart_full_share",
    "minheat_us",
    "minheat_p99_us",
    "minheat_share",
    "torque_servo_us",
    "pybullet_servo_us",
    "one_trial_real_time",
    "two_trials_real_time",
    "full_s",
    "fast_forward_s",
    "fast_forward_difference_k",
    "scenario_real_time",
    "live_slot_ms",
}
NOTHING = {"fast_forward_difference_k"}
"""Figures that may be 0: no time for a jump."""


@pytest.fixture(scope="module")
def result() -> BenchResult:
    pytest.importorskip("mujoco", reason="the extra mujoco is not installed")
    stages: list[str] = []
    parts = Part.HEAT, Part.SCENARIO, Part.LIVE, Part.ENGINES
    found = [
        run_bench(dataclasses.replace(TINY, only=part), stages.append) for part in parts
    ]
    assert len(stages) == 8
    figures = tuple(one for part in found for one in part.figures)
    return dataclasses.replace(found[0], figures=figures)


@pytest.fixture(scope="module")
def nao() -> Robot:
    return load_robot(default_robot_folder())


def by_name(result: BenchResult) -> dict[str, Figure]:
    return {one.name: one for one in result.figures}


@pytest.mark.slow
@pytest.mark.requirement("ST-21")
def test_every_figure_is_unique_finite_and_positive(result: BenchResult) -> None:
    """Blocks alternate; ratios have no unit; the share of a cycle is % of 20 ms."""
    figures = by_name(result)
    assert len(result.figures) == len(figures) == bench_table(result).row_count
    assert figures.keys() == RATIOS | OTHERS
    for one in result.figures:
        assert math.isfinite(one.value), one
        assert one.low <= one.value <= one.high, one
        assert one.value > 0.0 or one.name in NOTHING, one
    assert {name for name in RATIOS if figures[name].unit != "1"} == set()
    targets = {n: f.target for n, f in figures.items() if f.target is not None}
    assert targets == {
        "loop_over_bare": 1.25,
        "smart_us": 150.0,
        "minheat_p99_us": 2000.0,
        "scenario_real_time": 8.0,
        "live_watched": 1.15,
        "live_idle": 1.02,
        "pybullet_loop_over_bare": 1.25,
        "mujoco_loop_over_bare": 1.25,
        "pybullet_scenario_over_bare": 1.4,
        "mujoco_scenario_over_bare": 1.4,
        "bullet_over_mujoco_bare": 2.0,
    }
    lowest = {n for n, f in figures.items() if f.is_at_least and f.target}
    assert lowest == {"scenario_real_time", "bullet_over_mujoco_bare"}
    blocks = ("loop_over_bare", "bare_us", "smart_us", "alone_us")
    assert {figures[name].blocks for name in blocks} == {2}
    for name in ("smart", "smart_full", "minheat"):
        share = 100.0 * figures[f"{name}_us"].value * 1e-6 / 0.02
        assert figures[f"{name}_share"].value == pytest.approx(share, rel=1e-12)


@pytest.mark.slow
def test_the_json_holds_each_figure_by_its_name(result: BenchResult) -> None:
    data = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert data.keys() == {"experiment", "seconds", "machine", "figures"}
    assert data["experiment"] == "bench"
    assert data["figures"].keys() == RATIOS | OTHERS
    keys = {"what", "unit", "value", "low", "high", "blocks", "target", "is_at_least"}
    assert all(row.keys() == keys for row in data["figures"].values())
    assert data["machine"]["cores"] >= 1


def test_a_slow_period_affects_both_sides_of_a_ratio() -> None:
    calm, slow = [3.0, 30.0, 3.0, 3.0], [2.0, 20.0, 2.0, 2.0]
    assert ratio("r", "", calm, slow).value == pytest.approx(1.5, rel=1e-12)
    assert ratio("r", "", calm, slow).high == pytest.approx(1.5, rel=1e-12)


def test_a_figure_is_the_median_with_its_quartiles() -> None:
    one = figure("f", "", "µs", [4.0, 1.0, 2.0, 3.0, 100.0])
    assert (one.low, one.value, one.high, one.blocks) == (2.0, 3.0, 4.0, 5)


def test_a_diverging_bare_engine_is_not_compared(
    nao: Robot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bare engine must repeat the loop's block bit for bit."""
    from nao_testbed.sim.engine.bullet_engine import BulletEngine

    apply_torques = BulletEngine.apply_torques

    def disturbed(engine: BulletEngine, torques: list[list[float]]) -> float:
        for torque in torques:
            apply_torques(engine, [(1.0 - 1e-6) * t for t in torque])
            engine.step()
        return 1.0

    monkeypatch.setattr("benchmarks.loop._step_bare", disturbed)
    with pytest.raises(TestbedError, match="did not reach the joint angles"):
        measure_loop(nao, tmp_path, seconds=0.1, settle_s=0.1)


def test_the_reference_carries_the_weight(nao: Robot) -> None:
    """The nnls of Pinocchio alone uses the real robot."""
    alone = PinocchioAlone(nao, nao.posture("PoseInit").angles)

    @dataclasses.dataclass
    class Seen:
        q: np.ndarray

    forces = alone.step(Seen(q=nao.posture("PoseInit").angles))  # type: ignore[arg-type]
    assert forces.sum() == pytest.approx(nao.total_mass * 9.81, rel=1e-3)
    assert (forces >= 0.0).all()


def test_a_fallen_trial_is_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fallen(trials: list[object], _progress: object) -> list[object]:
        class Result:
            failure, controller = "fell at 1.00 s", "smart"

        return [Result() for _ in trials]

    monkeypatch.setattr("benchmarks.trials.run_side_by_side", fallen)
    with pytest.raises(TestbedError, match="smart: fell at"):
        measure_real_time(default_robot_folder(), tmp_path, seconds=1.0, rounds=1)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf, 0.05, 601.0])
def test_an_invalid_duration_is_rejected(seconds: float) -> None:
    with pytest.raises(BadInput, match=r"give a number from 0\.1 to 600"):
        BenchCfg(seconds=seconds)


@pytest.mark.slow
def test_the_command_prints_a_plain_table_and_writes_json(
    result: BenchResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Output is a pipe; with JSON on stdout the table goes to stderr."""
    monkeypatch.setattr("benchmarks.run_bench.run_bench", lambda *_: result)
    path = tmp_path / "bench.json"
    assert run_bench_command(5.0, str(path)) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 100
    assert err == ""
    rows = {line.strip().split("  ")[0]: line for line in out.splitlines()}
    assert "≥ 8" in rows["ten behaviours, real-time factor"]
    assert "≤ 1.25" in rows["full loop / bare engine"]
    assert run_bench_command(5.0, "-") == 0
    text, err = capsys.readouterr()
    assert "full loop" in err
    told = json.loads(json.dumps(result.as_json()))
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8")) == told


def test_an_unwritable_file_is_reported_before_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured_anyway(*_: object) -> None:
        raise AssertionError("measured before the file was tried")

    monkeypatch.setattr("benchmarks.run_bench.measure_loop", measured_anyway)
    with pytest.raises(BadInput, match="cannot be written"):
        run_bench_command(5.0, str(tmp_path / "missing" / "bench.json"))


@pytest.mark.parametrize("missing", ["pybullet", "mujoco"])
def test_without_one_engine_the_others_are_measured(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "benchmarks.run_bench.find_spec",
        lambda name: name != missing or None,
    )
    parts = "_measure_heat", "measure_live", "measure_scenario", "measure_commands"
    for part in (*parts, "measure_reservations", "measure_transmitter"):
        monkeypatch.setattr(f"benchmarks.run_bench.{part}", lambda *_, **__: [])
    stages: list[str] = []
    found = run_bench(TINY, stages.append)
    assert "engines" not in stages
    assert missing not in found.machine.engine


@pytest.mark.slow
def test_it_runs_without_the_live_extra() -> None:
    """An installation without the extra `live` has the command."""
    absent = ", ".join(f"{name}=None" for name in NEEDED)
    code = f"import sys; sys.modules.update({absent}); import {run_bench.__module__}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_part_is_refused_by_name() -> None:
    asked = r"'scenarios' is not in .*\. Did you mean 'scenario'\?"
    with pytest.raises(UnknownName, match=asked):
        run_bench_command(5.0, None, "scenarios")


def test_a_part_is_measured_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    one = figure("scenario", "", "1", [1.0])
    monkeypatch.setattr(
        "benchmarks.run_bench.measure_scenario",
        lambda *_, **__: [one],
    )
    stages: list[str] = []
    found = run_bench(dataclasses.replace(TINY, only=Part.SCENARIO), stages.append)
    assert stages == [Part.SCENARIO]
    assert found.figures == (one,)
    assert found.seconds == TINY.seconds
