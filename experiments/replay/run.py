"""Controllers on one recording: each is given exactly the same input.

    ReplayCfg -> open_recording -> replay_controllers -> ReplayResult

Each controller runs in the same `Loop` as on the simulator, on a `ReplayRobot`. What it
answers is set beside what the recorded controller answered to the same observation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controllers.registry import make_controller
from experiments.replay.answers import Answers, Progress, answer
from experiments.replay.compare import compare
from experiments.replay.results import RECORDED, RecordedRun, ReplayResult
from models import BadInput, TestbedError
from sim.recording.run_folder import Run, create_run_folder, plain_name, read_run
from sim.recording.run_meta import recorded_robot
from sim.replay import RecordedObservations, read_observations

_SHORTEST = 2
"""Observations: two make a period."""


@dataclass(frozen=True, kw_only=True)
class ReplayCfg:
    """What is asked of a replay."""

    folder: Path
    """Of the recorded run."""
    controllers: tuple[str, ...] = ()
    """As `make_controller` takes them; none: the one that the run names."""
    robot: Path | None = None
    """Folder of the robot; None: the one that the run names."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording:
    """A recording that is open, and the controllers to be run on it."""

    run: Run
    observations: RecordedObservations
    controllers: tuple[str, ...]


def open_recording(cfg: ReplayCfg) -> Recording:
    """Check what is asked and read the recording.

    Raises:
        BadInput: the run cannot be replayed, or no such controller be made.
    """
    run = read_run(cfg.folder)
    controllers = cfg.controllers or _recorded_controller(run)
    if len(set(controllers)) != len(controllers) or RECORDED in controllers:
        raise BadInput(
            f"controllers are {', '.join(controllers)}; name each once, and none "
            f"{RECORDED!r}, which is there anyway."
        )
    for name in controllers:
        make_controller(name)
    robot = recorded_robot(run.meta, cfg.robot)
    observations = read_observations(run, robot)
    if len(observations) < _SHORTEST:
        raise BadInput(
            f"{run.folder} holds one observation; a replay needs {_SHORTEST} at least."
        )
    return Recording(
        run=run,
        observations=observations,
        controllers=controllers,
    )


def replay_controllers(
    recording: Recording,
    on_progress: Progress = lambda _name, _share: None,
    out: Path | None = None,
) -> tuple[ReplayResult, list[Answers]]:
    """Run every controller on the recording.

    Args:
        recording: that is open.
        on_progress: told a controller and how far it is, now and then.
        out: for a folder each, which `write_answers` fills; None: none.

    Returns:
        The comparison, and the answers that it was made of, the reference's first.

    Raises:
        TestbedError: the first one failed, and no other answers were recorded.
    """
    seen = recording.observations
    answers = [
        answer(
            seen,
            name,
            on_progress,
            None if out is None else create_run_folder(out, plain_name(name)),
        )
        for name in recording.controllers
    ]
    if seen.limits is not None:
        recorded = Answers(
            controller=RECORDED,
            stiffness=seen.limits,
            shift=seen.shifts,
            steps_s=[],
            flags={},
            failure=None,
        )
        answers.insert(0, recorded)
    return _result(recording, answers), answers


def _result(recording: Recording, answers: Sequence[Answers]) -> ReplayResult:
    seen, run = recording.observations, recording.run
    first, *_ = answers
    if len(first.stiffness) < len(seen):
        raise TestbedError(
            f"{first.controller} {first.failure} There is nothing to compare with; "
            f"name another controller first."
        )
    return ReplayResult(
        run=RecordedRun(
            folder=str(run.folder),
            experiment=run.meta.experiment,
            robot=run.meta.robot,
            state=run.state,
            controller=_named_controller(run),
            observations=len(seen),
            begin_s=float(seen.time_s[0]),
            end_s=float(seen.time_s[-1]),
            period_s=seen.period_s,
            is_exact=seen.is_exact,
            knows_shift=seen.shifts is not None,
            jumps=seen.jumps,
            damaged_events=run.damaged_events,
        ),
        reference=first.controller,
        answers={
            a.controller: compare(a, first, seen.robot.joint_names, seen.time_s)
            for a in answers
        },
    )


def _named_controller(run: Run) -> str | None:
    name = run.meta.config.get("controller")
    return name if isinstance(name, str) else None


def _recorded_controller(run: Run) -> tuple[str, ...]:
    """Return the controller that the run's configuration names.

    Raises:
        BadInput: it names none.
    """
    name = _named_controller(run)
    if name is None:
        raise BadInput(
            f"{run.folder} does not say which controller it had; name one or more by "
            f"--controllers."
        )
    return (name,)
