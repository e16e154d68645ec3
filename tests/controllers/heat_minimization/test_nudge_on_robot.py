"""Nudger on the simulated robot: less leg power, and no fall after a push."""

from pathlib import Path

import pytest

from nao_testbed.experiments.closed_loop.trial import Push, TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.models import default_robot_folder
from nao_testbed.sim.robot import SimulationCfg

pytestmark = [pytest.mark.scenario, pytest.mark.slow]

MISALIGNED = {"LAnklePitch": 1.0, "RHipRoll": -1.0, "LKneePitch": 0.5}  # degrees


def stand(controller: str, *pushes: Push, duration_s: float = 20.0) -> TrialResult:
    """Run a trial of a misaligned NAO in PoseInit, stepping every physics tick."""
    return run_trial(
        TrialCfg(
            controller=controller,
            robot_folder=Path(default_robot_folder()),
            posture="PoseInit",
            duration_s=duration_s,
            simulation=SimulationCfg(misalignment_deg=MISALIGNED),
            fast_forward=None,
            pushes=pushes,
        )
    )


@pytest.fixture(scope="module")
def fixed() -> TrialResult:
    return stand("fixed", duration_s=6.0)


def test_nudging_reduces_leg_power_below_40_percent(fixed: TrialResult) -> None:
    nudged = stand("nudge")
    assert fixed.legs_power_w is not None
    assert nudged.legs_power_w is not None
    assert not nudged.fell
    assert nudged.legs_power_w < 0.4 * fixed.legs_power_w
    assert 0.0 < nudged.largest_shift_deg <= 3.0


def test_nudged_robot_survives_pushes() -> None:
    pushes = Push(at_s=5.0), Push(at_s=7.0, force_n=(0.0, -5.0, 0.0))
    pushed = stand("nudge", *pushes, duration_s=10.0)
    assert pushed.failure is None
    assert not pushed.fell
    assert pushed.flags["moving"] > 100  # cycles, at the start and after each push
