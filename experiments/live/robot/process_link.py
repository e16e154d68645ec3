"""Link between a live robot and its page, which run in separate processes.

    RobotEnd: receives the operator's requests, and sends moments
    PageEnd: sends the operator's requests, and receives moments
    run_live_robot: the process of a robot that `live` shows

A page cannot slow its robot down: the robot sends a moment only after the last one was
received, and spends `ACTIONS_S` per slot on actions, at least one. A robot on a slow
machine reports its delay; it never skips a step.
"""

import multiprocessing as mp
import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.closed_loop.warm_up import warn_of_fall
from nao_testbed.experiments.live.robot.live_robot import LiveRobot, play_of
from nao_testbed.experiments.live.robot.moment import Moment
from nao_testbed.experiments.live.robot.operation import Action, Stop
from nao_testbed.experiments.live.scenario_cfg import ScenarioCfg
from nao_testbed.models import TestbedError
from nao_testbed.models.system import END_SIGNALS, Connection
from nao_testbed.sim.body import SimulationDiverged

ACTIONS_S = 0.002
"""Time for actions in s, of a slot's 0.01 s; further actions wait for the next slot."""
MOMENT_SLOTS = 4
"""Slots between two moments: 25 per second."""
IDLE_S = 1.0
"""Time between two moments without viewers, in s."""
LATE_S = 0.5
"""Delay behind the clock beyond which a robot does not catch up, in s."""
STOP_S = 6.0
"""Time limit for robots to end after a stop request, in s; then they are killed."""
MAX_WAITING = 50
"""Maximum number of actions waiting for a robot; more are refused."""


class SupportsClose(Protocol):
    """Open connection."""

    def close(self) -> None:
        """Close it in this process."""


class ProcessEnded(TestbedError):
    """Unexpected end of a robot's process."""


class RobotEnd:
    """Robot's end of the link: `take` before a slot, `report` after it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._may_send = True
        self._n_taken = 0

    def take(self, live: LiveRobot) -> bool:
        """Execute the operator's requests since the last slot.

        Returns:
            False once the page has asked to stop, or is closed.
        """
        connection = self._connection
        until = time.monotonic() + ACTIONS_S
        try:
            while connection.poll():
                action = connection.recv()
                if isinstance(action, Stop):
                    return False
                if action is None:  # acknowledgement of the last moment
                    self._may_send = True
                    continue
                live.act(action)
                self._n_taken += 1
                if time.monotonic() > until:
                    break
        except (EOFError, OSError):
            return False
        return True

    def report(self, live: LiveRobot, late_s: float) -> bool:
        """Send a moment if one is due.

        Args:
            live: the robot.
            late_s: delay behind the wall clock.

        Returns:
            False once the page is closed.
        """
        if self._may_send and live.body.tick % MOMENT_SLOTS == 0:
            try:
                self._connection.send(live.moment(max(late_s, 0.0), self._n_taken))
            except OSError:
                return False
            self._may_send = False
        return True

    def close(self) -> None:
        """Close the link, which signals the end of the robot to the page."""
        self._connection.close()


class PageEnd:
    """Page's end of the link to one robot; `send` from any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._n_sent = self._n_taken = 0
        self.has_started = False
        """True once the robot has sent a moment: it has run, and is recorded."""

    def send(self, action: Action) -> bool:
        """Send an action; return False if too many wait, or the robot has ended."""
        with self._lock:
            if self._n_sent - self._n_taken >= MAX_WAITING:
                return False
            self._n_sent += 1
            return self._put(action)

    def start(self) -> None:
        """Let the robot's process build the robot; it waits for this call."""
        with self._lock:
            self._put(None)

    def poll(self) -> Moment | None:
        """Return the newest moment; None without a new one.

        Raises:
            RobotEnded: the robot has ended.
        """
        try:
            if not self._connection.poll():
                return None
            moment: Moment = self._connection.recv()
            self.has_started = True
        except (EOFError, OSError) as error:
            raise ProcessEnded("a robot's process has ended; see above.") from error
        with self._lock:
            self._n_taken = moment.n_taken
            self._put(None)
        return moment

    def stop(self) -> None:
        """Ask the robot to end."""
        with self._lock:
            self._put(Stop())

    def drain(self) -> None:
        """Receive all remaining messages, so that a robot that ends can send them."""
        try:
            while self._connection.poll():
                self._connection.recv()
                self.has_started = True
        except (EOFError, OSError):
            pass

    def close(self) -> None:
        """Close the link, which signals the end of the page to the robot."""
        self._connection.close()

    def _put(self, what: object) -> bool:
        try:
            self._connection.send(what)
        except OSError:
            return False
        return True


def run_live_robot(
    cfg: TrialCfg | ScenarioCfg,
    connection: Connection,
    inherited: Sequence[SupportsClose],
    warns: bool,
) -> None:
    """Run a robot until a stop request, or until its page is closed.

    The robot is built once its page is ready, so that the page does not wait for it.

    Args:
        cfg: configuration of the robot; its duration is ignored.
        connection: connection to the page.
        inherited: connections of the parent process, to be closed.
        warns: True: print a warning if the robot must fall.
    """
    for number in (signal.SIGINT, *END_SIGNALS):
        signal.signal(number, signal.SIG_IGN)  # the parent process sends the stop
    for one in inherited:
        one.close()
    threading.Thread(target=_end_with_page, daemon=True).start()
    try:
        if isinstance(connection.recv(), Stop):
            return
    except (EOFError, OSError):
        return
    if warns and isinstance(cfg, TrialCfg):
        warn_of_fall(cfg.load_robot(), cfg.posture, cfg.simulation)
    live = LiveRobot(play_of(cfg))
    reason = "done"
    try:
        _run_in_real_time(live, RobotEnd(connection))
    except SimulationDiverged as error:
        reason = f"failed: {error}"
        live.recording.save_last_second(live.body.sim)
    except BaseException as error:  # foreign code may raise anything
        reason = f"failed: {str(error) or type(error).__name__}"
        raise
    finally:
        live.close(reason)


def _end_with_page() -> None:
    """End a robot whose code hangs after its parent process was killed."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        time.sleep(STOP_S)
        os._exit(1)


def _run_in_real_time(live: LiveRobot, link: RobotEnd) -> None:
    """Step in real time until the page asks to stop, or is closed."""
    tick_s = live.body.ledger.cfg.tick_s
    begin = time.monotonic() - live.body.time_s
    while link.take(live):
        live.slot()
        late = time.monotonic() - begin - live.body.time_s
        if not link.report(live, late):
            return
        if late > LATE_S:
            begin += late
        elif late < -tick_s:
            time.sleep(-late)
