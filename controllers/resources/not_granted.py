"""The error of a call that waited for resources and did not get them."""

from controllers.resources.request import Outcome, Request
from controllers.resources.words import Why
from models import TestbedError

_ADVICE = {
    Why.BUSY: "give a time limit to wait for them",
    Why.TIMEOUT: "wait longer, or go without",
    Why.FROZEN: "go without: a virtual owner has it, absent, hot or broken, until that "
    "is over",
    Why.DEADLOCK: "release what others wait for, then ask for all in one request",
    Why.WITHDRAWN: "ask again if they are still needed",
    Why.CLOSED: "share a new ledger, or ask another manager",
    Why.OWNER_GONE: "make the owner known again and renew it in time",
    Why.TOKEN_DEAD: "ask for a new token",
}


class NotGranted(TestbedError):
    """A request ended without its resources; nothing is held by it (RM-20, RM-23)."""

    def __init__(self, request: Request, outcome: Outcome) -> None:
        """Say what was wanted, why it was not had, and who was in the way.

        Args:
            request: what was asked for.
            outcome: how it ended; not a grant.
        """
        self.request = request
        self.outcome = outcome
        why = outcome.why or Why.BUSY
        wanted = ", ".join((*request.resources, *request.rates, *request.optional))
        ways = "; ".join(
            f"{blocker.resource}: {', '.join(blocker.owners) or 'not the active state'}"
            for blocker in outcome.blockers
        )
        super().__init__(
            f"{request.owner!r} did not get {wanted}: {why}"
            f"{f' (in the way: {ways})' if ways else ''}. {_ADVICE[why].capitalize()}."
        )
