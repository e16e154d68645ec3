"""Tokens: the proof of a reservation that every command carries (AR-7, AR-9).

A token orders and hides: (epoch, sequence) says when it was issued, 64 random bits from
the system's generator keep it from being guessed. A restart raises the epoch.
"""

import re
import secrets
from collections.abc import Callable
from typing import NamedTuple

from models import BadInput

_POOL = 256
"""Secrets drawn from the system at a time."""
_TOO_MANY = 10**18
_TEXT = re.compile(r"(\d{1,18})-(\d{1,18})-([0-9a-f]{16})")


class TokenId(NamedTuple):
    """The public part of a token: fit for logs and pages, it authorises nothing."""

    epoch: int
    sequence: int

    def __str__(self) -> str:
        """Return `epoch.sequence`."""
        return f"{self.epoch}.{self.sequence}"


class Token(NamedTuple):
    """A whole token; its secret half is for the holder and the gate alone."""

    epoch: int
    sequence: int
    secret: int
    """64 random bits."""

    def __repr__(self) -> str:
        """Return the public part; logs and tracebacks never hold a secret."""
        return f"Token({self.epoch}.{self.sequence}, secret)"

    @property
    def id(self) -> TokenId:
        """The public part."""
        return TokenId(self.epoch, self.sequence)

    def as_text(self) -> str:
        """Return the form that goes over a wire."""
        return f"{self.epoch}-{self.sequence}-{self.secret:016x}"

    @classmethod
    def from_text(cls, text: str) -> "Token":
        """Read the form that goes over a wire.

        Raises:
            BadInput: it is not of that form.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise BadInput(
                f"token {text[:60]!r} is malformed; it is epoch-sequence-secret, the "
                "secret in 16 hexadecimal digits, as the grant gave it."
            )
        epoch, sequence, secret = match.groups()
        return cls(int(epoch), int(sequence), int(secret, 16))


def six_digits(token: Token) -> str:
    """Return a token as the arbiter's document draws it, for demonstrations only.

    Three random digits, then three sequential ones (AR-7): easy to read, easy to guess.
    """
    return f"{token.secret % 1000:03d}{token.sequence % 1000:03d}"


def system_secrets() -> Callable[[], int]:
    """Return a function that draws 64 random bits from the system's generator."""
    pool: list[int] = []

    def draw() -> int:
        if not pool:
            raw = secrets.token_bytes(8 * _POOL)
            pool.extend(memoryview(raw).cast("Q"))
        return pool.pop()

    return draw


class TokenMint:
    """Issues the tokens of one epoch, each with a higher sequence number (I-12)."""

    def __init__(
        self, epoch: int, first: int = 1, draw: Callable[[], int] | None = None
    ) -> None:
        """Begin an epoch.

        Args:
            epoch: count of restarts, higher than at any time before.
            first: first sequence number.
            draw: yields 64 random bits; None takes the system's generator.

        Raises:
            BadInput: a count is not a whole number from 0 that a token's text can say.
        """
        for what, count in (("epoch", epoch), ("first sequence number", first)):
            if type(count) is not int or not 0 <= count < _TOO_MANY:
                raise BadInput(
                    f"{what} of tokens is {count!r}; give a whole number from 0, of "
                    "at most 18 digits."
                )
        self.epoch = epoch
        self._next = first
        self._draw = draw or system_secrets()

    def issue(self) -> Token:
        """Return a token that was never issued before."""
        sequence = self._next
        self._next = sequence + 1
        return Token(self.epoch, sequence, self._draw())
