"""Write your own controller, and compare it with stiffness 1.

A controller is any class with a name, `reset` and `step`; it needs no base class. This
one softens a joint as its motor gets hot: full stiffness up to 50 °C, a quarter from
70 °C on. The robot's left ankle is 2 degrees off and its legs start at 65 °C.

In your own package, two lines of pyproject.toml register it,

    [project.entry-points."nao_testbed.controllers"]
    softer-when-hot = "my_package:make_controller"

with a function `make_controller(argument)` that gets the text after a colon, or None,
and returns the controller. Then `nao-testbed heat --controllers fixed,softer-when-hot`
runs it beside the built-in ones.
"""

import numpy as np

import nao_testbed as nt
from nao_testbed.controllers import FixedStiffness


class SofterWhenHot:
    """Stiffness 1 up to 50 °C, falling to 0.25 at 70 °C."""

    name = "softer-when-hot"

    def reset(self, robot: nt.Robot) -> None:
        """Store the robot, which knows its motors."""
        self._robot = robot

    def step(self, observation: nt.Observation) -> nt.Limits:
        """Return the limits for the next 20 ms."""
        temperature = self._robot.largest_of_joint(observation.temperature)
        return nt.Limits(stiffness=np.interp(temperature, [50.0, 70.0], [1.0, 0.25]))


def make_controller(argument: str | None) -> nt.Controller:
    """Return the controller; the entry point names this function."""
    if argument is not None:
        raise nt.BadInput(f"softer-when-hot takes no argument; got {argument!r}.")
    return SofterWhenHot()


def main() -> None:
    robot = nt.load_robot()
    goal = robot.posture("PoseInit").angles
    cfg = nt.SimulationCfg(
        misalignment_deg={"LAnklePitch": 2.0},
        start_degc=dict.fromkeys(robot.groups["Legs"], 65.0),
    )
    shown = ("LAnklePitch", "RKneePitch", "RAnklePitch")
    joints = [robot.joint_index(name) for name in shown]
    print(f"after 6 s{'':<9}{'stiffness of':>13}   motor torques in N·m")
    print(f"{'':<18}{'LAnklePitch':>13}{''.join(f'{n:>13}' for n in shown)}     heat")
    for controller in (FixedStiffness(), make_controller(None)):
        sim = nt.SimulatedRobot(robot, cfg, "PoseInit")
        nt.run_for(nt.Loop(sim, controller, goal), 6.0)
        torque = sim.motor_torque[robot.servo_of_joint[joints]]
        stiffness = sim.read().stiffness[joints[0]]
        heat = sim.heating.joule_power(sim.mean_square).sum()
        print(
            f"{controller.name:<18}{stiffness:13.2f}"
            f"{''.join(f'{value:13.3f}' for value in torque)}{heat:7.2f} W"
            f"{'  fell' if sim.has_fallen() else ''}"
        )
        sim.close()


if __name__ == "__main__":
    main()
