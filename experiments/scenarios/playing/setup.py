"""Set up what a scenario is played on: robot, reservations, transmitter, schemas.

And what the world does to the robot: forces on links, and a ground that turns.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from controllers.arbitration.manager.ledger import Ledger, Listener
from controllers.arbitration.requests import HIGHEST, Owner
from controllers.registry import make_controller
from controllers.schemas.declaration import State
from controllers.schemas.runtime import SchemaRuntime
from controllers.schemas.runtime.gate_actuators import GateActuators
from controllers.schemas.waking import Waking
from controllers.transmitter.buses.bus import TransmitterCfg, Watch
from controllers.transmitter.commands.converter import (
    CONVERSION_S,
)
from controllers.transmitter.commands.issuing import CommandControllerCfg, Enable
from controllers.transmitter.receipt import GroupKey
from experiments.closed_loop.behaviours import StiffnessOwner
from experiments.closed_loop.robot_with_ledger import (
    RobotWithLedger,
    RobotWithLedgerCfg,
)
from experiments.common.robot_setting import CONTROL_PERIOD
from experiments.scenarios.scenario import Scenario, TransmitterPlan
from experiments.scenarios.vocabulary.events import Vector3
from models import UnknownName
from models.library import PRESET, Unit
from sim.engine.world import ticks_of
from sim.robot import SimulatedRobot

SLOPE_RATE_DEG_S = 2.0
"""At which the ground turns, in degrees/s: under a robot that stands, a jump of its
slope would be a blow."""


class Disturbance:
    """Several pushes at a time, and one ground; `begin` at the beginning of each slot.

    While nothing disturbs the robot it costs nothing.
    """

    def __init__(self, body: RobotWithLedger) -> None:
        """Leave the robot alone."""
        self._body = body
        self._pushes: list[tuple[str, NDArray[np.float64], int]] = []
        """Link, force in N, and the slot in which it is over."""
        self._slope_deg: float | None = None
        """To which the ground turns; None: it is there."""

    def push(self, link: str, newton: Vector3, until_tick: int) -> None:
        """Push a link at its centre of mass, in world axes, until a slot."""
        self._pushes.append((link, np.array(newton), until_tick))

    def set_ground(self, friction: float | None, slope_deg: float | None) -> None:
        """Let the ground be another one; it turns at 2 degrees/s."""
        engine = self._body.sim.engine
        if friction is not None:
            engine.set_ground(friction, engine.cfg.slope_deg)
        if slope_deg is not None:
            self._slope_deg = slope_deg

    def begin(self, tick: int) -> None:
        """Begin a slot."""
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

    def _apply(self, sim: SimulatedRobot) -> None:
        for link, force, _ in self._pushes:
            sim.push_com(link, force)


DIRECTOR = "scenario"
"""Owner for whom the schemas of a scenario are stepped, and what it says is said."""


class Setup:
    """Built from a plan; then slot by slot, and closed at the end."""

    def __init__(self, plan: Scenario, *, listeners: Iterable[Listener] = ()) -> None:
        """Place the robot, make every behaviour known, and wake nobody.

        Args:
            plan: the scenario.
            listeners: told every event, from the first on.

        Raises:
            BadInput: a value cannot be used; nothing is left open.
        """
        self.plan = plan
        self.robot = plan.robot
        self.motor_of = {
            joint.name: int(plan.robot.motor_of_joint[i])
            for i, joint in enumerate(plan.robot.joints)
        }
        """Joint to the place of its motor."""
        self.body = RobotWithLedger(plan.robot, _coupled(plan), listeners=listeners)
        try:
            self._furnish()
        except BaseException:
            self.body.close()
            raise

    @property
    def ledger(self) -> Ledger:
        """Of the reservations."""
        return self.body.ledger

    def true_degc(self) -> NDArray[np.float64]:
        """Return the true temperatures (n_motors,) in °C."""
        return self.body.sim.heating.temperature

    def motor_name(self, joint: str) -> str:
        """Return the motor of a joint."""
        return self.robot.motor_names[self.motor_of[joint]]

    def say(self, text: str, tick: int) -> None:
        """Say a text for the scenario itself, as soon as the loudspeaker is free."""
        self._said += 1
        name = f"{DIRECTOR} says {self._said}"
        waking = Waking(
            schema="say", name=name, parameters={"text": text}, timeout_s=60.0
        )
        self.schemas.add(waking)
        self.schemas.wake(name, tick)

    def modulate(self, path: str, values: Mapping[str, object], tick: int) -> None:
        """Change parameters of a behaviour that is awake; another one stays asleep."""
        with suppress(UnknownName):  # its parent has not woken it yet
            if self.schemas.view(path).state is not State.SLEPT:
                self.schemas.modulate(path, values, tick)

    def use_controller(self, spec: str) -> None:
        """Let another stiffness controller decide from now on."""
        self.stiffness.change(make_controller(spec))

    def delete_group(self, group: str, tick: int) -> None:
        """Delete a synchronous group, whatever its preset."""
        for preset in self._presets:
            self.body.commands.delete_group(GroupKey(preset, group), tick)

    def close(self) -> None:
        """Release the engine."""
        self.body.close()

    def _furnish(self) -> None:
        plan, body = self.plan, self.body
        self.disturbance = Disturbance(body)
        self.schemas = SchemaRuntime(
            plan.robot,
            body.ledger,
            GateActuators(body.gate, body.commands, body.ledger),
            seed=plan.seed,
            posture=body.posture,
        )
        body.ledger.add_owner(Owner(name=DIRECTOR, priority=HIGHEST), 0)
        body.behaviours.add(DIRECTOR, self.schemas.step)
        self.control_ticks = ticks_of("control period", CONTROL_PERIOD, plan.tick_s)
        self.stiffness = StiffnessOwner(
            body.ledger,
            body.gate,
            plan.robot,
            make_controller(plan.controller),
            self.control_ticks,
        )
        body.behaviours.add(self.stiffness.name, self.stiffness)
        self._said = 0
        orders = plan.library.orders.values()
        self._presets = sorted({PRESET, *(order.preset for order in orders)})
        for behaviour in plan.behaviours:
            parent = behaviour.owner_parent
            self.schemas.add(behaviour.as_waking(), part_of=parent)


def _coupled(plan: Scenario) -> RobotWithLedgerCfg:
    return RobotWithLedgerCfg(
        posture=plan.posture,
        simulation=plan.simulation,
        ledger=plan.ledger,
        library=plan.library,
        voice=plan.voice,
        transmitter=_transmitter(plan.transmitter),
        commands=_commands(plan.transmitter, plan.tick_s),
        delays=_delays(plan.transmitter),
    )


def _transmitter(plan: TransmitterPlan) -> TransmitterCfg:
    return TransmitterCfg(
        buses=plan.buses, watch=Watch(plan.mode), ttl_s=plan.time_to_live_s
    )


def _commands(plan: TransmitterPlan, tick_s: float) -> CommandControllerCfg:
    early = plan.early_ticks
    return CommandControllerCfg(
        enable=Enable(plan.enable.replace(" ", "_")),
        early_s=0.0 if early is None else early * tick_s,
        conversion_s=_expected(plan),
    )


def _delays(plan: TransmitterPlan) -> dict[Unit, float]:
    """Return what the converters take in truth."""
    expected = _expected(plan)
    late = plan.late_s
    return {u: expected[u] + late.get(u, 0.0) for u in Unit}


def _expected(plan: TransmitterPlan) -> dict[Unit, float]:
    return {**CONVERSION_S, **plan.conversion_s}
