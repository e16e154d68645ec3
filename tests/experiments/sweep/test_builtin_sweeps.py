"""Built-in sweeps match their descriptions."""

import numpy as np
import pytest

from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.sweep.spec import SweepSpec
from nao_testbed.experiments.sweep.spec_file.read_spec import SWEEPS, read_spec

LEG_JOINTS = 12


def shipped(name: str) -> SweepSpec:
    return read_spec(SWEEPS.find(name))


def drawn(spec: SweepSpec, column: str) -> np.ndarray:
    """Return each robot's drawn values, one per leg joint."""
    robots = [spec.drawn_for(robot) for robot in range(spec.robots)]
    return np.array(
        [
            [v for name, v in robot.items() if name.startswith(column)]
            for robot in robots
        ],
        dtype=float,
    )


@pytest.mark.parametrize("name", ["fifty_robots", "fifty_robots_pushed"])
def test_fifty_robots_are_off_by_up_to_two_degrees(name: str) -> None:
    spec = shipped(name)
    errors = drawn(spec, "misalignment_deg.")
    assert errors.shape == (50, LEG_JOINTS)
    assert 1.9 < np.abs(errors).max() <= 2.0
    assert 1.8 < np.abs(drawn(spec, "slope_deg")).max() <= 2.0
    assert spec.controllers[:4] == ("fixed", "smart", "nudge", "minheat")


def test_the_pushed_robots_are_the_same_robots() -> None:
    calm, pushed = shipped("fifty_robots"), shipped("fifty_robots_pushed")
    assert [calm.drawn_for(robot) for robot in range(50)] == [
        pushed.drawn_for(robot) for robot in range(50)
    ]
    assert calm.controllers == (*pushed.controllers, "minheat-no-gear")
    assert all(np.linalg.norm(push.force_n) == 5.0 for push in pushed.pushes)
    assert all(push.duration_s == 0.2 for push in pushed.pushes)
    assert pushed.fast_forward is None


def test_the_pushes_come_in_cases_on_both_engines() -> None:
    calm, pushes = shipped("fifty_robots"), shipped("push_survival")
    assert pushes.drawn_for(11) == calm.drawn_for(11)
    assert pushes.controllers == ("fixed", "smart", "minheat")
    assert pushes.points == 2 * len(pushes.cases) * 3 * 2
    of_case: dict[str, list[TrialCfg]] = {}
    for trial in pushes.trials([7]):
        of_case.setdefault(str(trial.parameters["case"]), []).append(trial.trial_cfg())
    for cfgs in of_case.values():
        assert {cfg.simulation.world.engine for cfg in cfgs} == {"pybullet", "mujoco"}
        assert len({cfg.pushes[0].force_n for cfg in cfgs}) == 2, "directions"
    firsts = [cfgs[0] for cfgs in of_case.values()]
    assert {cfg.pushes[0].duration_s for cfg in firsts} == {0.2, 1.0, 3.0, 10.0}
    assert {cfg.pushes[0].link for cfg in firsts} == {"torso", "Head", "l_wrist"}
    gaps = [c.pushes[1].at_s - c.pushes[0].end_s for c in firsts if len(c.pushes) == 2]
    assert np.allclose(gaps, [0.5, 3.0])
    slopes = {cfg.simulation.world.slope_deg for cfg in firsts}
    assert {-4.0, 4.0} < slopes
    assert (
        max(sum(p.mass_kg for p in c.simulation.world.payloads) for c in firsts) == 1.0
    )
    assert {cfg.simulation.world.friction for cfg in firsts} == {0.2, 0.7}


def test_the_same_robots_stand_on_both_engines() -> None:
    calm, both = shipped("fifty_robots"), shipped("two_engines")
    assert both.drawn_for(49) == calm.drawn_for(49)
    cfgs = [t.trial_cfg() for t in both.trials([49])]
    seen = {(cfg.simulation.world.engine, cfg.controller) for cfg in cfgs}
    assert len(seen) == len(cfgs) == 2 * 4


def test_the_published_band_selects_by_the_column_without() -> None:
    spec = shipped("published_band")
    assert spec.robots == 200
    assert spec.keep is not None
    assert spec.keep.controller == "fixed"
    assert {name: t.value for name, t in spec.keep.targets.items()} == {
        "left_leg_rise_k": 109.0,
        "right_leg_rise_k": 50.0,
        "hottest_degc": 80.0,
    }
    starts = drawn(spec, "start_degc.")
    assert 25.0 <= starts.min() < 26.0
    assert 44.0 < starts.max() <= 45.0
    limits = {v for k, v in next(spec.trials()).parameters.items() if "limit" in k}
    assert limits == {3.2}
