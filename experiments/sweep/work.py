"""What a worker does with a trial: run it, and tell whatever happens."""

import dataclasses
from typing import Any

from experiments.arm import run_arm
from experiments.results import ArmResult
from experiments.sweep.trial import Trial, TrialOutcome
from models import TestbedError
from sim.run_meta import plain


def run_trial(trial: Trial) -> TrialOutcome:
    """Run a trial; a fall is a result, an exception an error with its reason."""
    try:
        return TrialOutcome(result=result_fields(run_arm(trial.arm())))
    except TestbedError as error:
        return TrialOutcome.lost(str(error))
    except Exception as error:  # noqa: BLE001  # a sweep goes on whatever one trial does
        return TrialOutcome.lost(f"{type(error).__name__}: {error}")


def result_fields(result: ArmResult) -> dict[str, Any]:
    """Return a result as JSON can hold it; numbers that are not finite become None."""
    return {
        field.name: _without_infinity(plain(getattr(result, field.name)))
        for field in dataclasses.fields(result)
    }


def _without_infinity(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_infinity(item) for key, item in value.items()}
    return None if value in ("inf", "-inf", "nan") else value
