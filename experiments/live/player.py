"""Command `nao-testbed live --replay RUN`: a recorded run with a scrubber.

    read_recording -> Recording.moments(time_s) -> scene and page, as of live robots
    Player: present time and speed of the replay

The robots cannot be steered: the page may only request a time, a speed, a pause, and
live robots that start in the recorded state (`experiments.live.resume`).
"""

import secrets
import sys
import threading
import time
import webbrowser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.spatial.transform import Rotation

from nao_testbed.controllers.interface.robot_interface import READINGS, Observation
from nao_testbed.experiments.common.signals import exit_status, stop_reason
from nao_testbed.experiments.live.page import Address
from nao_testbed.experiments.live.page.gateway import PageServer, closed_viser
from nao_testbed.experiments.live.page.page_api import PageApi
from nao_testbed.experiments.live.page.scene import FrameClock, Scene
from nao_testbed.experiments.live.resume import plan_resumed
from nao_testbed.experiments.live.robot.moment import Moment
from nao_testbed.experiments.live.robot.operation import OperatorRequest
from nao_testbed.experiments.live.run_live import LivePlan, run_live_command
from nao_testbed.experiments.live.video import VideoMaker, recorded_trials
from nao_testbed.experiments.report.replay.scene import (
    MOST_STEPS,
    SHORTEST_STEP_S,
    base_notes,
)
from nao_testbed.experiments.report.replay.track import (
    RobotTrack,
    dress,
    pose_robot,
    slope_deg,
)
from nao_testbed.experiments.report.run_contents import events_of
from nao_testbed.experiments.report.run_source import RecordedTrial, check_one_run
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.body import FALL_TILT
from nao_testbed.sim.effectors import colour_names
from nao_testbed.sim.recording.run_meta import recorded_robot

MAX_EVENTS = 500
"""Maximum number of events in the page's list."""
SPEEDS = (0.5, 1.0, 4.0, 16.0, 64.0)
"""Speeds offered by the page."""
KEPT = 8
"""Number of latest events in a moment."""


@dataclass(frozen=True, kw_only=True)
class Seek(OperatorRequest):
    """Go to a time; beyond the end: to the end."""

    time_s: Annotated[float, Field(ge=0.0, title="time")]


@dataclass(frozen=True, kw_only=True)
class GoOn(OperatorRequest):
    """Play at this multiple of real time; at the end: restart from 0 s."""

    speed: Annotated[float, Field(ge=SPEEDS[0], le=SPEEDS[-1], title="speed")]


@dataclass(frozen=True, kw_only=True)
class Pause(OperatorRequest):
    """Pause the replay."""


@dataclass(frozen=True, kw_only=True)
class LiveFromHere(OperatorRequest):
    """Replace the recording by live robots that start in the present state."""


@dataclass(frozen=True, kw_only=True)
class MakeVideo(OperatorRequest):
    """Write an MP4 of the run into its folder."""


PlayerRequest = Seek | GoOn | Pause | LiveFromHere | MakeVideo
PLAYER_ACTIONS = {one.__name__: one for one in get_args(PlayerRequest)}


class Player:
    """Time and speed of a replay; thread-safe."""

    def __init__(self, end_s: float) -> None:
        """Pause at the start of a recording that ends at `end_s`."""
        self._end_s, self._time_s, self._speed = end_s, 0.0, 0.0
        self._lock = threading.Lock()

    def act(self, action: PlayerRequest) -> None:
        """Execute a request of the page."""
        with self._lock:
            match action:
                case Seek():
                    self._time_s = min(action.time_s, self._end_s)
                case GoOn():
                    self._speed = action.speed
                    if self._time_s >= self._end_s:
                        self._time_s = 0.0
                case Pause() | LiveFromHere():
                    self._speed = 0.0
                case MakeVideo():
                    pass  # handled elsewhere

    def step(self, wall_s: float) -> tuple[float, float]:
        """Advance by a wall time; return time in s and speed, 0 in a pause."""
        with self._lock:
            self._time_s = min(self._time_s + self._speed * wall_s, self._end_s)
            if self._time_s >= self._end_s:
                self._speed = 0.0
            return self._time_s, self._speed


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """One recorded robot, sampled on the time grid."""

    motion: RobotTrack
    seen: dict[str, NDArray[np.float64]]
    lights: NDArray[np.float64]
    events: list[tuple[float, str]]


