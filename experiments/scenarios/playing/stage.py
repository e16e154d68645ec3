"""What a scenario plays on: robot, reservations, transmitter, schemas."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from controllers.registry import make_controller
from controllers.resources.ledger import Ledger, Listener
from controllers.resources.owner import HIGHEST, Owner
from controllers.schemas.gate_actuators import GateActuators
from controllers.schemas.runtime import SchemaRuntime
from controllers.schemas.states import State
from controllers.schemas.waking import Waking
from controllers.sync.orders.delays import CONVERSION_S, DelayModel, ExpectedDelays
from controllers.sync.orders.pipeline_cfg import CommandControllerCfg, Enable
from controllers.sync.transmitter.sync_tag import GroupKey
from controllers.sync.transmitter.transmitter_cfg import TransmitterCfg, Watch
from experiments.coupled.cfg import CoupledCfg
from experiments.coupled.robot import CoupledRobot
from experiments.coupled.stiffness_owner import StiffnessOwner
from experiments.loop import CONTROL_PERIOD
from experiments.scenarios.plan.scenario import Scenario, TransmitterPlan
from experiments.scenarios.playing.disturbance import Disturbance
from models import UnknownName
from models.library.command import PRESET, Unit
from sim.ticks import ticks_of

DIRECTOR = "scenario"
"""Owner for whom the schemas of a scenario are stepped, and what it says is said."""


class Stage:
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
        self.body = CoupledRobot(plan.robot, _coupled(plan), listeners=listeners)
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


def _coupled(plan: Scenario) -> CoupledCfg:
    return CoupledCfg(
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


def _delays(plan: TransmitterPlan) -> DelayModel:
    """Return what the converters take in truth."""
    expected = _expected(plan)
    late = plan.late_s
    return ExpectedDelays({u: expected[u] + late.get(u, 0.0) for u in Unit})


def _expected(plan: TransmitterPlan) -> dict[Unit, float]:
    return {**CONVERSION_S, **plan.conversion_s}
