"""A simulated robot whose body speaks in its ledger, one device slot at a time.

    sensors -> hotEngine, posture monitor -> ledger
            -> behaviours -> command controller -> transmitter -> gate -> physics, heat

In each slot the body speaks first: what is hot, broken or fallen is known to the ledger
before any behaviour acts. Then behaviours request, command and submit, the transmitter
puts the items of this slot, the gate writes what still holds, and the physics runs for
10 ms.

No behaviour ends that: one that raises is not called any more and its owner is dropped,
so that in the same slot its joints get their safe set-points. The physics never runs
without the gate's slot.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from nao_testbed.controllers.arbitration.faults.posture_monitor import (
    PostureMonitor,
    PostureMonitorCfg,
)
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    BrokenPart,
    DegradedModes,
    HotEngine,
    HotEngineCfg,
    change_absent,
    freeze_absent,
)
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.leases import Leasing, Lessor
from nao_testbed.controllers.arbitration.manager.front import FrontLessor, LedgerFront
from nao_testbed.controllers.arbitration.manager.ledger import Ledger, Listener
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.speech import make_voice
from nao_testbed.controllers.transmitter.buses.bus import TransmitterCfg
from nao_testbed.controllers.transmitter.commands.command_controller import (
    CommandController,
)
from nao_testbed.controllers.transmitter.commands.issuing import CommandControllerCfg
from nao_testbed.controllers.transmitter.streams import effector_leaves
from nao_testbed.controllers.transmitter.transmitter import Transmitter
from nao_testbed.experiments.shared_robot.behaviours import BehaviourList, SlotFailures
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.library import Library, Unit
from nao_testbed.models.load.motions import false_end
from nao_testbed.models.resources import DeviceKind
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import ticks_of
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg


@dataclass(frozen=True, kw_only=True)
class RobotWithLedgerCfg:
    """The robot, its reservations, and what couples them."""

    posture: str | None = None
    """None: Stand, or the robot's first one."""
    simulation: SimulationCfg = field(default_factory=SimulationCfg)
    ledger: LedgerCfg = field(default_factory=LedgerCfg)
    hot_engine: HotEngineCfg = field(default_factory=HotEngineCfg)
    posture_monitor: PostureMonitorCfg = field(default_factory=PostureMonitorCfg)
    transmitter: TransmitterCfg = field(default_factory=TransmitterCfg)
    commands: CommandControllerCfg = field(default_factory=CommandControllerCfg)
    delays: Mapping[Unit, float] | None = None
    """What the converters really take, in s; None: what is expected."""
    voice: str = "syllables"
    """What says texts: one of `controllers.speech.VOICES`."""
    library: Library | None = None
    """What it can do by heart; None: the robot's own."""
    look_s: float = 0.02
    """Period of the posture monitor in s: the controllers' cycle."""
    feel_s: float = 1.0
    """Period of `hotEngine` in s: temperatures are read anew so often."""


