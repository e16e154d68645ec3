"""The X-ray of a policy run uses the gains of the policy."""

import dataclasses
from pathlib import Path

import pytest

from nao_testbed.experiments.closed_loop.trial import run_trial
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.heat.xray.xray import with_gains_of
from nao_testbed.models import Robot
from tests.controllers.policies.python_policy import HOLD


@pytest.mark.parametrize(("controller", "kp"), [("policy", 30.0), ("fixed", None)])
def test_the_gains_match_the_policy_of_the_run(
    controller: str, kp: float | None, two_leg: Robot, tmp_path: Path
) -> None:
    (tmp_path / "hold.py").write_text(HOLD, encoding="utf-8")
    name = f"policy:{tmp_path / 'hold.py'}" if controller == "policy" else controller
    cfg = HeatCfg(robot=two_leg.folder, controllers=(name,), minutes=0.002)
    (trial,) = plan_trials(cfg)
    folder = tmp_path / "run"
    folder.mkdir()
    run_trial(dataclasses.replace(trial, folder=folder))
    found = with_gains_of(folder, two_leg)
    expected = [joint.kp if kp is None else kp for joint in two_leg.joints]
    assert [joint.kp for joint in found.joints] == expected
    assert with_gains_of(tmp_path / "hold.py", two_leg) is two_leg
