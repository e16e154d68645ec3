"""The commands of one device slot, between their submission and the one write.

A slot is tested as a whole, then put: nothing is put before all are tested, so a batch
of commands is written together or not at all.
"""

from collections.abc import Iterable, Sequence

from controllers.resources.gate.batch import Batch, Rights
from controllers.resources.gate.device_writers import DeviceWriter, Value
from controllers.resources.gate.trace import GateTrace
from controllers.resources.ledger import Ledger
from controllers.resources.tokens import Token
from controllers.resources.trace import Rejected
from controllers.resources.words import Refusal
from models import UnknownName


class Line:
    """The way from one leaf to its device, with the command that waits."""

    __slots__ = (
        "batch",
        "command",
        "commander",
        "name",
        "tested",
        "token",
        "value",
        "writer",
    )

    def __init__(self, name: str, writer: DeviceWriter) -> None:
        """Begin with no command."""
        self.name = name
        self.writer = writer
        self.token: Token | None = None
        """Of the command that waits; None if none does."""
        self.value: Value | None = None
        self.command = 0
        """Its number."""
        self.tested = 0
        """Count of the ledger's changes when its token was tested."""
        self.batch: Batch | None = None
        self.commander: Token | None = None
        """Of the command written last; None once the device was made safe."""


class Slot:
    """At most one command a line; `take` them, then `test_again`, then `put`."""

    __slots__ = ("_displaced", "_ledger", "_queue", "_watched", "trace")

    def __init__(self, ledger: Ledger, trace: GateTrace) -> None:
        """Begin empty."""
        self._ledger = ledger
        self.trace = trace
        self._queue: list[Line] = []
        self._displaced: list[Rejected] = []
        self._watched: list[Batch] = []
        """Batches with rights by which nothing is commanded."""

    def take(
        self, line: Line, token: Token, value: Value | None, batch: Batch | None
    ) -> None:
        """Take an authorised command, in place of an earlier one on its line.

        The earlier one ends here: silently if its token still holds, else rejected.
        """
        before = line.token
        if before is None:
            self._queue.append(line)
        elif before != token:
            reason = self.reason(before, line.name)
            if reason is not None:
                self._displaced.append(self._reject(line, before, reason))
        line.token = token
        line.tested = self._ledger.changes
        line.value = value
        line.batch = batch
        line.command = self.trace.commanded(token, line.name)

    def take_all(
        self,
        commands: Sequence[tuple[Token | None, Line, Value | None]],
        rights: Rights = (),
    ) -> Batch:
        """Take commands with accepted values, all or none, once they are authorised.

        Args:
            commands: token, line and value of each.
            rights: that have to hold too, now and once more before the slot is put.
        """
        authorise, take, batch = self._ledger.authorise, self.take, Batch(rights)
        for token, line, _ in commands:
            reason = authorise(token, line.name)
            if reason is not None:
                batch.break_by(self.trace.refused(token, line.name, reason))
                return batch
        if rights:
            self._test_rights(batch)
            self._watched.append(batch)
            if batch.is_broken:
                return batch
        for token, line, value in commands:
            if token is not None:  # which nobody authorises
                take(line, token, value, batch)
        return batch

    def test_again(self) -> tuple[list[Line], list[Rejected]]:
        """Empty the slot into lines whose token still holds, and what is refused.

        The ledger is asked again unless it is as it was when the token was tested: then
        that test is this one.
        """
        changes = self._ledger.changes
        queue, self._queue = self._queue, []
        rejected, self._displaced = self._displaced, []
        holding = []
        for line in queue:
            if line.tested == changes:
                holding.append(line)
                continue
            token = line.token
            reason = self.reason(token, line.name)
            if reason is None:
                holding.append(line)
            else:
                rejected.append(self._reject(line, token, reason))
                line.token = None
        watched, self._watched = self._watched, []
        for batch in watched:
            if batch.tested != changes and not batch.is_broken:
                refused = self._test_rights(batch)
                if refused is not None:
                    rejected.append(refused)
        return holding, rejected

    def put(self, holding: Iterable[Line]) -> dict[Line, Token]:
        """Put the values into the robot's command; return the tokens behind them."""
        written = {}
        for line in holding:
            token, line.token = line.token, None
            if token is None or (line.batch is not None and line.batch.is_broken):
                continue
            line.writer.put(line.value)
            line.commander = written[line] = token
        return written

    def reason(
        self, token: Token | None, leaf: str, *, is_shift: bool = False
    ) -> Refusal | None:
        """Ask the ledger about a leaf that was known when its command came.

        A leaf that is not known any more is covered by nobody; a token that ended says
        so at any other leaf.
        """
        ledger = self._ledger
        try:
            if is_shift:
                return ledger.authorise_shift(token, leaf)
            return ledger.authorise(token, leaf)
        except UnknownName:
            others = [ledger.authorise(token, x) for x in ledger.tree.all_leaves[:1]]
            ends = [x for x in others if x not in {None, Refusal.FROZEN}]
            return ends[0] if ends else Refusal.NOT_COVERED

    def _test_rights(self, batch: Batch) -> Rejected | None:
        """Break a batch if one of its rights does not hold, and tell that as a refusal.

        Of a batch that is broken already nothing more is told.
        """
        batch.tested = self._ledger.changes
        for token, leaves in batch.rights:
            for leaf in leaves:
                reason = self.reason(token, leaf)
                if reason is not None:
                    refused = self.trace.refused(token, leaf, reason)
                    batch.break_by(refused)
                    return refused
        return None

    def _reject(self, line: Line, token: Token | None, reason: Refusal) -> Rejected:
        """Refuse the command that waits on a line, and break its batch."""
        rejected = self.trace.rejected(line.command, token, line.name, reason)
        if line.batch is not None:
            line.batch.break_by(rejected)
        return rejected
