"""Execution of standing trials with a monitored controller, and their cache.

A controller is given by name, as a factory, or as an instance. A trial is one robot of
the heat experiment under a monitored controller; equal trials of a session run once.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from nao_testbed.controllers.interface.controller import Controller
from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.trial import run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.regression.monitored_controller import (
    ControllerBreach,
    MonitoredController,
)
from nao_testbed.experiments.regression.setting import StandingCfg
from nao_testbed.experiments.regression.standing_trial import StandingTrial
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.errors import FOREIGN_ERRORS
from nao_testbed.sim.recording.run_folder import create_run_folder, plain_name

ControllerChoice = str | Controller | Callable[[], Controller]
"""A name for `make_controller`; a class or function without arguments; an instance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenController:
    """Controller that is ready for one trial."""

    name: str
    """Name in messages."""
    controller: Controller
    is_fresh: bool
    """True if it was created for this trial; then an equal trial need not run again."""


def choose_controller(choice: ControllerChoice) -> ChosenController:
    """Create the controller, or use the given instance.

    Raises:
        BadInput: the value is not a controller, has no name, or its factory fails.
    """
    if isinstance(choice, str):
        return ChosenController(
            name=choice, controller=make_controller(choice), is_fresh=True
        )
    if _is_controller(choice):
        return _with_name(cast(Controller, choice), is_fresh=False)
    if not callable(choice):
        raise BadInput(
            f"controller is {choice!r}; give a name such as 'smart', a factory, "
            "or an instance with name, reset and step."
        )
    try:
        made = choice()
    except TestbedError:
        raise
    except FOREIGN_ERRORS as error:  # any exception of a foreign factory
        raise BadInput(
            f"{_factory_name(choice)} creates no controller: {type(error).__name__}: "
            f"{error}. It is called without arguments."
        ) from error
    if not _is_controller(made):
        raise BadInput(
            f"{_factory_name(choice)} returns {made!r}, which is not a controller: it "
            "needs name, reset(robot) and step(observation)."
        )
    return _with_name(made, is_fresh=True)


def _is_controller(value: object) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, method, None)) for method in ("reset", "step")
    )


def _factory_name(factory: object) -> str:
    return str(getattr(factory, "__qualname__", repr(factory)))


def _with_name(controller: Controller, *, is_fresh: bool) -> ChosenController:
    name = getattr(controller, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise BadInput(
            f"controller {type(controller).__name__} has name {name!r}; give it a "
            "text, as in name = 'my-controller'."
        )
    return ChosenController(name=name, controller=controller, is_fresh=is_fresh)


def run_standing_trial(
    controller: ControllerChoice | ChosenController, setting: StandingCfg, out: Path
) -> StandingTrial:
    """Simulate a standing robot under a controller in a setting.

    A controller that violates its contract ends the trial, which reports it; errors of
    the controller are never raised here.

    Args:
        controller: name, factory or instance.
        setting: setting of the robot and its ground.
        out: parent of the run folder.

    Raises:
        BadInput: the controller cannot be created, or the setting is invalid.
    """
    chosen = (
        controller
        if isinstance(controller, ChosenController)
        else choose_controller(controller)
    )
    watched = MonitoredController(chosen.controller, chosen.name)
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in chosen.name)
    planned = setting.plan()  # an invalid setting leaves no folder behind
    folder = create_run_folder(out, plain_name(name) or "trial")
    cfg = dataclasses.replace(planned, controller=chosen.name, folder=folder)
    try:
        result = run_trial(cfg, controller=watched)
    except ControllerBreach as breach:  # in `reset`, before the first step
        result = TrialResult(
            controller=chosen.name,
            joints={},
            left_leg_rise_k=None,
            right_leg_rise_k=None,
            fell=False,
            failure=str(breach),
            sim_s=0.0,
            wall_s=0.0,
            physics_s=0.0,
            folder=str(folder),
        )
    return StandingTrial(
        controller=chosen.name,
        setting=setting,
        result=result,
        folder=folder,
        decisions=watched.decisions(),
        step_times=watched.step_times(),
        breach=watched.breach,
    )


class TrialCache:
    """Cache of reproducible trials, in a folder.

    A name or a factory creates a new controller, whose trial is cached; an instance may
    have changed, so its trial runs each time.
    """

    def __init__(self, folder: Path) -> None:
        """Set the parent of the run folders."""
        self._folder = folder
        self._trials: dict[tuple[object, str], StandingTrial] = {}
        self._kept: list[object] = []
        """Factories of cached trials, stored so that their ids stay valid."""

    def get(self, controller: ControllerChoice, setting: StandingCfg) -> StandingTrial:
        """Return the trial of a controller in a setting.

        Raises:
            BadInput: the controller cannot be created, or the setting is invalid.
        """
        is_name = isinstance(controller, str)
        key = (controller if is_name else id(controller), setting.key)
        if key in self._trials:
            return self._trials[key]
        chosen = choose_controller(controller)
        trial = run_standing_trial(chosen, setting, self._folder)
        if chosen.is_fresh:
            self._trials[key] = trial
            self._kept.append(controller)
        return trial
