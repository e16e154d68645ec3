"""`nao-testbed live`: robots in processes of their own, a page, and an end.

Each robot is told to stop by a message, and stops by itself when whoever started it is
gone: its run folder is closed either way.
"""

import multiprocessing as mp
import secrets
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from controllers.registry import controller_names
from experiments.closed_loop.trial import TrialCfg
from experiments.closed_loop.warm_up import say_if_it_compiles
from experiments.common.signals import exit_status, why_stopped
from experiments.heat.experiment import HeatCfg, plan_trials, record_trials
from experiments.live.page.page_api import PageApi
from experiments.live.page.scene import Scene
from experiments.live.page.server import PageServer, closed_viser
from experiments.live.robot.live_robot import run_live_robot
from experiments.live.robot.operation import Action, Moment, Stop
from models import TestbedError
from sim.engine.obstacles import obstacles_of

FRAME_S = 0.04
"""Between two pictures: 25 a second."""
IDLE_S = 1.0
"""And while nobody looks: a robot answers when the last moment was taken."""
MOST_WAITING = 50
"""Actions that a robot has not taken yet; more are dropped."""
STOP_S = 10.0


class RobotLink:
    """One robot in a process of its own, seen from here."""

    def __init__(self, cfg: TrialCfg) -> None:
        """Start it."""
        context = mp.get_context("spawn")
        self._link, theirs = context.Pipe()
        self.process = context.Process(
            target=run_live_robot, args=(cfg, theirs, cfg.folder), daemon=True
        )
        self.process.start()
        theirs.close()
        self._lock = threading.Lock()
        self._waiting = 0
        self.moment: Moment | None = None

    def send(self, action: Action) -> bool:
        """Hand an action on; False where too many wait, or the robot is gone."""
        with self._lock:
            if self._waiting >= MOST_WAITING:
                return False
            self._waiting += 1
            return self._put(action)

    def look(self) -> Moment | None:
        """Return what is new, None where nothing is.

        Raises:
            TestbedError: the robot has ended.
        """
        try:
            if not self._link.poll():
                return None
            self.moment = self._link.recv()
        except (EOFError, OSError) as error:
            raise TestbedError("a robot's process has ended; see above.") from error
        with self._lock:
            self._waiting = 0  # a moment comes once a slot has taken what was there
            self._put(None)
        return self.moment

    def stop(self) -> None:
        """Ask it to end."""
        with self._lock:
            self._put(Stop())

    def join(self) -> None:
        """Wait for its end; who does not end is ended."""
        end = time.monotonic() + STOP_S
        while self.process.is_alive() and time.monotonic() < end:
            _drain(self._link)
            self.process.join(0.05)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self._link.close()

    def _put(self, what: object) -> bool:
        try:
            self._link.send(what)
        except OSError:
            return False
        return True


def _drain(link: Connection) -> None:
    try:
        while link.poll():
            link.recv()
    except (EOFError, OSError):
        pass


def run_live_command(
    cfg: HeatCfg, out: Path, port: int, seconds: float | None, *, opens: bool
) -> int:
    """Run robots and their page until Ctrl-C; return the exit status.

    Args:
        cfg: the robots, one a controller.
        out: run folder.
        port: of the page; 0 takes a free one.
        seconds: of wall time until it ends by itself; None: never.
        opens: open a browser.

    Raises:
        BadInput: a value cannot be used, or the port is taken.
        TestbedError: a robot ended by itself.
    """
    arms = plan_trials(cfg)
    robot = arms[0].load_robot()
    secret = secrets.token_urlsafe(24)
    links: list[RobotLink] = []
    api = PageApi(
        robot,
        [arm.controller for arm in arms],
        [n for n in controller_names() if n != "constant"],
        lambda i, action: i < len(links) and links[i].send(action),
    )
    with (
        closed_viser(secret) as viser,
        PageServer(viser, secret, port, api) as page,
    ):
        say_if_it_compiles()
        folder, arms = record_trials(arms, out)
        try:
            links += [RobotLink(arm) for arm in arms]
            scene = Scene(
                viser,
                robot,
                robot.posture(arms[0].posture).angles,
                [arm.controller for arm in arms],
                slope_deg=cfg.slope_deg,
                obstacles=obstacles_of(cfg.obstacles),
            )
            print(page.url, flush=True)
            print(f"Recording to {folder}; Ctrl-C ends.", file=sys.stderr, flush=True)
            if opens:
                webbrowser.open(page.url)
            _watch(links, scene, api, seconds)
        except KeyboardInterrupt as stop:
            status = exit_status(stop)
            why = why_stopped(stop)
        else:
            status, why = 0, "ended"
        finally:
            for link in links:
                link.stop()
            for link in links:
                link.join()
    print(f"{why}; {folder} holds what was recorded.", file=sys.stderr)
    return status


def _watch(
    links: Sequence[RobotLink], scene: Scene, api: PageApi, seconds: float | None
) -> None:
    begin, idle = time.monotonic(), -IDLE_S
    while seconds is None or time.monotonic() < begin + seconds:
        now = time.monotonic()
        if api.viewers or now >= idle + IDLE_S:
            idle = now
            moments = [link.look() for link in links]
            scene.show(moments)
            api.put(moments)
        time.sleep(FRAME_S)
