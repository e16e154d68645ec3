"""Regression kit: a pytest plug-in that holds controllers to what they promise.

    @pytest.mark.standing(controller="mine", misalignment_deg={"LAnklePitch": 2.0})
    def test_mine(standing_trial, fixed_trial):
        standing_trial.stays_up()
        standing_trial.is_cooler_than(fixed_trial, by=0.3)

The plug-in comes with the package and is loaded by every pytest of the environment;
names are therefore imported when they are first used. docs/regression_kit.md defines
every assertion.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.regression.golden import GoldenRun
    from experiments.regression.plugin import RunStanding
    from experiments.regression.setting import StandingCfg
    from experiments.regression.trial import Trial
    from experiments.regression.trial_run import run_trial
    from experiments.standing.pushes import Push
else:
    _HOMES = {
        "GoldenRun": "experiments.regression.golden",
        "Push": "experiments.standing.pushes",
        "RunStanding": "experiments.regression.plugin",
        "StandingCfg": "experiments.regression.setting",
        "Trial": "experiments.regression.trial",
        "run_trial": "experiments.regression.trial_run",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)


__all__ = [
    "GoldenRun",
    "Push",
    "RunStanding",
    "StandingCfg",
    "Trial",
    "run_trial",
]
