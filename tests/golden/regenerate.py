"""Record the golden run anew: a deliberate act, whose diff is reviewed like code.

    python -m tests.golden.regenerate

Writes `fixed.csv`, `smart.csv` and `golden.json` (command, versions, tolerances and
their reason) beside this file. Do so when a change of physics or control is meant, and
say in the commit what changed and by how much.
"""

import importlib.metadata
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from controllers.registry import make_controller
from experiments.closed_loop.loop import Loop, run_for
from experiments.heat.experiment import HeatCfg, plan_trials
from sim.robot import SimulatedRobot

FOLDER = Path(__file__).parent
COMMAND = "python -m tests.golden.regenerate"
PRESET = "document"
CONTROLLERS = ("fixed", "smart")
DURATION_S = 3.0
PERIOD_S = 0.1
PACKAGES = ("pybullet", "pin", "numpy", "scipy", "numba")

ATOL_Q = 5e-5
"""rad; see REASON."""
ATOL_TORQUE = 0.01
"""N·m; see REASON."""
REASON = (
    "Runs repeat bit for bit on one machine. Another machine rounds otherwise: a "
    "joint misaligned by 1e-9 degrees more, or by 1e-3, shifts angles by up to 1.6e-5 "
    "rad and torques by up to 0.0024 N·m (one count of an encoder times its gain) in "
    "these 3 s. The tolerances are three and four times that; 0.05 degrees more in one "
    "joint exceed them."
)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A table of numbers, a row every 0.1 s."""

    columns: tuple[str, ...]
    rows: NDArray[np.float64]
    """(n, len(columns))"""

    def part(self, prefix: str) -> NDArray[np.float64]:
        """Return the columns of one kind, such as `q`."""
        wanted = [name.partition(".")[0] == prefix for name in self.columns]
        return self.rows[:, wanted]


def record(controller: str, misalignment_deg: dict[str, float] | None = None) -> Trace:
    """Run a robot of the preset and return its true angles and motor torques.

    Args:
        controller: as `make_controller` takes it.
        misalignment_deg: in place of the preset's, joint by joint.
    """
    cfg = HeatCfg(
        preset=PRESET,
        controllers=(controller,),
        misalignment_deg=misalignment_deg or {},
    )
    (arm,) = plan_trials(cfg)
    robot = arm.load_robot()
    sim = SimulatedRobot(robot, arm.simulation, arm.posture)
    try:
        loop = Loop(sim, make_controller(controller), robot.posture(arm.posture).angles)
        rows = []
        for _ in range(round(DURATION_S / PERIOD_S)):
            run_for(loop, PERIOD_S)
            truth = sim.truth()
            rows.append([truth.time_s, *truth.q, *truth.motor_torque])
    finally:
        sim.close()
    columns = (
        "time_s",
        *(f"q.{name}" for name in robot.joint_names),
        *(f"motor_torque.{name}" for name in robot.motor_names),
    )
    return Trace(columns=columns, rows=np.array(rows))


def read(controller: str) -> Trace:
    """Return the golden trace of a controller."""
    path = FOLDER / f"{controller}.csv"
    header = path.read_text(encoding="utf-8").partition("\n")[0]
    rows = np.loadtxt(path, delimiter=",", skiprows=1, encoding="utf-8")
    return Trace(columns=tuple(header.split(",")), rows=rows)


def write(controller: str, trace: Trace) -> None:
    """Replace the golden trace of a controller."""
    np.savetxt(
        FOLDER / f"{controller}.csv",
        trace.rows,
        fmt=["%.2f"] + ["%.6f"] * (len(trace.columns) - 1),
        delimiter=",",
        header=",".join(trace.columns),
        comments="",
        encoding="utf-8",
    )


def describe() -> dict[str, object]:
    """Return what stands beside the traces."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "command": COMMAND,
        "shows": (
            f"The first {DURATION_S:g} s of `nao-testbed heat --preset {PRESET}`: true "
            f"joint angles in rad and motor torques in N·m, every {PERIOD_S:g} s."
        ),
        "versions": {"python": platform.python_version(), **versions},
        "tolerance": {"q_rad": ATOL_Q, "motor_torque_nm": ATOL_TORQUE},
        "reason": REASON,
    }


def main(controllers: Sequence[str] = CONTROLLERS) -> None:
    """Record and write everything."""
    for controller in controllers:
        write(controller, record(controller))
    text = json.dumps(describe(), indent=2, ensure_ascii=False)
    (FOLDER / "golden.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
