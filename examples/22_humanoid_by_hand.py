"""X-ray a humanoid with a hand-written URDF: 12 joints, one box per link.

`small_humanoid/` is a robot folder of 180 lines. Its tables were written by

    nao-testbed robot --from-urdf small_humanoid.urdf DIR

Only the posture `stand` and the groups were added. The lesson gives the left ankle an
error of 2° in roll, records 15 s of standing, and finds the error in the recorded
angles and currents. `docs/start/your_robot.md` does the same with a Unitree G1.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from nao_testbed import HeatCfg, load_robot, run_heat
from nao_testbed.experiments.heat.xray.xray import XrayCfg, xray
from nao_testbed.sim.body.ankle_gains import ankle_gains

FOLDER = Path(__file__).resolve().parent / "small_humanoid"


def main() -> None:
    robot = load_robot(FOLDER)
    print(f"{robot.name}: {len(robot.joints)} joints, {robot.total_mass:.1f} kg")
    for row in ankle_gains(robot, robot.posture("stand")):
        held, needed = f"{row.held:.0f} N·m/rad", f"{row.needed:.0f}"
        print(f"both ankles hold {held} in {row.direction}, gravity needs {needed}")

    with TemporaryDirectory() as scratch:
        cfg = HeatCfg(
            robot=FOLDER,
            posture="stand",
            minutes=0.25,
            controllers=("fixed",),
            misalignment_deg={"left_ankle_roll": 2.0},
        )
        trial = run_heat(cfg, Path(scratch) / "run").trials["fixed"]
        print(f"stood for {trial.sim_s:.0f} s, fallen: {trial.fell}")
        found = xray(XrayCfg(source=Path(trial.folder or "")), robot)

    for name in found.named:
        error = found.suspects.error_of(name)
        low, high = error.low_deg, error.high_deg
        print(f"{name} is {error.degrees:+.2f}° off ({low:+.2f}° to {high:+.2f}°)")
    share = found.losses.useless_w / found.losses.loss_w
    print(f"{share:.0%} of the legs' heat is useless")


if __name__ == "__main__":
    main()
