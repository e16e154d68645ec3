"""Page of a served robot, with its client programs and a person as another owner.

    main process: qi's threads, ServedRobot, LiveRobot ── link ── process of the page

The page runs in its own process, so that its load delays neither the robot nor the
client threads. A person's requests are executed between two slots, under the lock of
the robot, and pass ledger and gate as in `live`.
"""

import multiprocessing as mp
import signal
import sys
import webbrowser
from collections.abc import Mapping
from typing import TextIO

from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.live.page import Address
from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.robot.process_link import PageEnd, RobotEnd
from nao_testbed.experiments.live.run_live import open_page, plan_of
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.system import END_SIGNALS, Connection

STOP_S = 5.0
SHOWN_EVENTS = frozenset({"client", "failed", "warning"})
"""Kinds of events that the page shows as sentences; motions and owners have their
own displays."""


class ServedPlay:
    """Adapter of a served robot for `LiveRobot`."""

    def __init__(self, parts: Parts) -> None:
        """Connect to a robot.

        Args:
            parts: parts of the robot, with its motion tasks.
        """
        self._parts, self._served = parts, parts.served
        self.setup, self.recording = self._served.setup, self._served.recording
        self.controller = self._served.controller
        self.messages: list[str] = []
        """Empty: the served robot records its own events."""

    @property
    def busy(self) -> str:
        """Reason against a forecast now: a program's motion is running."""
        for task in self._parts.motion.tasks():
            return (
                f"while {task.client} runs the motion {task.name}; try again when it "
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
    """Connect a page to a served robot from its next slot on.

    Args:
        parts: parts of the robot, which does not run yet.
        connection: connection to the page.
    """
    served, link = parts.served, RobotEnd(connection)
    live = LiveRobot(ServedPlay(parts))

    def step() -> None:
        with served.access():
            is_open = link.take(live)
            live.slot()
            if not is_open or not link.report(live, served.late_s):
                served.step = served.slot
                print(
                    "The page has stopped; the robot is still served.",
                    file=sys.stderr,
                    flush=True,
                )

    def show_event(kind: str, data: Mapping[str, object]) -> None:
        if kind in SHOWN_EVENTS or data.get("has_failed"):
            live.say(str(data.get("said", kind)))

    served.step = step
    served.on_event.append(show_event)
    return live


class ServedPage:
    """Process of a page: a context; `attach` the robot once it is served."""

    def __init__(
        self, trial: TrialCfg, address: Address, url_to: TextIO, *, opens: bool
    ) -> None:
        """Start the process, and wait until it serves.

        Args:
            trial: robot with its setting.
            address: address of the page.
            url_to: stream for the page's address.
            opens: True: open a browser.

        Raises:
            BadInput: the port is not available.
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
        return self

    def __exit__(self, *error: object) -> None:
        """End the page, and the robot if it still runs."""
        if self._live is not None:
            self._live.close("done")
        self._end()

    def attach(self, parts: Parts) -> None:
        """Connect a robot to the page and print the page's address.

        Args:
            parts: parts of the robot, which does not run yet.
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
        address: address of the page.
        connection: connection to the robot; its first message is the page's address, or
            the error.
    """
    for number in {signal.SIGINT, *END_SIGNALS} - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)  # the parent process ends it
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
