"""A sound: something that is said, or a tone (DB5)."""

from dataclasses import dataclass

LONGEST_TEXT = 5000
"""Letters of what is said at once: some ten minutes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sound:
    """A text or a tone; its length is that of its samples."""

    name: str
    text: str | None = None
    """What is said; None: a tone."""
    tone_hz: float | None = None
    """Frequency of a tone in Hz."""
    length_s: float | None = None
    """Of a tone, in s; a text takes as long as saying it does."""
    volume: float = 1.0
    """Fraction of full scale, in [0, 1]."""
