"""A request on its way."""

from controllers.resources.not_granted import NotGranted
from controllers.resources.request import Outcome, Request
from controllers.resources.tokens import Token
from models import TestbedError


class Ticket:
    """A request on its way; `outcome` is None while it waits."""

    __slots__ = ("number", "outcome", "request")

    def __init__(self, number: int, request: Request) -> None:
        """Begin to wait.

        Args:
            number: which request this is, in the order of arrival.
            request: what is asked for.
        """
        self.number = number
        self.request = request
        self.outcome: Outcome | None = None

    @property
    def token(self) -> Token:
        """Token of the grant, to go with every command.

        Raises:
            NotGranted: the request has failed.
            TestbedError: it still waits.
        """
        outcome = self.outcome
        if outcome is None:
            raise TestbedError(
                f"request {self.number} of {self.request.owner!r} still waits; look "
                "whether it has an outcome first."
            )
        if outcome.token is None:
            raise NotGranted(self.request, outcome)
        return outcome.token
