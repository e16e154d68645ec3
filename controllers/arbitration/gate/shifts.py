"""Shifts of the set-points: angles added to the commanded ones.

Commanded set-points stay in force; the shift is added at the output. A shift needs a
right (`Ledger.authorise_shift`): at its submission, at the write, and while it is in
force. When the right ends, the gate removes the shift at `LEAVING_RATE`, so that the
joint returns to its commanded angle. For a frozen motor, or one without a commander,
the shift ends at once, and the motor holds its position.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.events import Rejected, Unshifted
from nao_testbed.controllers.arbitration.gate.outputs import Outputs
from nao_testbed.controllers.arbitration.gate.slot import Line, Slot
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.tokens import Refusal, Token
from nao_testbed.models.values import FloatArray

LEAVING_RATE = 1.0
"""Speed at which the gate removes a shift without a right, in rad/s: that of a slow
gesture. The step in a slot of 10 ms is smaller than a joint's lag behind its
set-point."""
_OF_A_LEAF = (Refusal.NOT_COVERED, Refusal.FROZEN)
"""Refusals that concern one leaf; all others concern the token."""


@dataclass(slots=True, eq=False)
class _Motor:
    """Shift of one motor."""

    line: Line
    joints: tuple[int, ...]
    by: Token | None = None
    """Token of the shift in force."""
    token: Token | None = None
    """Token of the pending shift."""
    values: Sequence[float] = ()
    """Pending shift in rad for each joint."""
    command: int = 0
    """Number of its command."""
    tested: int = 0
    """Change count of the ledger when its token was checked."""


class Shifts:
    """Shifts of a device slot: `take`; then `end`, `put` and `keep` in `flush`."""

    def __init__(
        self, ledger: Ledger, outputs: Outputs, slot: Slot, lines: Iterable[Line]
    ) -> None:
        self._ledger = ledger
        self._outputs = outputs
        self._slot = slot
        self._trace = slot.trace
        self._motors = tuple(_Motor(line, line.writer.joints) for line in lines)
        self._step = LEAVING_RATE * ledger.cfg.tick_s
        self._waiting: list[_Motor] = []
        self._displaced: list[Rejected] = []
        self._in_force: dict[_Motor, None] = {}
        """Motors with an authorised shift."""
        self._leaving: dict[_Motor, None] = {}
        """Motors whose shift is being reduced to zero."""
        self._done: list[tuple[_Motor, Token, int]] = []
        """Shifts put in this slot: motor, token, number of the command."""
        self._ended: list[_Motor] = []
        """Motors whose shift has ended in this slot."""

    def may_move(self, token: Token | None) -> NDArray[np.bool_]:
        """Return whether a token may shift each joint now, (n_joints,)."""
        found = np.zeros(len(self._outputs.shift), dtype=np.bool_)
        for motor in self._motors:
            if self._reason(token, motor) is None:
                found[list(motor.joints)] = True
        return found

    def take(self, token: Token | None, shift: FloatArray) -> Rejected | None:
        """Accept a shift (n_joints,) in rad for all motors that its token may shift.

        Other motors keep their shift; a command that would change it is refused.

        Returns:
            The first refusal, or None.
        """
        refused: Rejected | None = None
        wanted, changes = shift.tolist(), self._ledger.changes
        is_new = (shift != self._outputs.shift_in_force).tolist()
        for motor in self._motors:
            line, changed = motor.line, any(is_new[joint] for joint in motor.joints)
            reason = self._reason(token, motor)
            if reason is None and token is not None:
                is_as_it_is = not changed and motor.by in (None, token)
                if motor.token is not None or not is_as_it_is:
                    if motor.token is None:
                        self._waiting.append(motor)
                    elif motor.token != token and (ended := self._refused(motor)):
                        self._displaced.append(ended)
                    motor.values = [wanted[joint] for joint in motor.joints]
                    motor.token, motor.tested = token, changes
                    motor.command = self._trace.commanded(
                        token, line.name, is_shift=True
                    )
                continue
            reason = reason or Refusal.NO_TOKEN
            is_of_leaf = reason in _OF_A_LEAF
            if changed or not is_of_leaf:
                told = self._trace.refused(token, line.name, reason, is_shift=True)
                refused = refused or told
            if not is_of_leaf:
                return refused
        return refused

    def end(self, lost: Container[Line]) -> list[Line]:
        """Find shifts whose right has ended, before safe set-points are set.

        Args:
            lost: lines whose last commander no longer owns them and that have no
                command in this slot.

        Returns:
            Further lines that had such a shift and have no command in this slot.
        """
        self._ended.clear()
        still = []
        for motor in (*self._in_force, *self._leaving):
            if motor not in self._leaving:
                if self._reason(motor.by, motor) is None:
                    continue
                self._ended.append(motor)
            if motor.token is not None and self._reason(motor.token, motor) is None:
                continue  # the pending shift replaces it
            if motor.line in lost:
                self._outputs.fold_shift(motor.joints)
            elif motor.line.commander is None:
                self._outputs.fold_shift(motor.joints)
                still.append(motor.line)
        return still

    def put(self) -> list[Rejected]:
        """Set the valid pending shifts, and decay the ended ones."""
        self._done.clear()
        if not (self._waiting or self._leaving or self._ended):
            return []
        rejected, self._displaced = self._displaced, []
        waiting, self._waiting = self._waiting, []
        changes = self._ledger.changes
        for motor in waiting:
            is_old = motor.tested != changes
            refused = self._refused(motor) if is_old else None
            token, motor.token = motor.token, None
            if refused is not None:
                rejected.append(refused)
            elif token is not None:
                self._outputs.set_shift(motor.joints, motor.values)
                self._done.append((motor, token, motor.command))
        ruled = {motor for motor, _, _ in self._done}
        for motor in (*self._leaving, *self._ended):
            if motor not in ruled:
                self._outputs.reduce_shift(motor.joints, self._step)
        return rejected

    def keep(self) -> None:
        """Store the shifts as in force, and emit their events."""
        if not (self._done or self._ended or self._leaving):
            return
        in_force, leaving, outputs = self._in_force, self._leaving, self._outputs
        is_read = self._trace.is_read()
        for motor in self._ended:
            motor.by = None
            in_force.pop(motor, None)
            leaving[motor] = None
        for motor, token, command in self._done:
            leaving.pop(motor, None)
            motor.by = token
            in_force[motor] = None
            if is_read:
                self._trace.executed(motor.line, command, token)
        gone = [motor.line for motor in self._ended if motor in leaving]
        self._trace.of_lines(Unshifted, gone)
        for motor in tuple(leaving):
            if not outputs.is_shifted(motor.joints):
                del leaving[motor]
        self._ended.clear()
        self._done.clear()

    def _refused(self, motor: _Motor) -> Rejected | None:
        """Refuse the pending shift if its token is no longer valid."""
        reason = self._reason(motor.token, motor)
        if reason is None:
            return None
        name = motor.line.name
        return self._trace.rejected(motor.command, motor.token, name, reason)

    def _reason(self, token: Token | None, motor: _Motor) -> Refusal | None:
        return self._slot.reason(token, motor.line.name, is_shift=True)
