"""Simulated robot with a ledger for its resources, run in device slots.

    sensors -> hotEngine, posture monitor -> ledger
            -> behaviours -> command controller -> transmitter -> gate -> physics, heat

Each slot starts with the body: before any behaviour acts, the ledger registers hot and
broken parts and falls. Then behaviours request, command and submit, the transmitter
sends the items of this slot, the gate writes the valid values, and the physics runs for
10 ms.

A failing behaviour does not stop this sequence: it is not called again and its owner is
dropped, so that its joints get their safe set-points in the same slot. The physics
never runs without the gate's slot.
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
from nao_testbed.controllers.transmitter.buses.bus import TransmitterCfg
from nao_testbed.controllers.transmitter.commands.pipeline import (
    CommandController,
)
from nao_testbed.controllers.transmitter.commands.posture import PostureBelief
from nao_testbed.controllers.transmitter.commands.timing import CommandControllerCfg
from nao_testbed.controllers.transmitter.speech import make_voice
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
    """Configuration of the robot, its reservations, and their coupling."""

    posture: str | None = None
    """Name or role of the initial posture; None: the upright one."""
    simulation: SimulationCfg = field(default_factory=SimulationCfg)
    ledger: LedgerCfg = field(default_factory=LedgerCfg)
    hot_engine: HotEngineCfg | None = None
    """None: the robot's own thresholds."""
    posture_monitor: PostureMonitorCfg = field(default_factory=PostureMonitorCfg)
    transmitter: TransmitterCfg = field(default_factory=TransmitterCfg)
    commands: CommandControllerCfg = field(default_factory=CommandControllerCfg)
    delays: Mapping[Unit, float] | None = None
    """Actual delays of the converters, in s; None: the expected ones."""
    voice: str = "syllables"
    """Speech synthesis: one of `controllers.transmitter.speech.VOICES`."""
    library: Library | None = None
    """Library of motions and commands; None: the robot's own."""
    posture_period_s: float = 0.02
    """Period of the posture monitor in s: the controllers' cycle."""
    heat_period_s: float = 1.0
    """Period of `hotEngine` in s, at which temperatures are read."""


