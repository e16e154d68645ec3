"""What a worker does with a trial: run it, and tell whatever happens."""

import dataclasses
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments.standing.arm import ArmCfg, run_arm
from experiments.standing.results import ArmResult
from experiments.sweep.identity import robot_digest
from experiments.sweep.trial import Trial, TrialOutcome
from models import BadInput, Robot, TestbedError, load_robot
from sim.run_meta import plain


def run_trial(trial: Trial) -> TrialOutcome:
    """Run a trial; a fall is a result, an exception an error with its reason."""
    begin = time.perf_counter()
    try:
        _check_robot(trial)
        result = run_arm(_KeptRobotArm(**vars(trial.arm())))
        wall_s = time.perf_counter() - begin
        return TrialOutcome(result=result_fields(result), wall_s=wall_s)
    except TestbedError as error:
        return TrialOutcome.lost(str(error))
    except Exception as error:  # noqa: BLE001  # a sweep goes on whatever one trial does
        return TrialOutcome.lost(f"{type(error).__name__}: {error}")


@dataclass(frozen=True, kw_only=True)
class _KeptRobotArm(ArmCfg):
    """An arm whose robot is read once a process: that takes as long as 1 s of physics.

    The files of a robot do not change under a sweep: `robot_digest` is kept likewise.
    """

    def load_robot(self) -> Robot:
        """See `ArmCfg.load_robot`."""
        return _robot(self.robot_folder).with_effort_limits(self.effort_limits)


@lru_cache(maxsize=8)
def _robot(folder: Path) -> Robot:
    return load_robot(folder)


def _check_robot(trial: Trial) -> None:
    """Refuse to run another robot than the one that was meant."""
    digest = robot_digest(trial.robot_folder)
    if trial.robot_digest and digest != trial.robot_digest:
        raise BadInput(
            f"the robot {trial.robot_folder or 'NAO'} of this worker has other data "
            f"({digest}) than that of the sweep ({trial.robot_digest}); give all "
            "machines the same files."
        )


def result_fields(result: ArmResult) -> dict[str, Any]:
    """Return a result as JSON can hold it; numbers that are not finite become None."""
    return {
        field.name: _finite(plain(getattr(result, field.name)))
        for field in dataclasses.fields(result)
    }


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return None if value in ("inf", "-inf", "nan") else value
