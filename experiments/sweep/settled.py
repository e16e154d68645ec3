"""Pushes of one settled robot, each simulated in a fork of its process.

    settle until the first push -> fork -> push in the child, return the result -> fork
                                -> ...

A fork copies everything: the engine's contacts, the sensors' noise, the controller's
memory. So a child gives a result that is bit-identical to that of a complete trial (a
test compares them). A manual copy would have to include every part; a deep copy of
`SmartStiffness` is incomplete.

Only the main thread of a process forks, on systems with `fork`. Otherwise, and after a
child without a result (killed, or an error of the controller), the complete trial is
run.
"""

import dataclasses
import os
import pickle
import threading
from time import perf_counter

from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.trial import (
    Trial,
    TrialCfg,
    check_pushes,
    run_trial,
)
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.models.system import CAN_FORK, end_fork, fork
from nao_testbed.sim.robot import SimulatedRobot


def run_from_settled(cfg: TrialCfg) -> TrialResult:
    """Return the result of `run_trial` for a trial without recording.

    The last settled robot is cached, so trials that differ only in directions and
    forces should follow each other.

    Args:
        cfg: configuration with a push.

    Raises:
        BadInput: a value of the configuration cannot be used.
        TestbedError: the controller raised.
    """
    if not (CAN_FORK and threading.current_thread() is threading.main_thread()):
        return run_trial(cfg)
    before_s = _KEPT.before_s(cfg)
    begin = perf_counter()
    result = _in_child(_KEPT.trial, cfg)
    if result is None:
        return run_trial(cfg)
    wall_s = before_s + perf_counter() - begin
    return dataclasses.replace(result, wall_s=wall_s)


def drop_settled() -> None:
    """Discard the settled robot; the next trial settles again."""
    _KEPT.close()


class _Settled:
    """Cache of the last settled robot of this process."""

    trial: Trial

    def __init__(self) -> None:
        self._cfg: TrialCfg | None = None
        self._sim: SimulatedRobot | None = None
        self._settled_s = 0.0

    def before_s(self, cfg: TrialCfg) -> float:
        """Settle a trial's robot, unless it is cached; return the time used in s."""
        if self._cfg is None or not _is_same_until_pushed(self._cfg, cfg):
            self.close()
            begin = perf_counter()
            robot = cfg.load_robot()
            check_pushes(cfg.pushes, robot)
            controller = make_controller(cfg.controller)
            self._sim = SimulatedRobot(robot, cfg.simulation, cfg.posture)
            recording = RunRecording.open(
                None, robot, seed=cfg.simulation.seed, config=cfg, command=()
            )
            self.trial = Trial(cfg, self._sim, controller, recording, lambda _: None)
            self.trial.settle()
            self._cfg, self._settled_s = cfg, perf_counter() - begin
        return self._settled_s

    def close(self) -> None:
        """Release the robot."""
        self._cfg = None
        if self._sim is not None:
            self._sim.close()
            self._sim = None


_KEPT = _Settled()


def _is_same_until_pushed(one: TrialCfg, other: TrialCfg) -> bool:
    """Return True if trials differ only by the directions and sizes of their pushes."""

    def until_pushed(cfg: TrialCfg) -> TrialCfg:
        pushes = tuple(
            dataclasses.replace(push, force_n=(0.0, 0.0, 0.0)) for push in cfg.pushes
        )
        return dataclasses.replace(cfg, pushes=pushes)

    return until_pushed(one) == until_pushed(other)


def _in_child(trial: Trial, cfg: TrialCfg) -> TrialResult | None:
    """Run a trial to its end in a copy of this process; None: it has no result."""
    read, write = os.pipe()
    pid = fork(lambda: _be_child(trial, cfg, write))
    has_ended = False
    try:
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            data = pipe.read()
        has_ended = True
    finally:
        end_fork(pid, at_once=not has_ended)
    found = pickle.loads(data) if data else None
    assert found is None or isinstance(found, TrialResult)
    return found


def _be_child(trial: Trial, cfg: TrialCfg, write: int) -> None:
    """Run the trial, and write its result, if any."""
    trial.take_pushes(cfg.pushes)
    result = trial.run()
    with os.fdopen(write, "wb") as pipe:
        pickle.dump(result, pipe)
