"""The error of a holder that is none any more."""

from controllers.resources.tokens import Token
from controllers.resources.words import Refusal
from models import TestbedError


class StaleToken(TestbedError):
    """A token is not valid (any more); nothing has changed (I-10)."""

    def __init__(self, token: Token, reason: Refusal) -> None:
        """Say which token, by its public part, and why it is refused."""
        self.token = token
        self.reason = reason
        super().__init__(
            f"token {token.id} is not valid: {reason}; ask for the resources anew."
        )
