"""Which of its tokens an owner on another robot may still act on, by its own clock.

The server frees what an owner holds when it has been silent for its time to live. The
owner cannot know which of its signs of life arrived, so it counts from the moment at
which it sent the last one that was answered, and stops a little before the server does:
two robots never both think that they hold the ball (RM-61).
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable

from controllers.resources.tokens import Token, TokenId
from controllers.resources.words import LossCause
from experiments.reservations.wire_views import NoticeData

TRUSTED = 0.9
"""Part of the time to live for which tokens are trusted: the rest is for the server's
tick and for clocks that drift."""
_REMEMBERED = 1000
"""Ended tokens that are remembered: the notice of an end may overtake the grant."""


class TrustedTokens:
    """The tokens of one owner; safe for threads."""

    def __init__(self, clock: Callable[[], float], time_to_live_s: float) -> None:
        """Trust nothing yet.

        Args:
            clock: seconds, never going back.
            time_to_live_s: after which the server frees what a silent owner holds.
        """
        self._clock = clock
        self._trust_s = TRUSTED * time_to_live_s
        self._lock = threading.Lock()
        self._held: set[TokenId] = set()
        self._ended: deque[TokenId] = deque(maxlen=_REMEMBERED)
        self._paused: set[int] = set()
        """Numbers of requests with which paused tokens wait to resume."""
        self.until_s = float("-inf")
        """When trust ends, on the clock."""

    def holds(self, token: Token) -> bool:
        """Whether the owner may act on a token now."""
        with self._lock:
            return token.id in self._held and self._clock() < self.until_s

    def sending(self) -> tuple[float, frozenset[TokenId]]:
        """Return what `answered` needs to know, just before a sign of life is sent."""
        with self._lock:
            return self._clock(), frozenset(self._held)

    def answered(
        self, sent: tuple[float, frozenset[TokenId]], valid: Iterable[str]
    ) -> None:
        """Trust for longer; forget what the server had ended when it answered.

        Args:
            sent: of `sending`; what was granted since then stays.
            valid: public parts of the tokens that the server named.
        """
        sent_s, before = sent
        with self._lock:
            self.until_s = max(self.until_s, sent_s + self._trust_s)
            self._held -= before - {_read(text) for text in valid}

    def add(self, token: Token) -> None:
        """Trust a token that was granted."""
        with self._lock:
            if token.id not in self._ended:
                self._held.add(token.id)

    def discard(self, token: Token) -> None:
        """Trust a token no more."""
        with self._lock:
            self._held.discard(token.id)

    def lose_all(self) -> None:
        """Trust nothing any more, until a new registration."""
        with self._lock:
            self._held.clear()
            self._paused.clear()

    def learn(self, notice: NoticeData) -> None:
        """Take what a notice says about the owner's tokens."""
        outcome = notice.outcome
        with self._lock:
            if notice.token is not None and notice.has_ended:
                ended = _read(notice.token)
                self._held.discard(ended)
                self._ended.append(ended)
            if notice.why is LossCause.PAUSED and notice.request is not None:
                self._paused.add(notice.request)
            has_resumed = outcome is not None and notice.request in self._paused
        if has_resumed and outcome is not None and notice.request is not None:
            with self._lock:
                self._paused.discard(notice.request)
            if outcome.token is not None:
                self.add(Token.from_text(outcome.token))


def _read(text: str) -> TokenId:
    epoch, _, sequence = text.partition(".")
    return TokenId(int(epoch), int(sequence))
