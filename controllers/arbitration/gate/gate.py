"""Gate to the devices: only commands with a valid token are written.

    behaviour -- token, leaf, value --> submit --> slot --> flush --> robot.write

A command is checked twice. The check at submission gives an immediate answer. The check
in `flush` happens together with the single write of the slot, so that a token that
ended in between moves nothing.

    gate = Gate(ledger, robot)
    gate.submit(token, "HeadYaw", 0.3)  # None, or the reason for a refusal
    ledger.advance(tick)
    gate.flush(tick)  # once per device slot, before the robot is stepped
"""

from collections.abc import Mapping, Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.events import LeftOut, MadeSafe, Rejected
from nao_testbed.controllers.arbitration.gate.device_map import DeviceMap, map_devices
from nao_testbed.controllers.arbitration.gate.outputs import Outputs, PresentTargets
from nao_testbed.controllers.arbitration.gate.safety import Safety
from nao_testbed.controllers.arbitration.gate.shifts import Shifts
from nao_testbed.controllers.arbitration.gate.slot import (
    Batch,
    GateTrace,
    Line,
    RequiredRights,
    Slot,
    check_batch,
    check_once,
)
from nao_testbed.controllers.arbitration.gate.writers import (
    NoDevice,
    Value,
    make_writers,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import check_tick
from nao_testbed.controllers.arbitration.tokens import Refusal, Token
from nao_testbed.controllers.interface.robot_interface import (
    MotorLimit,
    RobotInterface,
    ServoGains,
    check_current_limit,
    check_gains,
    check_shift,
    check_stiffness,
    check_target,
)
from nao_testbed.controllers.interface.sole_writer import SoleWriter
from nao_testbed.models import BadInput
from nao_testbed.models.resources import DeviceKind
from nao_testbed.models.values import FloatArray, short


class Gate:
    """Sole writer of a robot.

    In a slot each leaf accepts one command. A later command of the same token replaces
    the earlier one, which is then neither executed nor rejected. So a command leads to
    at most one write, and a commanded value has exactly one command. A leaf without a
    device accepts any number of commands, each a separate use. The gate also writes
    safe set-points after a loss of authority, the encoder's angle for limp motors, and
    the stiffness when an effort cap changes.

    A robot has at most one gate at a time (`SoleWriter`). The gate is single-threaded,
    like the ledger: with threads, hold the ledger's lock around every call.
    """

    def __init__(
        self, ledger: Ledger, robot: RobotInterface, devices: DeviceMap | None = None
    ) -> None:
        """Register as the writer of a robot.

        Args:
            ledger: ledger that validates tokens.
            robot: robot that the gate writes until `close`.
            devices: devices of the leaves; None: from the robot's data.

        Raises:
            BadInput: the robot's data are inconsistent, or it already has a writer, a
                gate or a loop.
            UnknownName: a leaf with a device is not in the ledger.
        """
        self._ledger = ledger
        self._authorise = ledger.authorise
        self._quiet = ledger.quiet()
        self._listeners = ledger.listeners
        self._trace = GateTrace(ledger)
        self._outputs = Outputs(robot.robot, robot.read())
        if devices is None:
            devices = map_devices(robot.robot.resources, robot.robot)
        writers = make_writers(devices, self._outputs, ledger.cfg.tick_s)
        self._lines = {name: Line(name, writer) for name, writer in writers.items()}
        for name in writers:
            ledger.effort_cap(name)
        motors = devices.of_kind(DeviceKind.MOTOR)
        _check_limits(ledger, devices)
        self._motors = tuple(self._lines[leaf.name] for leaf in motors)
        self._leads = tuple(int(leaf.joints[0]) for leaf in motors)
        self.present = PresentTargets(self._outputs, motors)
        """Leaf of a motor to its set-point in force, without shift, in rad; updated by
        each flush."""
        limits = devices.of_kind(DeviceKind.STIFFNESS)
        self._limits = tuple(self._lines[leaf.name] for leaf in limits)
        self._limited = tuple(leaf.joints for leaf in limits)
        self._slot = Slot(ledger, self._trace)
        self._shifts = Shifts(ledger, self._outputs, self._slot, self._motors)
        with_joints = tuple(x for x in self._lines.values() if x.writer.joints)
        self._safety = Safety(
            ledger, robot, self._outputs, self._slot, self._shifts, with_joints
        )
        self._writer = SoleWriter(robot)

    def close(self) -> None:
        """Stop writing, so that another gate may write; may be called twice."""
        self._writer.close()

    @property
    def shift(self) -> FloatArray:
        """(n_joints,) shift in force, in rad, added to the set-points; read-only."""
        return self._outputs.shift_in_force

    def may_shift(self, token: Token | None) -> NDArray[np.bool_]:
        """Return whether a token may shift each joint now, (n_joints,)."""
        return self._shifts.may_move(token)

    # -- submission --------------------------------------------------------------------

    def submit(
        self, token: Token | None, leaf: str, value: Value | None = None
    ) -> Rejected | None:
        """Accept a command into the slot, or return the reason for a refusal.

        Args:
            token: token of a reservation that covers the leaf.
            leaf: a motor, a stiffness, LEDs, the loudspeakers, or a leaf without a
                device.
            value: motor: an angle in rad, or a `MotorTarget` with a velocity.
                Stiffness: a number in [0, 1], an array (n,) in the order of its joints,
                or a `MotorLimit` with a current limit. LEDs: a `LedSetting`.
                Loudspeakers: a `SoundChunk` of at most one slot. Leaf without a device:
                None.

        Returns:
            None if the command is accepted; `flush` may still reject it.

        Raises:
            BadInput: the value has the wrong shape, is not finite, or is out of range.
        """
        line = self._lines.get(leaf) if type(leaf) is str else None
        if line is None:
            line = self._line(leaf)
        value = line.writer.accept(value)
        reason = self._authorise(token, line.name)  # foreign code may fake a name
        if reason is None and token is not None and not self._listeners:
            self._slot.take(line, token, value, None)  # replaced without an event
            return None
        with self._quiet:
            if reason is not None or token is None:
                reason = reason or Refusal.NO_TOKEN
                return self._trace.refused(token, line.name, reason)
            self._slot.take(line, token, value, None)
        return None

    def submit_all(
        self, token: Token | None, values: Mapping[str, Value | None]
    ) -> Rejected | None:
        """Accept commands for several leaves, all or none, and write all or none.

        If a group is refused, only its first refused leaf by name counts as a command.
        A later command replaces the command of its leaf only.

        Args:
            token: token of a reservation that covers every leaf.
            values: leaf to value, as in `submit`.
        """
        return self._submit([(token, values)]).refused

    def submit_together(
        self,
        parts: Sequence[tuple[Token | None, Mapping[str, Value | None]]],
        rights: RequiredRights = (),
    ) -> Batch:
        """Accept commands of several tokens and write them, all or none.

        They are written together in `flush` or not at all; see the batch. If a batch is
        refused, only the first refused leaf is reported. A later command on one of its
        leaves breaks the batch; the commands that it displaced are then written.

        Args:
            parts: pairs of token and mapping of leaf to value, as in `submit`; each
                leaf at most once.
            rights: further tokens and their leaves, without a command in this slot,
                that must be valid now and in `flush`.

        Returns:
            The batch; if it is broken, `why` has the reason. The sender may break it
            until the flush.
        """
        return self._submit(parts, rights, is_strict=True)

    def _submit(
        self,
        parts: Sequence[tuple[Token | None, Mapping[str, Value | None]]],
        rights: RequiredRights = (),
        *,
        is_strict: bool = False,
    ) -> Batch:
        check_batch(parts, rights)
        commands = []
        for token, values in parts:
            for leaf in sorted(values):
                line = self._line(leaf)
                commands.append((token, line, line.writer.accept(values[leaf])))
        if len(parts) > 1:
            check_once([line.name for _, line, _ in commands])
        with self._quiet:
            return self._slot.take_all(commands, rights, is_strict=is_strict)

    def submit_set_points(
        self, token: Token | None, target: FloatArray
    ) -> Rejected | None:
        """Accept set-points for every motor of the robot, all or none.

        Args:
            token: token of a reservation that covers every motor.
            target: (n_joints,) in rad. Joints on one motor follow the leading joint.
        """
        angles = check_target(target, self._outputs.robot).tolist()
        values = [angles[joint] for joint in self._leads]
        commands = list(zip(repeat(token), self._motors, values))
        with self._quiet:
            return self._slot.take_all(commands).refused

    def submit_stiffness(
        self,
        token: Token | None,
        stiffness: FloatArray,
        current_limit: FloatArray | None = None,
    ) -> Rejected | None:
        """Accept a stiffness for every joint that has one, all or none.

        Args:
            token: token of a reservation that covers every stiffness leaf.
            stiffness: (n_joints,) in [0, 1].
            current_limit: (n_joints,) current limit of the motors in A; None: no limit.
        """
        stiffness = check_stiffness(stiffness, self._outputs.robot)
        values: list[Value] = [stiffness[joints] for joints in self._limited]
        if current_limit is not None:
            current = check_current_limit(current_limit, self._outputs.robot)
            values = [
                MotorLimit(stiffness=stiffness[joints], current=current[joints])
                for joints in self._limited
            ]
        commands = list(zip(repeat(token), self._limits, values))
        with self._quiet:
            return self._slot.take_all(commands).refused

    def submit_shift(self, token: Token | None, shift: FloatArray) -> Rejected | None:
        """Accept a shift of the set-points, or return the reason for a refusal.

        Commanded set-points stay in force; the shift is added at the output. A motor is
        shifted if the token covers it or its holder permits it (`Ledger.allow_shift`),
        as for an entrusted stiffness controller; each motor is a separate command.
        Other motors keep their shift, and a command that would change it is refused.
        When the right ends, the shift decays at `LEAVING_RATE`, so that the joint
        returns to its commanded angle.

        Args:
            token: token of a reservation.
            shift: (n_joints,) in rad. Joints on one motor follow the leading joint.

        Returns:
            None if the whole shift is accepted, otherwise the first refusal; `flush`
            may still reject it.

        Raises:
            BadInput: the shift has the wrong shape, is not finite, or exceeds half a
                turn.
        """
        shift = check_shift(shift, self._outputs.robot)
        with self._quiet:
            return self._shifts.take(token, shift)

    def set_gains(self, gains: ServoGains) -> None:
        """Write gains of the servos in the next flush; they belong to no leaf.

        Raises:
            BadInput: the gains do not fit the robot.
        """
        check_gains(gains, self._outputs.robot)
        self._outputs.gains = gains

    # -- writing -----------------------------------------------------------------------

    def flush(self, tick: int) -> tuple[Rejected, ...]:
        """Check every command of the slot again, and write the valid ones in one step.

        A motor whose last commander lost it gets its safe set-point, unless it has a
        command in this slot (`safe_set_points`). Its stiffness stays; that of a motor
        held by a virtual owner can only be commanded by an entrusted owner. Effort caps
        bound the stiffness. The set-point of a motor without stiffness follows its
        encoder (`limp_motors`). The shift is added last (`submit_shift`).

        Args:
            tick: present tick, to which the ledger was advanced.

        Returns:
            Commands that were accepted by `submit` and are rejected now.

        Raises:
            BadInput: the ledger is at another tick, so that expired tokens are unknown;
                or the gate is closed.
        """
        check_tick(tick)
        self._writer.check_open()
        if tick != self._ledger.tick:
            raise BadInput(
                f"flush at tick {tick}, but the ledger is at {self._ledger.tick}; "
                "advance the ledger to this tick first."
            )
        with self._quiet:  # listeners may call the gate or the ledger
            self._outputs.begin()
            holding, rejected = self._slot.test_again()
            written = self._slot.put(holding)
            left_out = self._leave_out_frozen(written)
            lost = self._safety.put(written)
            rejected += self._shifts.put()
            self._safety.follow(written)
            command = self._outputs.command()
            if command is not None:
                self._writer.write(command)
                self._outputs.keep()
            self._safety.keep(lost)
            self._shifts.keep()
            for line, token in written.items() if self._trace.is_read() else ():
                if line in left_out:
                    leaves = tuple(sorted(left_out[line]))
                    told = LeftOut(tick=tick, command=line.command, leaves=leaves)
                    self._ledger.emit(told)
                self._trace.executed(line, line.command, token)
            if lost:
                self._trace.of_lines(MadeSafe, lost)
            return tuple(rejected)

    # -- internals ---------------------------------------------------------------------

    def _leave_out_frozen(
        self, written: Mapping[Line, Token]
    ) -> dict[Line, tuple[str, ...]]:
        """Remove motors whose torque limit the commanding owner must not change."""
        left_out = {}
        for line in self._limits:
            token = written.get(line)
            motors = () if token is None else self._ledger.left_out(token, line.name)
            if motors:
                left_out[line] = motors
                lines = [self._lines[name] for name in motors if name in self._lines]
                joints = [joint for one in lines for joint in one.writer.joints]
                self._outputs.keep_stiffness(joints)
        return left_out

    def _line(self, leaf: str) -> Line:
        """Return the line of a leaf; a leaf without a device gets a new one per use."""
        try:
            line = self._lines.get(leaf)
        except TypeError:
            line = None
        if line is not None:
            return line
        if not isinstance(leaf, str):
            raise BadInput(f"a leaf is {short(leaf)}; give its name, a string.")
        self._authorise(None, leaf)  # raises for an unknown leaf
        return Line(leaf, NoDevice(leaf))


def _check_limits(ledger: Ledger, devices: DeviceMap) -> None:
    """Raise if the tree does not link a motor to the leaf of its torque limit."""
    for limit in devices.of_kind(DeviceKind.STIFFNESS):
        known = ledger.tree.limits.get(limit.name, ())
        for motor in devices.of_kind(DeviceKind.MOTOR):
            if motor.name not in known and np.isin(motor.joints, limit.joints).any():
                raise BadInput(
                    f"resource {limit.name!r} limits the torque of {motor.name!r}, "
                    "but its device does not say which joints it limits; fill "
                    "`Device.joints` of both, as loading a robot does."
                )
