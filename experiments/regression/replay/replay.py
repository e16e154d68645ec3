"""Replay of one recording to several controllers, with exactly the same input.

    ReplayCfg -> open_recording -> replay_controllers -> ReplayResult

Each controller runs in the same `Loop` as on the simulator, on a `ReplayRobot`. Its
answers are compared with those of the recorded controller to the same observations.
`nao-testbed replay` prints the comparison as tables and JSON; with `--out` it writes
the answers of each controller as a run folder, and figures.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.warm_up import warn_if_compiling
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, share_bars
from nao_testbed.experiments.regression.replay.answers import (
    RECORDED,
    Answers,
    RecordedRun,
    ReplayProgress,
    ReplayResult,
    collect_answers,
    compare,
)
from nao_testbed.experiments.regression.replay.observations import read_recording
from nao_testbed.experiments.regression.replay.tables import replay_tables
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.files import write_text
from nao_testbed.sim.recording.channels import LIMITS, SHIFT, channel_of
from nao_testbed.sim.recording.recorder import Recorder
from nao_testbed.sim.recording.run_folder import Run, create_run_folder, plain_name
from nao_testbed.sim.recording.run_meta import describe_run, robot_data
from nao_testbed.sim.replayed_robot import RecordedObservations

_SHORTEST = 2
"""Minimum number of observations: two give a period."""


@dataclass(frozen=True, kw_only=True)
class ReplayCfg:
    """Options of a replay."""

    source: Path
    """Folder of the recorded run, or a log of `experiments.heat.logs`."""
    controllers: tuple[str, ...] = ()
    """Controllers, in the format of `make_controller`; empty: the recorded one."""
    robot: Path | None = None
    """Folder of the robot; None: that of the run, or the default robot of a log."""
    entries: tuple[str, ...] = ()
    """Map of a log's columns, as in `read_log`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenRecording:
    """Open recording, and the controllers to be run on it."""

    source: Path
    run: Run | None
    """Recorded run; None for another log."""
    observations: RecordedObservations
    controllers: tuple[str, ...]
    remarks: tuple[str, ...]
    """Repairs of the log."""


def open_recording(cfg: ReplayCfg) -> OpenRecording:
    """Validate the options and read the recording.

    Raises:
        BadInput: the run cannot be replayed, or a controller cannot be created.
    """
    recording = read_recording(cfg.source, cfg.robot, cfg.entries)
    observations, run = recording.observations, recording.run
    controllers = cfg.controllers or _recorded_controller(cfg.source, run)
    if len(set(controllers)) != len(controllers) or RECORDED in controllers:
        raise BadInput(
            f"controllers are {', '.join(controllers)}; give each once, and not "
            f"{RECORDED!r}, which is always included."
        )
    for name in controllers:
        make_controller(name)
    if len(observations) < _SHORTEST:
        raise BadInput(
            f"{cfg.source} has one observation; a replay needs at least {_SHORTEST}."
        )
    return OpenRecording(
        source=cfg.source,
        run=run,
        observations=observations,
        controllers=controllers,
        remarks=recording.remarks,
    )