class RobotWithLedger(Leasing):
    """Robot with its ledger and gate; call `slot` repeatedly, and `close` at the end.

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
        """Place the robot at rest and start an epoch.

        Args:
            robot: robot; the parts that its body lacks are frozen before any request.
            cfg: all settings.
            listeners: functions called with every event from the start. Storing all
                events takes about 1 MB per simulated second of whole-body commands.
            sim: the robot itself, for example a recording (`sim.log_robot`), closed
                together with this object. None: create it from the settings.

        Raises:
            BadInput: a period is not a multiple of the slot, or a value of the
                simulation cannot be used.
        """
        self.cfg = cfg = cfg or RobotWithLedgerCfg()
        tick_s = cfg.ledger.tick_s
        posture = robot.posture_name(cfg.posture, "upright")
        self._posture_ticks = ticks_of(
            "posture monitor's period", cfg.posture_period_s, tick_s
        )
        self._heat_ticks = ticks_of("hotEngine's period", cfg.heat_period_s, tick_s)
        dt = cfg.simulation.world.physics_dt
        self._slot_ticks = ticks_of("device slot", tick_s, dt)
        tree = ResourceTree(robot.resources)
        self.ledger = Ledger(tree, cfg.ledger, listeners=listeners)
        freeze_absent(self.ledger, robot, 0)
        self._model = robot
        self.hot_engine = HotEngine(self.ledger, robot, cfg.hot_engine)
        self.broken = BrokenPart(self.ledger)
        self.modes = DegradedModes(self.ledger)
        """Modes such as energy saving, which can be entered and left in any slot."""
        self.posture = _posture_monitor(self.ledger, robot, cfg.posture_monitor)
        """Posture monitor; None: the robot's resources have no states."""
        if self.posture is not None and (name := robot.posture(posture).state):
            self.ledger.set_state(self.posture.cfg.group, name, 0)
        self.sim = sim or SimulatedRobot(robot, cfg.simulation, posture)
        self.gate = Gate(self.ledger, self.sim)
        self.transmitter = Transmitter(self.gate, self.ledger, cfg.transmitter)
        """Transmitter of the streams of motions, lights and sounds."""
        effectors = effector_leaves(robot)
        self.commands = CommandController(
            robot.library if cfg.library is None else cfg.library,
            effectors=effectors,
            transmitter=self.transmitter,
            voice=make_voice(cfg.voice),
            ledger=self.ledger,
            belief=PostureBelief(
                posture,
                {name: p.state for name, p in robot.postures.items()},
                lambda: self.state,
                false_end=lambda motion, here: false_end(
                    robot, motion.tracks, motion.start, motion.end, here
                ),
                motors=effectors.motors,
            ),
            cfg=cfg.commands,
            delays=cfg.delays,
        )
        """Controller of the behaviours' commands."""
        self.failures = SlotFailures()
        """Failures in its slots, by owner."""
        self.behaviours = BehaviourList(self.ledger, self.failures)
        self.disturb: Callable[[SimulatedRobot], None] | None = None
        """Called before every physics step, for example to push the robot."""
        self.front = LedgerFront(self.ledger, self._wait_one_slot)
        """Front end of the ledger; waiting runs the robot slot by slot."""
        self._is_in_slot = False
        self._decided = -1

    @property
    def tick(self) -> int:
        """Number of the present slot."""
        return self.sim.tick // self._slot_ticks

    @property
    def time_s(self) -> float:
        """Simulated time in s."""
        return self.sim.time_s

    @property
    def state(self) -> str | None:
        """Active state of the body, such as Stand; None: no known state."""
        return None if self.posture is None else self.posture.state

    def slot(self) -> None:
        """Run one device slot: body, behaviours, gate, physics.

        Raises:
            SlotsFailed: a part failed; the slot was run to its end.
        """
        self._slot()
        self.failures.raise_new()

    def run(
        self, longest_s: float, is_over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Run slots until `is_over` returns True, or for a time in s.

        Returns:
            True if `is_over` returned True.

        Raises:
            SlotsFailed: a part failed in a slot; all slots were run.
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
        """Simulate heat alone for a resting body, in steps of 1 s.

        The body, the behaviours and the gate run one slot per second.

        Args:
            mean_square: (n_motors,) mean squared motor torque, joint side, in N²m².
            longest_s: a whole number of seconds.
            is_over: function that ends the call early.

        Returns:
            True if `is_over` returned True.

        Raises:
            BadInput: the slot or the time does not fit whole seconds.
            SlotsFailed: a part failed in a slot; the whole time has passed.
        """
        seconds = ticks_of("time for heat", longest_s, 1.0)
        if self.tick % self._heat_ticks:  # hotEngine must run in each of its slots
            for _ in range(-self.tick % self._heat_ticks):
                self._slot()
        for _ in range(seconds):
            self._decide()
            if is_over():
                break
            self.sim.advance_heat(mean_square, 1.0)
        self.failures.raise_new()
        return is_over()

    def break_parts(self, parts: Iterable[str]) -> None:
        """Inject a fault: motors give no torque, and `brokenArm` freezes them.

        Raises:
            BadInput: no part is named, or one is unknown.
        """
        self.broken.inject(parts, self.tick)
        self._follow_faults()

    def repair_parts(self, parts: Iterable[str]) -> None:
        """Repair faults, by the names used to inject them.

        Raises:
            BadInput: one of them is not broken.
        """
        self.broken.repair(parts, self.tick)
        self._follow_faults()

    def change_body(self, name: str) -> None:
        """Change the body type; missing parts become limp and cannot be held.

        Raises:
            UnknownName: the robot has no such body.
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

    def _wait_one_slot(self) -> None:
        """Run one slot while a request waits.

        Raises:
            BadInput: a behaviour waits inside its slot, which would never end.
            SlotsFailed: a part failed; the slot was run to its end.
        """
        if self._is_in_slot:
            raise BadInput(
                "a behaviour waits inside a slot, where time does not advance; call "
                "`begin` of its lease, and check `token` in each slot."
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
        """Process the body, then behaviours, then the gate.

        An error of the gate ends the slot before the physics runs; the next call
        restarts the slot.
        """
        tick = self.tick
        if tick == self._decided:
            return  # decided at the end of the heat-only time
        self._is_in_slot = True
        try:
            self._act(tick)
        finally:
            self._is_in_slot = False
        self._decided = tick

    def _act(self, tick: int) -> None:
        now = max(tick, self.ledger.tick)  # later if a behaviour waited
        observation = self.sim.read()
        if tick % self._heat_ticks == 0:
            feel = partial(self.hot_engine.step, observation.temperature, now)
            self.failures.attempt("hotEngine", now, feel)
        if self.posture is not None and tick % self._posture_ticks == 0:
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
        """Disable exactly the motors of the broken leaves."""
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
    """Return a monitor; None if the robot has no states."""
    names = {node.name for node in robot.resources.walk()}
    return PostureMonitor(ledger, robot, cfg) if cfg.group in names else None
