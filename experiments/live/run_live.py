"""Robots of `nao-testbed live` in separate processes, their page, and their end.

Each robot stops on a message, or by itself when its parent process has ended. Its run
folder is closed in both cases.
"""

import multiprocessing as mp
import secrets
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nao_testbed.controllers.policies.text import PREFIX, short_names
from nao_testbed.controllers.registry import check_controllers, controller_names
from nao_testbed.experiments import IS_COMMAND
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.closed_loop.warm_up import warn_before_run
from nao_testbed.experiments.common.signals import exit_status, stop_reason
from nao_testbed.experiments.common.workers import exit_text
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.live.page import Address
from nao_testbed.experiments.live.robot.operation import Touch
from nao_testbed.experiments.live.robot.process_link import (
    IDLE_S,
    STOP_S,
    PageEnd,
    ProcessEnded,
    run_live_robot,
)
from nao_testbed.experiments.live.scenario_cfg import ScenarioCfg
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.system import CAN_FORK, END_SIGNALS, blocked_signals
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.recording.run_folder import create_run_folder, plain_name

if TYPE_CHECKING:
    from viser import ViserServer

    from nao_testbed.experiments.live.page.page_api import PageApi
    from nao_testbed.experiments.live.page.scene import Scene


class RobotProcess:
    """Parent's handle of one robot process."""

    def __init__(
        self,
        cfg: TrialCfg | ScenarioCfg,
        ours_only: Sequence[socket.socket | PageEnd] = (),
        *,
        warns: bool = False,
    ) -> None:
        """Start the process.

        The command forks it, with all modules in memory, unless threads run already.

        Args:
            cfg: configuration of the robot.
            ours_only: connections of this process that a fork must not keep open.
            warns: True: warn of a fall before the robot is built.
        """
        is_fork = IS_COMMAND and CAN_FORK and threading.active_count() == 1
        context: Any = mp.get_context("fork" if is_fork else "spawn")
        ours, theirs = context.Pipe()
        self.link = PageEnd(ours)
        inherited = (*ours_only, self.link) if is_fork else ()
        self.process = context.Process(
            target=run_live_robot,
            args=(cfg, theirs, inherited, warns),
            daemon=CAN_FORK,  # a daemon cannot start the process of a forecast
        )
        with blocked_signals((signal.SIGINT, *END_SIGNALS)):  # until it ignores them
            self.process.start()
        theirs.close()

    def join(self, end_s: float) -> bool:
        """Wait for the end of the process; kill it after the deadline.

        A robot that is still being built has nothing to save, and is killed at once.

        Args:
            end_s: deadline in `time.monotonic` time.

        Returns:
            True if it ended by itself, or had not started.
        """
        self.link.drain()
        while (is_alive := self.process.is_alive()) and (
            self.link.has_started and time.monotonic() < end_s
        ):
            self.process.join(0.05)
            self.link.drain()
        if is_alive:
            self.process.kill()
            self.process.join()
        self.link.close()
        return not is_alive or not self.link.has_started


def end_robots(robots: Sequence[RobotProcess], controllers: Sequence[str]) -> None:
    """Stop all robots, and print the names of killed ones."""
    end_s = time.monotonic() + STOP_S
    for robot in robots:
        robot.link.stop()
    for robot, controller in zip(robots, controllers, strict=False):
        if not robot.join(end_s):
            print(
                f"the robot of controller {controller!r} did not end within "
                f"{STOP_S:g} s; its process was killed.",
                file=sys.stderr,
            )


def _named(
    ended: ProcessEnded, robots: Sequence[RobotProcess], controllers: Sequence[str]
) -> TestbedError:
    """Return an error with the name and exit of the ended process."""
    for robot, controller in zip(robots, controllers, strict=False):
        robot.process.join(0.1)
        if not robot.process.is_alive():
            how = exit_text(robot.process.exitcode)
            return TestbedError(
                f"the process of controller {controller!r} {how}: its code ended or "
                "crashed it, or memory ran out; the run folder has the rows up to "
                "then."
            )
    return ended


@dataclass(frozen=True, kw_only=True)
class LivePlan:
    """Robots to be shown side by side."""

    trials: tuple[TrialCfg | ScenarioCfg, ...]
    """One configuration per robot, without its run folder."""
    controllers: tuple[str, ...]
    """Name of each robot's controller; of a policy its short name."""
    robot: Robot
    """Description shared by all robots."""
    posture: str
    """Initial posture."""
    slope_deg: float
    """Slope of the ground, in degrees."""
    obstacles: tuple[Obstacle, ...]
    """Obstacles around each robot."""


def plan_standing(cfg: HeatCfg) -> LivePlan:
    """Return robots at rest, one per controller.

    Raises:
        BadInput: a value is invalid.
    """
    return plan_of(plan_trials(cfg))


def plan_of(trials: Sequence[TrialCfg]) -> LivePlan:
    """Return a plan of robots that differ only in their controllers.

    Raises:
        BadInput: a policy is to run on a servo with fixed gains.
    """
    for trial in trials:
        kind = trial.simulation.servo.kind
        if trial.controller.startswith(PREFIX) and kind != "torque":
            raise BadInput(
                f"servo {kind!r} has fixed gains, and a policy sets its own; use "
                "--servo torque."
            )
    world = trials[0].simulation.world
    return LivePlan(
        trials=tuple(trials),
        controllers=tuple(short_names([trial.controller for trial in trials])),
        robot=trials[0].load_robot(),
        posture=trials[0].posture,
        slope_deg=world.slope_deg,
        obstacles=world.obstacles,
    )


