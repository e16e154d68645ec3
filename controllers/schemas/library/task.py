"""A schema that others count on fails where it cannot do its task.

One that finishes without having acted would look as if all had gone well: a sequence
would wave although nobody stood up.
"""

from typing import TypeVar

from controllers.arbitration.tokens import Outcome
from controllers.schemas.schema import ActuationSchema
from models import TestbedError

P = TypeVar("P")


class NotObtained(TestbedError):
    """Its resources were not to be had; the text says who was in the way."""


class TaskSchema(ActuationSchema[P]):
    """Fails when its request does; derive from it."""

    def on_refused(self, outcome: Outcome) -> bool:
        """Ask anew if it has acted, as every schema does; else fail.

        Raises:
            NotObtained: it never had what it needs.
        """
        if super().on_refused(outcome):
            return True
        blockers = "; ".join(
            f"{one.resource} by {', '.join(one.owners)}"
            if one.owners
            else f"{one.resource} is not active"
            for one in outcome.blockers
        )
        told = f", held or waited for: {blockers}" if blockers else ""
        kind = outcome.kind.replace("_", " ")
        raise NotObtained(f"{self.path!r} did not get what it needs ({kind}{told}).")
