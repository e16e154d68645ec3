"""The kernels are compiled once, before the first run."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from nao_testbed.controllers.heat_minimization.friction_cones import _on_rays
from nao_testbed.controllers.heat_minimization.standing_problem import base_columns
from nao_testbed.experiments.closed_loop.warm_up import (
    DEFAULT_IS_MUJOCO,
    main,
    warn_before_run,
    warn_if_compiling,
)
from nao_testbed.sim.sensors.drawing.drawing import _fill
from nao_testbed.sim.servo import _run, servo_torques


def test_the_warm_up_compiles_what_a_heat_run_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main()
    warn_if_compiling()
    assert capsys.readouterr().err == ""
    assert servo_torques.signatures or _run.signatures  # the latter on MuJoCo alone
    assert base_columns.signatures  # so `minheat` has solved
    assert _on_rays.signatures  # for the minimum power
    assert _fill.signatures  # for the picture of the robot


def test_a_first_run_reports_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = SimpleNamespace(cache_path=str(tmp_path))
    kernel = SimpleNamespace(__name__="servo_torques", _cache=cache)
    monkeypatch.setattr("nao_testbed.sim.servo.servo_torques", kernel)
    warn_if_compiling()
    assert capsys.readouterr().err.startswith("the first run compiles")
    (tmp_path / "servo.servo_torques-200.py311.nbi").touch()
    warn_if_compiling()
    assert capsys.readouterr().err == ""


WARM_UP = "nao_testbed.experiments.closed_loop.warm_up"


@pytest.mark.parametrize(
    ("engine", "said"), [("pybullet", ""), ("mujoco", f"{DEFAULT_IS_MUJOCO}\n")]
)
def test_the_fallback_to_mujoco_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    engine: str,
    said: str,
) -> None:
    monkeypatch.setattr(f"{WARM_UP}.warn_if_compiling", lambda: None)
    monkeypatch.setattr(f"{WARM_UP}.default_engine", lambda: engine)
    warn_before_run()
    assert capsys.readouterr().err == said


def test_each_simulating_command_reports_it() -> None:
    """A replay and a real robot have no engine."""
    folder = Path(__file__).resolve().parents[3] / "experiments"
    silent = {
        path.name
        for path in folder.rglob("*.py")
        if "    warn_if_compiling()\n" in path.read_text(encoding="utf-8")
    }
    assert silent - {"run_robot.py"} == {"warm_up.py", "replay.py"}