def plan_scenario(cfg: ScenarioCfg, controllers: Sequence[str]) -> LivePlan:
    """Return robots that play one scenario, one per controller; empty: the file's.

    Raises:
        FileErrors: all errors in the file.
        BadInput: the file or a controller does not exist.
    """
    from nao_testbed.experiments.live.robot.scenario_play import load_plan  # noqa: PLC0415  # heavy

    scenario = load_plan(cfg)
    if controllers:
        check_controllers(controllers, scenario.robot)
    names = tuple(controllers) or (scenario.controller,)
    world = scenario.simulation.world
    return LivePlan(
        trials=tuple(replace(cfg, controller=name) for name in names),
        controllers=tuple(short_names(names)),
        robot=scenario.robot,
        posture=scenario.posture,
        slope_deg=world.slope_deg,
        obstacles=world.obstacles,
    )


@contextmanager
def open_page(
    plan: LivePlan,
    address: Address,
    links: Sequence[PageEnd],
    listener: socket.socket | None = None,
) -> Iterator["LivePage"]:
    """Serve the page of robots in threads, as a context.

    Args:
        plan: robots to show.
        address: address of the page.
        links: links to the robots.
        listener: socket of the address from `Address.claim`; None: bind it here.

    Raises:
        BadInput: the port is not available.
    """
    from nao_testbed.experiments.live.page import gateway  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.live.page.page_api import PageApi  # noqa: PLC0415  # heavy

    secret = secrets.token_urlsafe(24)
    api = PageApi(
        plan.robot,
        plan.controllers,
        [n for n in controller_names() if n not in {"constant", "current"}],
        lambda i, action: links[i].send(action),
    )
    with (
        gateway.closed_viser(secret) as viser,
        gateway.PageServer(viser, secret, address, api, listener) as server,
    ):
        yield LivePage(plan, links, api, viser, server.url)


class LivePage:
    """Page that is being served: call `lay_scene`, then `watch`."""

    def __init__(
        self,
        plan: LivePlan,
        links: Sequence[PageEnd],
        api: "PageApi",
        viser: "ViserServer",
        url: str,
    ) -> None:
        """Attach the robots; called by `open_page`."""
        self._plan, self._links = plan, links
        self._api, self._viser = api, viser
        self.url = url
        """URL for the user's browser."""

    def lay_scene(self) -> "Scene":
        """Return the 3-D view of the robots in their initial state."""
        from nao_testbed.experiments.live.page.scene import Scene  # noqa: PLC0415  # heavy

        plan = self._plan
        return Scene(
            self._viser,
            plan.robot,
            plan.robot.posture(plan.posture).angles,
            plan.controllers,
            slope_deg=plan.slope_deg,
            obstacles=plan.obstacles,
            on_joint=self._api.choose,
            on_touch=lambda i, name: self._links[i].send(Touch(sensor=name)),
        )

    def watch(self, scene: "Scene", seconds: float | None = None) -> None:
        """Show moments as they arrive.

        Args:
            scene: scene from `lay_scene`.
            seconds: wall time until the end; None: no limit.

        Raises:
            TestbedError: a robot has ended.
        """
        from nao_testbed.experiments.live.page.scene import FrameClock  # noqa: PLC0415  # heavy

        begin, idle = time.monotonic(), -IDLE_S
        frame = FrameClock()
        while seconds is None or time.monotonic() < begin + seconds:
            now = time.monotonic()
            if self._api.viewers or now >= idle + IDLE_S:
                idle = now
                moments = [link.poll() for link in self._links]
                scene.show(moments)
                self._api.put(moments)
            frame.wait()


def run_live_command(
    plan: LivePlan, out: Path, address: Address, seconds: float | None, *, opens: bool
) -> int:
    """Run robots and their page until Ctrl-C; return the exit status.

    Args:
        plan: robots to show.
        out: run folder.
        address: address of the page.
        seconds: wall time in s until the automatic end; None: no limit.
        opens: True: open a browser.

    Raises:
        BadInput: a value is invalid, or the port is taken.
        TestbedError: a robot ended unexpectedly.
    """
    robots: list[RobotProcess] = []
    warn_before_run()
    listener, address = address.claim()
    with listener:
        folder = create_run_folder(out.parent, out.name)
        try:
            # Before the page, whose threads would prevent a fork.
            for trial, name in zip(plan.trials, plan.controllers, strict=True):
                kept = create_run_folder(folder, plain_name(name))
                links = [robot.link for robot in robots]
                robots.append(
                    RobotProcess(
                        replace(trial, folder=kept),
                        (listener, *links),
                        warns=not robots,
                    )
                )
            links = [robot.link for robot in robots]
            with open_page(plan, address, links, listener) as page:
                scene = page.lay_scene()
                for link in links:
                    link.start()
                print(page.url, flush=True)
                print(
                    f"Recording to {folder}; stop with Ctrl-C.",
                    file=sys.stderr,
                    flush=True,
                )
                if opens:
                    webbrowser.open(page.url)
                page.watch(scene, seconds)
        except ProcessEnded as ended:
            raise _named(ended, robots, plan.controllers) from ended
        except KeyboardInterrupt as stop:
            status = exit_status(stop)
            why = stop_reason(stop)
        else:
            status, why = 0, "ended"
        finally:
            end_robots(robots, plan.controllers)
    if any(robot.link.has_started for robot in robots):
        print(f"{why}; {folder} has the recording up to then.", file=sys.stderr)
    else:
        print(
            f"{why} before the robots had started; {folder} has no recording.",
            file=sys.stderr,
        )
    return status