def replay_controllers(
    recording: OpenRecording,
    on_progress: ReplayProgress = lambda _name, _share: None,
    out: Path | None = None,
) -> tuple[ReplayResult, list[Answers]]:
    """Run every controller on the recording.

    Args:
        recording: open recording.
        on_progress: function called with a controller and its progress.
        out: parent of a folder per controller, filled by `write_answers`; None: no
            folders.

    Returns:
        The comparison, and the answers, those of the reference first.

    Raises:
        TestbedError: the first controller failed, and the run has no recorded answers.
    """
    seen = recording.observations
    answers = [
        collect_answers(
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


def _result(recording: OpenRecording, answers: Sequence[Answers]) -> ReplayResult:
    seen, run = recording.observations, recording.run
    first, *_ = answers
    if len(first.stiffness) < len(seen):
        raise TestbedError(
            f"{first.controller} {first.failure} There is no reference; give "
            "another controller first."
        )
    return ReplayResult(
        run=RecordedRun(
            folder=str(recording.source),
            experiment="log" if run is None else run.meta.experiment,
            robot=seen.robot.name,
            state="done" if run is None else run.state,
            controller=_named_controller(run),
            observations=len(seen),
            begin_s=float(seen.time_s[0]),
            end_s=float(seen.time_s[-1]),
            period_s=seen.period_s,
            is_exact=seen.is_exact,
            knows_shift=seen.shifts is not None,
            jumps=seen.jumps,
            damaged_events=0 if run is None else run.damaged_events,
        ),
        reference=first.controller,
        answers={
            a.controller: compare(a, first, seen.robot.joint_names, seen.time_s)
            for a in answers
        },
    )


def _named_controller(run: Run | None) -> str | None:
    name = None if run is None else run.meta.config.get("controller")
    return name if isinstance(name, str) else None


def _recorded_controller(source: Path, run: Run | None) -> tuple[str, ...]:
    """Return the controller named in the run's configuration.

    Raises:
        BadInput: the configuration names no controller.
    """
    name = _named_controller(run)
    if name is None:
        raise BadInput(
            f"{source} does not name its controller; give one or more with "
            "--controllers."
        )
    return (name,)


def create_replay_folder(out: Path) -> Path:
    """Create the folder of a replay; if it exists, `out-2` and so on.

    Raises:
        BadInput: the folder cannot be created.
    """
    return create_run_folder(out.parent, out.name)


def write_answers(
    folder: Path,
    recording: OpenRecording,
    result: ReplayResult,
    answers: Sequence[Answers],
) -> None:
    """Write the run folder of each controller, and the figures.

    `read_run` can read the folder of a controller. Its rows have the times of the
    observations; its only channels are `limits` and, if it shifted a set-point,
    `shift`. `stiffness.png` is always written, `shift.png` if any set-point shifted.

    Raises:
        BadInput: a file cannot be written.
        RecordingError: a file cannot be completed, for example on a full disk.
    """
    from nao_testbed.experiments.regression.replay.tables import write_replay_figure  # noqa: PLC0415  # matplotlib

    robot, time_s = recording.observations.robot, recording.observations.time_s
    channels = [channel_of(robot, LIMITS, exact=True)]
    for one in answers:
        if one.folder is None:  # recorded answers
            continue
        meta = describe_run(
            experiment="replay",
            robot=robot.name,
            seed=0 if recording.run is None else recording.run.meta.seed,
            config={"controller": one.controller, "run": str(recording.source)},
            robot_data=robot_data(robot),
        )
        said, also = [one.stiffness], []
        if one.shift is not None and one.shift.any():
            said.append(one.shift)
            also.append(channel_of(robot, SHIFT, exact=True))
        with Recorder(one.folder, [*channels, *also], meta) as recorder:
            for time, *values in zip(time_s.tolist(), *said, strict=False):
                recorder.append(time, *values)
            recorder.close("done" if one.failure is None else f"failed: {one.failure}")
    stiffness = {a.controller: a.stiffness for a in answers if len(a.stiffness)}
    write_replay_figure(folder / "stiffness.png", result, stiffness, time_s)
    if result.has_shift:
        shift_deg = {
            a.controller: np.rad2deg(a.shift)
            for a in answers
            if a.shift is not None and len(a.shift)
        }
        label = "set-point shift in °"
        write_replay_figure(folder / "shift.png", result, shift_deg, time_s, label)


def run_replay_command(cfg: ReplayCfg, out: Path | None, json_file: str | None) -> int:
    """Replay, print the tables, write the files; return the exit status.

    Args:
        cfg: options.
        out: folder for answers and figures; if it exists, `out-2` and so on.
        json_file: path of a JSON file; `-`: stdout, with the tables on stderr.

    Raises:
        BadInput: the run cannot be replayed, or a file cannot be written.
    """
    recording = open_recording(cfg)
    check_json_file(json_file)
    for remark in recording.remarks:
        print(f"log: {remark}", file=sys.stderr)
    folder = None if out is None else create_replay_folder(out)
    warn_if_compiling()
    with share_bars(recording.controllers) as tell:
        result, answers = replay_controllers(recording, tell, folder)
    text = json_text(result.as_json())
    console = console_for(json_file)
    for table in replay_tables(result):
        console.print(table)
        console.print()
    if folder is not None:
        write_text(folder / "replay.json", text + "\n")
        write_answers(folder, recording, result, answers)
        console.print(f"Outputs and figures: {folder}", soft_wrap=True, markup=False)
    write_json(json_file, text)
    failures = [a for a in result.answers.values() if a.failure is not None]
    for one in failures:
        print(f"error: {one.controller}: {one.failure}", file=sys.stderr)
    return 1 if failures else 0
