"""Files of a replay: the answers of each controller as a run folder, and figures."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.replay.answers import Answers
from experiments.replay.results import ReplayResult
from experiments.replay.run import Recording
from sim.recording.channels import LIMITS, replay_channels, shift_channel
from sim.recording.recorder import Recorder
from sim.recording.run_folder import create_run_folder
from sim.recording.run_meta import describe_run, robot_data


def create_replay_folder(out: Path) -> Path:
    """Make the folder of a replay; where it exists, `out-2` and so on.

    Raises:
        BadInput: it cannot be made.
    """
    return create_run_folder(out.parent, out.name)


def write_answers(
    folder: Path,
    recording: Recording,
    result: ReplayResult,
    answers: Sequence[Answers],
) -> None:
    """Fill the run folder of each controller, and draw the figures beside them.

    The folder of a controller opens by `read_run`; its rows bear the times of the
    observations, its only channels are `limits` and, if it shifted a set-point,
    `shift`. `stiffness.png` is always there, `shift.png` if anybody shifted one.

    Raises:
        BadInput: a file cannot be written.
        RecordingError: likewise, such as on a full disk.
    """
    from experiments.regression.replay_tables import write_replay_figure  # noqa: PLC0415  # matplotlib

    robot, time_s = recording.observations.robot, recording.observations.time_s
    channels = [c for c in replay_channels(robot, exact=True) if c.name == LIMITS]
    for one in answers:
        if one.folder is None:  # the recorded one
            continue
        meta = describe_run(
            experiment="replay",
            robot=robot.name,
            seed=recording.run.meta.seed,
            config={"controller": one.controller, "run": str(recording.run.folder)},
            robot_data=robot_data(robot),
        )
        said, also = [one.stiffness], []
        if one.shift is not None and one.shift.any():
            said.append(one.shift)
            also.append(shift_channel(robot, exact=True))
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
        label = "shift in °"
        write_replay_figure(folder / "shift.png", result, shift_deg, time_s, label)
