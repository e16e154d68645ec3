"""The trials of a test session: an equal one is run once."""

from pathlib import Path

from experiments.regression.controller_choice import (
    ControllerChoice,
    choose_controller,
)
from experiments.regression.setting import StandingCfg
from experiments.regression.trial import Trial
from experiments.regression.trial_run import run_trial


class TrialStore:
    """Runs trials into a folder and keeps those that would come out the same.

    A name or a factory makes a fresh controller, whose trial is kept; an instance may
    have changed since, so it runs each time.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder of the run folders."""
        self._folder = folder
        self._trials: dict[tuple[object, str], Trial] = {}

    def get(self, controller: ControllerChoice, setting: StandingCfg) -> Trial:
        """Return the trial of a controller in a setting.

        Raises:
            BadInput: the controller cannot be made, or the setting not be used.
        """
        key = (_identity(controller), setting.key)
        if key in self._trials:
            return self._trials[key]
        chosen = choose_controller(controller)
        trial = run_trial(chosen, setting, self._folder)
        if chosen.is_fresh:
            self._trials[key] = trial
        return trial


def _identity(controller: ControllerChoice) -> object:
    """Return what tells two choices apart; it keeps a factory alive."""
    return controller if isinstance(controller, str) else _Same(controller)


class _Same:
    """Equal to another of the same object, whatever that thinks of equality."""

    def __init__(self, what: object) -> None:
        self._what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._what is other._what

    def __hash__(self) -> int:
        return id(self._what)