class ReplayedRun:
    """Robots of a run, sampled on a time grid that includes all events."""

    def __init__(self, trials: Sequence[RecordedTrial]) -> None:
        """Read the rows.

        Raises:
            BadInput: the robots differ, or rows lack required values.
        """
        self.trials = tuple(trials)
        self.robot = recorded_robot(trials[0].run.meta)
        if len({trial.run.meta.robot for trial in trials}) > 1:
            raise BadInput(
                "the run has robots with different descriptions; give the folder of "
                "one."
            )
        self.end_s = max(float(trial.frame.index[-1]) for trial in trials)
        step_s = max(SHORTEST_STEP_S, self.end_s / MOST_STEPS)
        told = [
            [
                (t, text)
                for t, text in sorted([*events_of(trial), *_shared(trial)])
                if 0.0 <= t <= self.end_s
            ]
            for trial in trials
        ]
        times = [t for events in told for t, _ in events]
        steps = np.arange(0.0, self.end_s, step_s)
        self._grid_s = np.unique(np.concatenate([steps, times, [self.end_s]]))
        body = dress(trials[0], self.robot)
        self._parts = [
            _Part(
                motion=pose_robot(trial, body, self._grid_s),
                seen=_readings(trial, self.robot, self._grid_s),
                lights=_lights(trial, self.robot, self._grid_s),
                events=events,
            )
            for trial, events in zip(trials, told, strict=True)
        ]
        self.names = [trial.name for trial in trials]
        self.slope_deg = slope_deg(trials[0])
        self.notes = base_notes(trials)

    @property
    def motions(self) -> list[RobotTrack]:
        """Return the motions of the robots."""
        return [part.motion for part in self._parts]

    def about(self) -> dict[str, Any]:
        """Return the data of the page's scrubber."""
        events = sorted(
            (t, f"{name}: {text}")
            for name, part in zip(self.names, self._parts, strict=True)
            for t, text in part.events
        )
        return {
            "end_s": self.end_s,
            "speeds": SPEEDS,
            "notes": self.notes,
            "events": [{"time_s": t, "what": what} for t, what in events[:MAX_EVENTS]],
            "left_out": max(len(events) - MAX_EVENTS, 0),
        }

    def moments(self, time_s: float) -> list[Moment]:
        """Return each robot at the last grid row up to a time."""
        i = max(int(np.searchsorted(self._grid_s, time_s + 1e-9)) - 1, 0)
        moments = []
        for name, part in zip(self.names, self._parts, strict=True):
            motion = part.motion
            up = motion.rotation[:, 2]  # in the base frame
            before = [f"{t:.1f} s  {text}" for t, text in part.events if t <= time_s]
            moments.append(
                Moment(
                    time_s=time_s,
                    late_s=0.0,
                    controller=name,
                    q=motion.q[i],
                    position=motion.position[i],
                    quaternion=Rotation.from_matrix(motion.rotation[i]).as_quat(),
                    degc=motion.degc[i],
                    error_deg=np.full_like(motion.degc[i], np.nan),
                    loss_w=np.full_like(motion.degc[i], np.nan),
                    least_w=np.full_like(motion.degc[i], np.nan),
                    seen=Observation(
                        time_s=time_s, **{n: part.seen[n][i] for n in part.seen}
                    ),
                    lights=part.lights[i],
                    says=motion.said[i],
                    has_fallen=bool(up[i] @ up[0] < FALL_TILT),
                    groups=(),
                    schemas=(),
                    panels=(),
                    said=tuple(before[-KEPT:]),
                )
            )
        return moments


def read_recording(folder: Path) -> ReplayedRun:
    """Read the run of a heat experiment, a scenario or `live`, or one of its robots.

    Raises:
        BadInput: the folder is not a single run, or has no rows.
    """
    trials = list(recorded_trials(folder))
    check_one_run(folder, trials)
    trials = [trial for trial in trials if len(trial.frame)]
    if not trials:
        raise BadInput(f"{folder} has no rows; give the folder of another run.")
    return ReplayedRun(trials)


def _shared(trial: RecordedTrial) -> list[tuple[float, str]]:
    """Return the events of grants, losses, states and starts of a shared robot.

    Grants at 0 s precede the run and are omitted.
    """
    found = []
    for event in trial.run.events:
        data = event.data
        match event.kind:
            case "Granted" if event.time_s > 0.0:
                text = f"{data['owner']} gets {_some(data['shares'])}"
            case "Failed":
                text = f"{data['owner']} is refused: {data['kind']}"
            case "Revoked":
                text = f"{data['owner']} loses {_some(data['lost'])} to {data['by']}"
            case "StateChanged" if event.time_s > 0.0:
                text = f"state {data['active']}"
            case "StreamStarted" | "GroupStarted":
                text = f"{data.get('label') or data.get('group')} begins"
            case "SchemaStarted":
                text = f"schema {data['path']} starts"
            case "SchemaStopped":
                text = f"schema {data['path']} stops: {data['why']}"
            case _:
                continue
        found.append((event.time_s, text))
    return found


