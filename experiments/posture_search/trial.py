"""Stand postures in the simulation, to compare their power with what was foretold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.standing.arm import ArmCfg, run_arm
from experiments.standing.fast_forward import FastForwardCfg
from sim.engine.world import WorldCfg
from sim.robot import SimulationCfg

CONTROLLERS = ("fixed", "smart")
DURATION_S = 20.0
"""Two seconds to take the posture, the rest to settle."""


@dataclass(frozen=True, kw_only=True)
class PostureTrial:
    """One posture under one controller, without misalignment."""

    posture: str
    controller: str
    legs_power_w: float | None
    """Joule loss of the legs at the end, gear friction in play."""
    least_power_w: float | None
    """The least that the true posture at the end allows."""
    failure: str | None
    """Why it ended early: it fell, or its numbers did."""


def stand_postures(
    folder: Path,
    postures: tuple[str, ...],
    slope_deg: float,
    controllers: Sequence[str] = CONTROLLERS,
) -> tuple[PostureTrial, ...]:
    """Let a robot stand in each posture under each controller.

    Args:
        folder: of a robot that knows the postures.
        postures: their names.
        slope_deg: of the ground.
        controllers: their names.
    """
    trials = []
    for posture in postures:
        for controller in controllers:
            result = run_arm(
                ArmCfg(
                    controller=controller,
                    robot_folder=folder,
                    posture=posture,
                    duration_s=DURATION_S,
                    simulation=SimulationCfg(world=WorldCfg(slope_deg=slope_deg)),
                    fast_forward=FastForwardCfg(),
                )
            )
            trials.append(
                PostureTrial(
                    posture=posture,
                    controller=controller,
                    legs_power_w=result.legs_power_w,
                    least_power_w=result.least_power_w,
                    failure=result.failure,
                )
            )
    return tuple(trials)
