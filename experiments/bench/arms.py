"""Whole arms of the heat experiment: real-time factors, and what fast-forward saves."""

from pathlib import Path

from experiments.bench.figures import Figure, figure, ratio
from experiments.bench.loop import POSTURE
from experiments.heat.side_by_side import run_side_by_side
from experiments.standing.arm import ArmCfg, run_arm
from experiments.standing.fast_forward import FastForwardCfg
from experiments.standing.results import ArmResult
from models import TestbedError
from sim.recording.run_folder import create_run_folder
from sim.robot import SimulationCfg

MISALIGNMENT_DEG = {"LAnklePitch": 2.0}
"""Something to heat: a left ankle that is two degrees off."""


def measure_real_time(
    robot_folder: Path, folder: Path, *, seconds: float, rounds: int
) -> list[Figure]:
    """Measure how much faster than the clock one arm runs, and two side by side.

    Every round runs one arm and then two, each with its recorder, without
    fast-forward. Of two the slower counts. Building the world and starting the
    processes is not in it.

    Args:
        robot_folder: of the robot.
        folder: for the run folders.
        seconds: simulated time of an arm in s.
        rounds: how often.
    """
    one: list[float] = []
    two: list[float] = []
    for _ in range(rounds):
        for controllers, factors in ((("smart",), one), (("fixed", "smart"), two)):
            arms = [
                _arm(robot_folder, folder, name, seconds, None) for name in controllers
            ]
            results = run_side_by_side(arms, lambda _number, _time_s: None)
            factors.append(min(_real_time_factor(result) for result in results))
    return [
        figure("one_arm_real_time", "one arm, times real time", "1", one),
        figure("two_arms_real_time", "two side by side, the slower", "1", two),
        ratio("two_over_one", "speed of each of two / of one", two, one),
    ]


def measure_fast_forward(
    robot_folder: Path, folder: Path, *, seconds: float
) -> list[Figure]:
    """Measure an arm with and without fast-forward, and how far their heat differs.

    Args:
        robot_folder: of the robot.
        folder: for the run folders.
        seconds: simulated time in s.
    """
    full, fast = (
        run_arm(
            _arm(robot_folder, folder, "fixed", seconds, fast_forward),
            lambda _time_s: None,
        )
        for fast_forward in (None, FastForwardCfg())
    )
    differences = [
        abs(full.joints[name].end_degc - fast.joints[name].end_degc)
        for name in full.joints
    ]
    minutes = f"{seconds / 60.0:g} min"
    return [
        ratio(
            "full_over_fast_forward",
            f"{minutes} stepped / fast-forwarded",
            [_stood(full).wall_s],
            [_stood(fast).wall_s],
        ),
        figure("full_s", f"{minutes}, every step", "s", [full.wall_s]),
        figure("fast_forward_s", f"{minutes}, fast-forward", "s", [fast.wall_s]),
        figure(
            "fast_forward_difference_k",
            "largest difference of a joint at the end",
            "K",
            [max(differences)],
        ),
    ]


def _arm(
    robot_folder: Path,
    folder: Path,
    controller: str,
    seconds: float,
    fast_forward: FastForwardCfg | None,
) -> ArmCfg:
    return ArmCfg(
        controller=controller,
        robot_folder=robot_folder,
        posture=POSTURE,
        duration_s=seconds,
        simulation=SimulationCfg(misalignment_deg=MISALIGNMENT_DEG),
        fast_forward=fast_forward,
        folder=create_run_folder(folder, controller),
    )


def _real_time_factor(result: ArmResult) -> float:
    return _stood(result).sim_s / result.wall_s


def _stood(result: ArmResult) -> ArmResult:
    """Return the result of an arm that came to its end.

    Raises:
        TestbedError: it did not.
    """
    if result.failure is not None:
        raise TestbedError(f"the arm {result.controller}: {result.failure}.")
    return result
