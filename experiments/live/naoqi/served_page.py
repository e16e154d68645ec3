"""The page of a served robot: its programs are seen, and a person is one more owner.

    main process: qi's threads, ServedRobot, LiveRobot ── link ── process of the page

The page runs in a process of its own, so that what it computes and sends keeps neither
the robot nor the threads of its clients waiting. What a person asks for is done between
two slots, under the lock of the robot, and passes ledger and gate as at `live`.
"""

import multiprocessing as mp
import signal
import sys
import webbrowser
from collections.abc import Mapping
from typing import TextIO

from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.live.page.server import Address
from nao_testbed.experiments.live.robot.link import PageEnd, RobotEnd
from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.run_live import open_page, plan_of
from nao_testbed.experiments.server.naoqi.client import Parts
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.system import ENDING, Connection

STOP_S = 5.0
TOLD = frozenset({"client", "failed", "warning"})
"""Kinds of events that the page tells as sentences; what moves and who has it, it shows
anyway."""


class ServedPlay:
    """A served robot as `LiveRobot` takes it."""

    def __init__(self, parts: Parts) -> None:
        """Look at a robot.

        Args:
            parts: of the robot, with its motion tasks.
        """
        self._parts, self._served = parts, parts.served
        self.setup, self.recording = self._served.setup, self._served.recording
        self.controller = self._served.controller
        self.news: list[str] = []
        """To be told: its events are recorded by itself."""

    @property
    def busy(self) -> str:
        """Why it cannot be forecast now: the way of a program's motion goes on."""
        for task in self._parts.motion.tasks():
            return (
                f"while {task.client} has the motion {task.name}; ask again when it "
                "has ended"
            )
        return ""

    def slot(self) -> None:
        """Run one device slot."""
        self._served.slot()

    def close(self, reason: str) -> None:
        """End the robot, unless it has ended."""
        self._served.close(reason)


def attach(parts: Parts, connection: Connection) -> LiveRobot:
    """Let a page see a served robot and act on it, from its next slot on.

    Args:
        parts: of the robot, which does not run yet.
        connection: to the page.
    """
    served, link = parts.served, RobotEnd(connection)
    live = LiveRobot(ServedPlay(parts))

    def step() -> None:
        with served.access():
            is_open = link.take(live)
            live.slot()
            if not is_open or not link.tell(live, served.late_s):
                served.step = served.slot
                print(
                    "The page has ended; the robot is served on.",
                    file=sys.stderr,
                    flush=True,
                )

    def tell(kind: str, data: Mapping[str, object]) -> None:
        if kind in TOLD or data.get("has_failed"):
            live.say(str(data.get("said", kind)))

    served.step = step
    served.on_event.append(tell)
    return live


class ServedPage:
    """The process of a page: a context; `attach` the robot once it is served."""

    def __init__(
        self, trial: TrialCfg, address: Address, url_to: TextIO, *, opens: bool
    ) -> None:
        """Start it, and wait until it serves.

        Args:
            trial: the robot and its setting.
            address: of the page.
            url_to: where its address is printed.
            opens: open a browser.

        Raises:
            BadInput: the port cannot be had.
            TestbedError: the page could not be served.
        """
        context = mp.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve_page, args=(trial, address, theirs), daemon=True
        )
        self._process.start()
        theirs.close()
        self._url_to, self._opens = url_to, opens
        self._live: LiveRobot | None = None
        try:
            found = self._connection.recv()
        except EOFError:
            found = TestbedError("the page could not be served; see above.")
        except BaseException:
            self._end()
            raise
        if isinstance(found, TestbedError):
            self._end()
            raise found
        self._url = str(found)

    def __enter__(self) -> "ServedPage":
        """Return it."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the page; the robot has ended, or ends now."""
        if self._live is not None:
            self._live.close("done")
        self._end()

    def attach(self, parts: Parts) -> None:
        """Show a robot, and let a person act on it; say where.

        Args:
            parts: of the robot, which does not run yet.
        """
        self._live = attach(parts, self._connection)
        print(self._url, file=self._url_to, flush=True)
        if self._opens:
            webbrowser.open(self._url)

    def _end(self) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.join(STOP_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve_page(trial: TrialCfg, address: Address, connection: Connection) -> None:
    """Serve the page until the robot has ended.

    Args:
        trial: the robot and its setting.
        address: of the page.
        connection: to the robot: first goes the page's address, or why there is none.
    """
    for number in {signal.SIGINT, *ENDING} - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)  # whoever started it ends it
    link = PageEnd(connection)
    try:
        with open_page(plan_of([trial]), address, [link]) as page:
            scene = page.lay_scene()
            connection.send(page.url)
            try:
                page.watch(scene)
            except TestbedError:
                return  # the robot has ended
    except BadInput as error:
        connection.send(error)