class RobotWithLedger(Leasing):
    """One robot, its ledger and its gate; `slot` again and again, `close` at the end.

    Behaviours are added to `behaviours`, and called in every slot.

        with robot.lease("Head", owner="look around", wait_s=2.0) as lease:
            robot.gate.submit(lease.token, "HeadYaw", 0.3)
            robot.slot()
    """

    def __init__(
        self,
        robot: Robot,
        cfg: RobotWithLedgerCfg | None = None,
        *,
        listeners: Iterable[Listener] = (),
        sim: SimulatedRobot | None = None,
    ) -> None:
        """Place the robot at rest and begin an epoch.

        Args:
            robot: what its body lacks is frozen before anybody asks.
            cfg: all settings.
            listeners: told every event, from the first on. Who keeps them all keeps
                about 1 MB for each second in which a whole body is commanded.
            sim: the robot itself, such as a recording (`sim.log_robot`); it is closed
                with this one. None makes it as the settings say.

        Raises:
            BadInput: a period is not a whole number of slots, or a value of the
                simulation cannot be used.
        """
        self.cfg = cfg = cfg or RobotWithLedgerCfg()
        tick_s = cfg.ledger.tick_s
        posture = robot.posture_name(cfg.posture, "Stand")
        self._look_ticks = ticks_of("posture monitor's period", cfg.look_s, tick_s)
        self._feel_ticks = ticks_of("hotEngine's period", cfg.feel_s, tick_s)
        dt = cfg.simulation.world.physics_dt
        self._slot_ticks = ticks_of("device slot", tick_s, dt)
        tree = ResourceTree(robot.resources)
        self.ledger = Ledger(tree, cfg.ledger, listeners=listeners)
        freeze_absent(self.ledger, robot, 0)
        self._model = robot
        self.hot_engine = HotEngine(self.ledger, robot, cfg.hot_engine)
        self.broken = BrokenPart(self.ledger)
        self.modes = DegradedModes(self.ledger)
        """Such as saving energy: enter and leave them at any slot."""
        self.posture = _posture_monitor(self.ledger, robot, cfg.posture_monitor)
        """None: the robot's resources have no states."""
        if self.posture is not None and (name := robot.posture(posture).state):
            self.ledger.set_state(self.posture.cfg.group, name, 0)
        self.sim = sim or SimulatedRobot(robot, cfg.simulation, posture)
        self.gate = Gate(self.ledger, self.sim)
        self.transmitter = Transmitter(self.gate, self.ledger, cfg.transmitter)
        """Puts the streams of motions, lights and sounds."""
        self.commands = CommandController(
            robot.library if cfg.library is None else cfg.library,
            effectors=effector_leaves(robot),
            transmitter=self.transmitter,
            voice=make_voice(cfg.voice),
            ledger=self.ledger,
            cfg=cfg.commands,
            delays=cfg.delays,
            posture=posture,
            states={name: p.state for name, p in robot.postures.items()},
            seen_state=lambda: self.state,
            false_end=lambda motion, here: false_end(
                robot, motion.tracks, motion.start, motion.end, here
            ),
        )
        """Takes the commands of behaviours."""
        self.failures = SlotFailures()
        """What failed in its slots, by whom."""
        self.behaviours = BehaviourList(self.ledger, self.failures)
        self.disturb: Callable[[SimulatedRobot], None] | None = None
        """Called before every physics step: somebody who pushes the robot."""
        self.front = LedgerFront(self.ledger, self._wait_a_slot)
        """Who waits at it lets the robot go on, slot by slot."""
        self._is_in_slot = False
        self._decided = -1

    @property
    def tick(self) -> int:
        """The present slot."""
        return self.sim.tick // self._slot_ticks

    @property
    def time_s(self) -> float:
        """Simulated time in s."""
        return self.sim.time_s

    @property
    def state(self) -> str | None:
        """The active state of the body, such as Stand; None: in none that is known."""
        return None if self.posture is None else self.posture.state

    def slot(self) -> None:
        """Run one device slot: body, behaviours, gate, physics.

        Raises:
            SlotsFailed: something failed; the slot was run to its end.
        """
        self._slot()
        self.failures.raise_new()

    def run(
        self, longest_s: float, is_over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Run slots until something is over, or for a time in s.

        Returns:
            Whether it is over.

        Raises:
            SlotsFailed: something failed on the way; all slots were run.
        """
        end = self.tick + self.cfg.ledger.ticks(longest_s)
        while not is_over() and self.tick < end:
            self._slot()
        self.failures.raise_new()
        return is_over()

    def pass_heat(
        self,
        mean_square: FloatArray,
        longest_s: float,
        is_over: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Let time pass for heat alone, the body standing still, second by second.

        Once a second the body, the behaviours and the gate have their slot.

        Args:
            mean_square: (n_motors,) mean squared motor torque, joint side, in N²m².
            longest_s: a whole number of seconds.
            is_over: ends it early.

        Returns:
            Whether it is over.

        Raises:
            BadInput: the slot or the time do not divide into seconds.
            SlotsFailed: something failed on the way; all of the time has passed.
        """
        seconds = ticks_of("time for heat", longest_s, 1.0)
        if self.tick % self._feel_ticks:  # no slot of hotEngine may be left out
            for _ in range(-self.tick % self._feel_ticks):
                self._slot()
        for _ in range(seconds):
            self._decide()
            if is_over():
                break
            self.sim.advance_heat(mean_square, 1.0)
        self.failures.raise_new()
        return is_over()

    def break_parts(self, parts: Iterable[str]) -> None:
        """Inject a fault: motors give no torque, and `brokenArm` has them.

        Raises:
            BadInput: no part is named, or one is unknown.
        """
        self.broken.inject(parts, self.tick)
        self._follow_faults()

    def repair_parts(self, parts: Iterable[str]) -> None:
        """Repair faults, by the names with which they were injected.

        Raises:
            BadInput: one of them is not broken.
        """
        self.broken.repair(parts, self.tick)
        self._follow_faults()

    def change_body(self, name: str) -> None:
        """Be another model: what that lacks is limp and nobody's.

        Raises:
            UnknownName: the robot is not made with such a body.
        """
        changed = self._model.with_body(name)
        change_absent(self.ledger, self._model, changed, self.tick)
        self._model = changed

    def close(self) -> None:
        """Release the robot and its engine."""
        self.gate.close()
        self.sim.close()

    def _lessor(self, owner: str | None) -> tuple[str, Lessor]:
        return FrontLessor.of(owner, self.front)

    def _wait_a_slot(self) -> None:
        """Let the robot go on while somebody waits.

        Raises:
            BadInput: a behaviour waits inside its slot, which would never end.
            SlotsFailed: something failed; the slot was run to its end.
        """
        if self._is_in_slot:
            raise BadInput(
                "a behaviour waits inside a slot, in which time stands still; call "
                "`begin` of its lease, and look at `token` in each slot."
            )
        self.slot()

    def _slot(self) -> None:
        self._decide()
        left = self._slot_ticks - self.sim.tick % self._slot_ticks
        if self.disturb is None:
            self.sim.step(left)
            return
        for _ in range(left):
            self.disturb(self.sim)
            self.sim.step(1)

    def _decide(self) -> None:
        """Let the body speak, then behaviours act, then the gate write.

        What the gate raises ends the slot before the physics runs; called again, the
        slot begins anew.
        """
        tick = self.tick
        if tick == self._decided:
            return  # before time stopped passing for heat alone
        self._is_in_slot = True
        try:
            self._act(tick)
        finally:
            self._is_in_slot = False
        self._decided = tick

    def _act(self, tick: int) -> None:
        now = max(tick, self.ledger.tick)  # later if a behaviour let time pass
        observation = self.sim.read()
        if tick % self._feel_ticks == 0:
            feel = partial(self.hot_engine.step, observation.temperature, now)
            self.failures.attempt("hotEngine", now, feel)
        if self.posture is not None and tick % self._look_ticks == 0:
            look = partial(self.posture.step, observation, now)
            self.failures.attempt("posture monitor", now, look)
        attempt = self.failures.attempt
        attempt("ledger", now, partial(self.ledger.keep_promises, now))
        self.behaviours.act(tick, observation)
        now = max(tick, self.ledger.tick)
        attempt("command controller", now, partial(self.commands.step, now))
        attempt("transmitter", now, partial(self.transmitter.step, now))
        attempt("ledger", now, partial(self.ledger.advance, now))
        self.gate.flush(now)
        attempt("transmitter", now, partial(self.transmitter.settle, now))

    def _follow_faults(self) -> None:
        """Let exactly the motors of broken leaves fail."""
        broken = {
            motor
            for leaf in self.broken.broken
            if (device := self.ledger.tree.node(leaf).device) is not None
            and device.kind is DeviceKind.MOTOR
            for motor in device.names
        }
        self.sim.repair_motors(set(self.sim.failed_motors) - broken)
        self.sim.fail_motors(broken)


def _posture_monitor(
    ledger: Ledger, robot: Robot, cfg: PostureMonitorCfg
) -> PostureMonitor | None:
    """Return a monitor, None where the robot has no states."""
    names = {node.name for node in robot.resources.walk()}
    return PostureMonitor(ledger, robot, cfg) if cfg.group in names else None
