"""Setup of a scenario: robot, reservations, transmitter, schemas.

Events act on the setup and expectations read it. It also applies disturbances: forces
on links, and a tilting ground.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.manager.ledger import Ledger, Listener
from nao_testbed.controllers.arbitration.requests import HIGHEST, Owner
from nao_testbed.controllers.interface.controller import Controller
from nao_testbed.controllers.registry import make_controller
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.declaration import State
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.controllers.transmitter.receipt import GroupKey
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.experiments.shared_robot.behaviours import StiffnessOwner
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from nao_testbed.models import Robot, UnknownName
from nao_testbed.models.library import PRESET
from nao_testbed.sim.engine.world import ticks_of
from nao_testbed.sim.robot import SimulatedRobot, misalignment_of

SLOPE_RATE_DEG_S = 2.0
"""Tilt rate of the ground, in degrees/s: a sudden slope would hit a standing robot like
a blow."""

MISALIGNMENT_RATE_DEG_S = 1.0
"""Rate at which an encoder error changes, in degrees/s, for the same reason."""


class Disturbance:
    """Pushes and a ground, applied at the start of each slot by `begin`.

    Without an active disturbance a slot costs nothing.
    """

    def __init__(self, body: RobotWithLedger) -> None:
        """Create an inactive disturbance."""
        self._body = body
        self._pushes: list[tuple[str, NDArray[np.float64], int]] = []
        """Link, force in N, and the slot in which the push ends."""
        self._slope_deg: float | None = None
        """Target slope in degrees; None: target reached."""
        self._errors_deg: dict[str, float] = {}
        """Target encoder error by joint."""
        self.touches: dict[str, int] = {}
        """Touched sensors, each with the slot in which the touch ends."""

    def push(self, link: str, newton: Sequence[float], until_tick: int) -> None:
        """Push a link at its centre of mass, in world axes, until a slot."""
        self._pushes.append((link, np.array(newton), until_tick))

    def touch(self, sensor: str, until_tick: int) -> None:
        """Touch a sensor, or press a button, until a slot.

        Raises:
            UnknownName: the robot has no such sensor.
        """
        robot = self._body.sim.robot
        if sensor not in robot.touch_sensors:
            where = f"robot {robot.name!r}"
            raise UnknownName("Touch sensor", sensor, robot.touch_sensors, where)
        self.touches[sensor] = until_tick

    def set_ground(self, friction: float | None, slope_deg: float | None) -> None:
        """Change the ground; its slope changes at 2 degrees/s."""
        engine = self._body.sim.engine
        if friction is not None:
            engine.set_ground(friction, engine.cfg.slope_deg)
        if slope_deg is not None:
            self._slope_deg = slope_deg

    def set_misalignment(self, joint: str, degrees: float) -> None:
        """Change the encoder error of a joint at 1 degree/s.

        Raises:
            UnknownName: the robot has no such joint.
            BadInput: the error is beyond the joint's range.
        """
        misalignment_of(self._body.sim.robot, {joint: degrees})
        self._errors_deg[joint] = degrees

    @property
    def is_turning(self) -> bool:
        """Return True while the ground or an encoder error moves to its target."""
        return bool(self._errors_deg) or self._slope_deg is not None

    def begin(self, tick: int) -> None:
        """Apply the disturbances at the start of a slot."""
        if self.touches:
            self.touches = {k: end for k, end in self.touches.items() if end > tick}
        if self._errors_deg:
            self._misalign()
        if self._slope_deg is not None:
            self._turn(self._slope_deg)
        if self._pushes:
            self._pushes = [push for push in self._pushes if push[2] > tick]
            self._body.disturb = self._apply if self._pushes else None

    def _turn(self, wanted: float) -> None:
        engine = self._body.sim.engine
        most = SLOPE_RATE_DEG_S * self._body.cfg.ledger.tick_s
        present = engine.cfg.slope_deg
        step = min(max(wanted - present, -most), most)
        engine.set_ground(engine.cfg.friction, present + step)
        if abs(wanted - present) <= most:
            self._slope_deg = None

    def _misalign(self) -> None:
        sim = self._body.sim
        most = MISALIGNMENT_RATE_DEG_S * self._body.cfg.ledger.tick_s
        present = np.rad2deg(sim.misalignment)
        for joint, wanted in list(self._errors_deg.items()):
            now = float(present[sim.robot.joint_index(joint)])
            sim.set_misalignment(joint, now + min(max(wanted - now, -most), most))
            if abs(wanted - now) <= most:
                del self._errors_deg[joint]

    def _apply(self, sim: SimulatedRobot) -> None:
        for link, force, _ in self._pushes:
            sim.push_com(link, force)


DIRECTOR = "scenario"
"""Name of the owner that speaks the texts of the scenario."""


class Setup:
    """Objects of one run: created once, stepped slot by slot, closed at the end."""

    def __init__(
        self,
        robot: Robot,
        cfg: RobotWithLedgerCfg,
        behaviours: Iterable[tuple[Activation, str | None]] = (),
        *,
        controller: str,
        seed: int = 0,
        listeners: Iterable[Listener] = (),
        control_period: float = CONTROL_PERIOD,
        sim: SimulatedRobot | None = None,
        wrap: Callable[[Controller], Controller] = lambda controller: controller,
    ) -> None:
        """Place the robot, and register all behaviours without activating them.

        Args:
            robot: robot with the library of the scenario.
            cfg: configuration of the robot and its reservations.
            behaviours: behaviours of the top level, each with its parent owner.
            controller: stiffness controller, in the format of `nao-testbed heat`.
            seed: seed of the schemas' random numbers.
            listeners: called with every event from the start.
            control_period: control period of the stiffness controller, in s.
            sim: the robot itself; None creates it from `cfg`.
            wrap: called with each stiffness controller before its first decision;
                returns the controller to use.

        Raises:
            BadInput: a value cannot be used; all resources are released.
        """
        self.robot = robot
        self._wrap = wrap
        self.controller = controller
        """Name of the present stiffness controller."""
        self.tick_s = cfg.ledger.tick_s
        self.motors_of = dict(
            zip(robot.joint_names, robot.motors_of_joint, strict=True)
        )
        """Indices of the motors, by joint."""
        self.body = body = RobotWithLedger(robot, cfg, listeners=listeners, sim=sim)
        try:
            self.disturbance = Disturbance(body)
            self.schemas = SchemaRuntime(
                robot,
                body.ledger,
                GateActuators(body.gate, body.commands, body.ledger),
                seed=seed,
                posture=body.posture,
            )
            body.ledger.add_owner(Owner(name=DIRECTOR, priority=HIGHEST), 0)
            body.behaviours.add(DIRECTOR, self.schemas.step)
            self.control_ticks = ticks_of("control period", control_period, self.tick_s)
            self.stiffness = StiffnessOwner(
                body.ledger,
                body.gate,
                robot,
                wrap(make_controller(controller)),
                self.control_ticks,
            )
            body.behaviours.add(self.stiffness.name, self.stiffness)
            self._said = 0
            orders = (cfg.library or robot.library).orders.values()
            self._presets = sorted({PRESET, *(order.preset for order in orders)})
            for activation, parent in behaviours:
                self.schemas.add(activation, part_of=parent)
        except BaseException:
            self.body.close()
            raise

    @property
    def ledger(self) -> Ledger:
        """Ledger of the reservations."""
        return self.body.ledger

    @property
    def tick(self) -> int:
        """Number of the present slot."""
        return self.body.tick

    def true_degc(self) -> NDArray[np.float64]:
        """Return the true temperatures (n_motors,) in °C."""
        return self.body.sim.heating.temperature

    def set_temperature(self, joint: str, degc: float) -> None:
        """Set the temperature in °C of the motors of a joint."""
        for motor in self.motors_of[joint]:
            self.body.sim.set_temperature(self.robot.motor_names[motor], degc)

    def say(self, text: str) -> None:
        """Speak a text for the scenario as soon as the loudspeaker is free."""
        self._said += 1
        name = f"{DIRECTOR} says {self._said}"
        activation = Activation(
            schema="say", name=name, parameters={"text": text}, timeout_s=60.0
        )
        self.schemas.add(activation)
        self.schemas.wake(name, self.tick)

    def modulate(self, path: str, values: Mapping[str, object]) -> None:
        """Change parameters of an active behaviour; ignore an inactive one."""
        with suppress(UnknownName):  # not activated by its parent yet
            if self.schemas.view(path).state is not State.SLEPT:
                self.schemas.modulate(path, values, self.tick)

    def use_controller(self, spec: str) -> None:
        """Switch to another stiffness controller from now on."""
        self.stiffness.change(self._wrap(make_controller(spec)))
        self.controller = spec

    def delete_group(self, group: str) -> None:
        """Delete a synchronous group, whatever its preset."""
        for preset in self._presets:
            self.body.commands.delete_group(GroupKey(preset, group), self.tick)

    def close(self) -> None:
        """Release the engine."""
        self.body.close()
