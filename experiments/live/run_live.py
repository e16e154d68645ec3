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
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from controllers.registry import check_controllers, controller_names
from experiments.closed_loop.trial import TrialCfg
from experiments.closed_loop.warm_up import say_if_it_compiles
from experiments.common.signals import exit_status, why_stopped
from experiments.heat.experiment import HeatCfg, plan_trials
from experiments.live.page.page_api import PageApi
from experiments.live.page.scene import FrameClock, Scene
from experiments.live.page.server import Address, PageServer, closed_viser
from experiments.live.robot.live_robot import run_live_robot
from experiments.live.robot.moment import Moment
from experiments.live.robot.operation import Action, Stop
from experiments.live.robot.scenario_play import ScenarioCfg
from models import Robot, TestbedError
from sim.engine.obstacles import Obstacle, obstacles_of
from sim.recording.run_folder import create_run_folder, plain_name

IDLE_S = 1.0
"""And while nobody looks: a robot answers when the last moment was taken."""
MOST_WAITING = 50
"""Actions that a robot has not taken yet; more are dropped."""
STOP_S = 10.0


class RobotLink:
    """One robot in a process of its own, seen from here."""

    def __init__(self, cfg: TrialCfg | ScenarioCfg) -> None:
        """Start it."""
        context = mp.get_context("spawn")
        self._link, theirs = context.Pipe()
        self.process = context.Process(
            target=run_live_robot, args=(cfg, theirs, cfg.folder), daemon=True
        )
        self.process.start()
        theirs.close()
        self._lock = threading.Lock()
        self._n_sent = self._n_taken = 0
        self.moment: Moment | None = None

    def send(self, action: Action) -> bool:
        """Hand an action on; False where too many wait, or the robot is gone."""
        with self._lock:
            if self._n_sent - self._n_taken >= MOST_WAITING:
                return False
            self._n_sent += 1
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
            self._n_taken = self.moment.n_taken
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


@dataclass(frozen=True, kw_only=True)
class LivePlan:
    """Robots that are to be shown side by side."""

    arms: tuple[TrialCfg | ScenarioCfg, ...]
    """A robot each; where they are recorded is still to come."""
    controllers: tuple[str, ...]
    """One a robot."""
    robot: Robot
    """That all of them are."""
    posture: str
    """In which they begin."""
    slope_deg: float
    """Of the ground."""
    obstacles: tuple[Obstacle, ...]
    """In the way of each."""


def plan_standing(cfg: HeatCfg) -> LivePlan:
    """Return robots that stand, one a controller.

    Raises:
        BadInput: a value cannot be used.
    """
    arms = plan_trials(cfg)
    return LivePlan(
        arms=tuple(arms),
        controllers=tuple(arm.controller for arm in arms),
        robot=arms[0].load_robot(),
        posture=arms[0].posture,
        slope_deg=cfg.slope_deg,
        obstacles=tuple(obstacles_of(cfg.obstacles)),
    )


def plan_scenario(cfg: ScenarioCfg, controllers: Sequence[str]) -> LivePlan:
    """Return robots that play one scenario, one a controller; none: the file's.

    Raises:
        FileErrors: all that is wrong in the file.
        BadInput: there is no such file or controller.
    """
    scenario = cfg.load()
    if controllers:
        check_controllers(controllers, scenario.robot)
    names = tuple(controllers) or (scenario.controller,)
    world = scenario.simulation.world
    return LivePlan(
        arms=tuple(replace(cfg, controller=name) for name in names),
        controllers=names,
        robot=scenario.robot,
        posture=scenario.posture,
        slope_deg=world.slope_deg,
        obstacles=world.obstacles,
    )


def run_live_command(
    plan: LivePlan, out: Path, address: Address, seconds: float | None, *, opens: bool
) -> int:
    """Run robots and their page until Ctrl-C; return the exit status.

    Args:
        plan: the robots.
        out: run folder.
        address: of the page.
        seconds: of wall time until it ends by itself; None: never.
        opens: open a browser.

    Raises:
        BadInput: a value cannot be used, or the port is taken.
        TestbedError: a robot ended by itself.
    """
    robot = plan.robot
    secret = secrets.token_urlsafe(24)
    links: list[RobotLink] = []
    api = PageApi(
        robot,
        plan.controllers,
        [n for n in controller_names() if n not in {"constant", "current"}],
        lambda i, action: i < len(links) and links[i].send(action),
    )
    with (
        closed_viser(secret) as viser,
        PageServer(viser, secret, address, api) as page,
    ):
        say_if_it_compiles()
        folder = create_run_folder(out.parent, out.name)
        try:
            for arm, name in zip(plan.arms, plan.controllers, strict=True):
                kept = create_run_folder(folder, plain_name(name))
                links.append(RobotLink(replace(arm, folder=kept)))
            scene = Scene(
                viser,
                robot,
                robot.posture(plan.posture).angles,
                plan.controllers,
                slope_deg=plan.slope_deg,
                obstacles=plan.obstacles,
                on_joint=api.choose,
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
    frame = FrameClock()
    while seconds is None or time.monotonic() < begin + seconds:
        now = time.monotonic()
        if api.viewers or now >= idle + IDLE_S:
            idle = now
            moments = [link.look() for link in links]
            scene.show(moments)
            api.put(moments)
        frame.wait()