def _some(names: object) -> str:
    """Return up to three names of a list, and the number of the others."""
    listed = [str(name) for name in cast("Iterable[object]", names)]
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return ", ".join(listed[:3]) + more


def _rows(
    trial: RecordedTrial, columns: list[str], grid_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the last row before each time; NaN for missing values."""
    time_s = trial.frame.index.to_numpy(float)
    rows = np.clip(np.searchsorted(time_s, grid_s + 1e-9) - 1, 0, len(time_s) - 1)
    values: NDArray[np.float64] = trial.frame.reindex(columns=columns).to_numpy(float)[
        rows
    ]
    return values


def _readings(
    trial: RecordedTrial, robot: Robot, grid_s: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    return {
        name: _rows(trial, [f"{name}.{one}" for one in reading.members(robot)], grid_s)
        for name, reading in READINGS.items()
    }


def _lights(
    trial: RecordedTrial, robot: Robot, grid_s: NDArray[np.float64]
) -> NDArray[np.float64]:
    columns = [f"leds.{name}" for name in colour_names(robot.leds)]
    return np.clip(np.nan_to_num(_rows(trial, columns, grid_s)), 0.0, 1.0)


class Show:
    """Replay on its page; call `run` until the page ends or requests live robots."""

    def __init__(self, folder: Path) -> None:
        """Read the recording.

        Raises:
            BadInput: the folder is not a run.
        """
        self.folder = folder
        self.recording = recording = read_recording(folder)
        self._player = Player(recording.end_s)
        self._video = VideoMaker(folder)
        self.plan: LivePlan | None = None
        """Requested live robots; None without a request."""
        self.api = PageApi(
            recording.robot,
            recording.names,
            (),
            self._do,
            actions=PLAYER_ACTIONS,
            replay=recording.about(),
        )

    def _do(self, number: int, action: PlayerRequest) -> bool:
        """Execute a request; all robots of a run share one time.

        Raises:
            BadInput: live robots cannot start here, or a video cannot be made.
        """
        if isinstance(action, LiveFromHere) and self.plan is None:
            time_s, _ = self._player.step(0.0)
            for moment in self.recording.moments(time_s):
                if moment.has_fallen:
                    raise BadInput(
                        f"{moment.controller} is lying on the ground at {time_s:.1f} "
                        "s; choose an earlier time."
                    )
            self.plan = plan_resumed(self.recording.trials, time_s)
        if isinstance(action, MakeVideo) and number == 0:
            self._video.ask()
        self._player.act(action)
        return True

    def run(self, scene: Scene, seconds: float | None) -> None:
        """Show the replay until live robots are requested or the time is over."""
        begin = last = time.monotonic()
        frame = FrameClock()
        shown = None
        while self.plan is None and (
            seconds is None or time.monotonic() < begin + seconds
        ):
            now = time.monotonic()
            where = self._player.step(now - last)
            last = now
            if where != shown:
                shown = where
                moments = self.recording.moments(where[0])
                scene.show(moments)
                self.api.put(moments, speed=where[1])
            told = self._video.poll()
            if told is not None:
                self.api.publish(told)
            frame.wait()

    def close(self) -> None:
        """Stop the production of a video."""
        self._video.close()


def run_replay_command(
    folder: Path, out: Path, port: int, seconds: float | None, *, opens: bool
) -> int:
    """Show a recorded run until Ctrl-C; return the exit status.

    Args:
        folder: folder of the run; only a requested video is written into it.
        out: run folder of live robots started from it.
        port: port of the page; 0: a free port.
        seconds: wall time in s until the automatic end; None: no limit.
        opens: True: open a browser.

    Raises:
        BadInput: the folder is not a run, or the port is taken.
    """
    show = Show(folder)
    recording = show.recording
    secret = secrets.token_urlsafe(24)
    try:
        with (
            closed_viser(secret) as viser,
            PageServer(viser, secret, Address(port=port), show.api) as page,
        ):
            motions = recording.motions
            scene = Scene(
                viser,
                recording.robot,
                motions[0].q[0],
                recording.names,
                slope_deg=recording.slope_deg,
                obstacles=motions[0].obstacles,
                on_joint=show.api.choose,
            )
            print(page.url, flush=True)
            print(f"Showing {folder}; stop with Ctrl-C.", file=sys.stderr, flush=True)
            if opens:
                webbrowser.open(page.url)
            show.run(scene, seconds)
    except KeyboardInterrupt as stop:
        print(f"{stop_reason(stop)}.", file=sys.stderr)
        return exit_status(stop)
    finally:
        show.close()
    if show.plan is None:
        return 0
    return run_live_command(show.plan, out, page.address, seconds, opens=False)
