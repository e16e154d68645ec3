"""The link between a live robot and its page, which run in processes of their own.

    RobotEnd: takes what the operator asks for, and sends moments
    PageEnd: sends what the operator asks for, and receives moments
    run_live_robot: the process of a robot that `live` shows

A page cannot slow its robot down: the robot sends a moment only when the last one was
received, and spends `WISHES_S` a slot on actions, at least one. A robot on a machine
that is too slow is late and says so; it never leaves a step out.
"""

import multiprocessing as mp
import os
import signal
import threading
import time

from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.live.robot.live_robot import LiveRobot, play_of
from nao_testbed.experiments.live.robot.moment import Moment
from nao_testbed.experiments.live.robot.operation import Action, Stop
from nao_testbed.experiments.live.robot.scenario_play import ScenarioCfg
from nao_testbed.models import TestbedError
from nao_testbed.models.system import ENDING, Connection
from nao_testbed.sim.body import SimulationDiverged

WISHES_S = 0.002
"""Of a slot's 0.01 s, for actions; those that are left wait for the next slot."""
MOMENT_SLOTS = 4
"""Slots between two moments: 25 a second."""
IDLE_S = 1.0
"""Between two moments, in s, while nobody looks at the page."""
LATE_S = 0.5
"""Behind the clock by more, a robot does not try to catch up."""
STOP_S = 6.0
"""What robots have to end once they are told to, in s; then they are killed."""
MOST_WAITING = 50
"""Actions that a robot has not taken yet; more are refused."""


class RobotEnded(TestbedError):
    """The process of a robot has ended by itself."""


class RobotEnd:
    """The robot's end: `take` before a slot, `tell` after it."""

    def __init__(self, connection: Connection) -> None:
        """Begin with a page that waits for its first moment."""
        self._connection = connection
        self._may_send = True
        self._n_taken = 0

    def take(self, live: LiveRobot) -> bool:
        """Do what the operator has asked for since the last slot.

        Returns:
            False once the page has asked to stop, or is gone.
        """
        connection = self._connection
        until = time.monotonic() + WISHES_S
        try:
            while connection.poll():
                wish = connection.recv()
                if isinstance(wish, Stop):
                    return False
                if wish is None:  # the last moment was received
                    self._may_send = True
                    continue
                live.act(wish)
                self._n_taken += 1
                if time.monotonic() > until:
                    break
        except (EOFError, OSError):
            return False
        return True

    def tell(self, live: LiveRobot, late_s: float) -> bool:
        """Send a moment, where one is due.

        Args:
            live: the robot.
            late_s: how far it is behind the clock on the wall.

        Returns:
            False once the page is gone.
        """
        if self._may_send and live.body.tick % MOMENT_SLOTS == 0:
            try:
                self._connection.send(live.moment(max(late_s, 0.0), self._n_taken))
            except OSError:
                return False
            self._may_send = False
        return True

    def close(self) -> None:
        """Close it; the page sees that the robot has ended."""
        self._connection.close()


class PageEnd:
    """The page's end of the link to one robot; `send` from any thread."""

    def __init__(self, connection: Connection) -> None:
        """Begin with nothing sent."""
        self._connection = connection
        self._lock = threading.Lock()
        self._n_sent = self._n_taken = 0

    def send(self, action: Action) -> bool:
        """Hand an action on; False where too many wait, or the robot is gone."""
        with self._lock:
            if self._n_sent - self._n_taken >= MOST_WAITING:
                return False
            self._n_sent += 1
            return self._put(action)

    def look(self) -> Moment | None:
        """Return the newest moment, None where there is no new one.

        Raises:
            RobotEnded: the robot has ended.
        """
        try:
            if not self._connection.poll():
                return None
            moment: Moment = self._connection.recv()
        except (EOFError, OSError) as error:
            raise RobotEnded("a robot's process has ended; see above.") from error
        with self._lock:
            self._n_taken = moment.n_taken
            self._put(None)
        return moment

    def stop(self) -> None:
        """Ask the robot to end."""
        with self._lock:
            self._put(Stop())

    def drain(self) -> None:
        """Receive what is left, so that a robot that ends can send it."""
        try:
            while self._connection.poll():
                self._connection.recv()
        except (EOFError, OSError):
            pass

    def close(self) -> None:
        """Close it; the robot sees that its page is gone."""
        self._connection.close()

    def _put(self, what: object) -> bool:
        try:
            self._connection.send(what)
        except OSError:
            return False
        return True


def run_live_robot(cfg: TrialCfg | ScenarioCfg, connection: Connection) -> None:
    """Run a robot until it is told to stop, or its page is gone.

    Args:
        cfg: of the robot; its duration is not looked at.
        connection: to its page.
    """
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, signal.SIG_IGN)  # whoever started it says when to stop
    threading.Thread(target=_end_with_page, daemon=True).start()
    live = LiveRobot(play_of(cfg))
    reason = "done"
    try:
        _keep_time(live, RobotEnd(connection))
    except SimulationDiverged as error:
        reason = f"failed: {error}"
        live.recording.save_last_second(live.body.sim)
    except BaseException as error:  # foreign code may raise anything
        reason = f"failed: {str(error) or type(error).__name__}"
        raise
    finally:
        live.close(reason)


def _end_with_page() -> None:
    """End a robot whose code hangs when whoever started it was killed."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        time.sleep(STOP_S)
        os._exit(1)


def _keep_time(live: LiveRobot, link: RobotEnd) -> None:
    """Step against the clock until the page asks to stop, or is gone."""
    tick_s = live.body.ledger.cfg.tick_s
    begin = time.monotonic() - live.body.time_s
    while link.take(live):
        live.slot()
        late = time.monotonic() - begin - live.body.time_s
        if not link.tell(live, late):
            return
        if late > LATE_S:
            begin += late
        elif late < -tick_s:
            time.sleep(-late)
