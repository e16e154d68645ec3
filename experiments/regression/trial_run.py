"""Runs one trial: an arm of the heat experiment under a watched controller."""

import dataclasses
from pathlib import Path

from experiments.regression.controller_choice import (
    ChosenController,
    ControllerChoice,
    choose_controller,
)
from experiments.regression.setting import StandingCfg
from experiments.regression.trial import Trial
from experiments.regression.watched_controller import (
    ControllerBreach,
    WatchedController,
)
from experiments.standing.arm import run_arm
from experiments.standing.results import ArmResult
from sim.run_folder import create_run_folder


def run_trial(
    controller: ControllerChoice | ChosenController, setting: StandingCfg, out: Path
) -> Trial:
    """Let a controller hold a robot in a setting.

    A controller that breaks its contract ends the trial, which says so: no exception
    leaves this function for what the controller does.

    Args:
        controller: a name, a factory or an instance.
        setting: of the robot and its ground.
        out: folder in which the run folder is made.

    Raises:
        BadInput: the controller cannot be made, or the setting not be used.
    """
    chosen = (
        controller
        if isinstance(controller, ChosenController)
        else choose_controller(controller)
    )
    watched = WatchedController(chosen.controller, chosen.name)
    arm = dataclasses.replace(setting.plan(), controller=chosen.name)
    folder = create_run_folder(out, _plain(chosen.name))
    try:
        result = run_arm(dataclasses.replace(arm, folder=folder), controller=watched)
    except ControllerBreach as breach:  # in reset: there was no step
        result = _empty_result(chosen.name, str(breach), folder)
    return Trial(
        controller=chosen.name,
        setting=setting,
        result=result,
        folder=folder,
        decisions=watched.decisions(),
        step_times=watched.step_times(),
        breach=watched.breach,
    )


def _plain(name: str) -> str:
    """Return a name that a folder can have."""
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name) or "trial"


def _empty_result(name: str, failure: str, folder: Path) -> ArmResult:
    return ArmResult(
        controller=name,
        joints={},
        left_leg_rise_k=None,
        right_leg_rise_k=None,
        fell=False,
        failure=failure,
        sim_s=0.0,
        wall_s=0.0,
        physics_s=0.0,
        folder=str(folder),
    )
