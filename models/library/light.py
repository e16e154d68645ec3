"""A light pattern: colours of LEDs in time (DB4)."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class LightStep:
    """Some LEDs fade to a colour, all of them from the same moment on."""

    at_s: float
    """Since the start of the pattern, in s."""
    leds: tuple[str, ...]
    """Leaves of the resource tree, such as `Left eye`."""
    colour: tuple[float, float, float]
    """Red, green and blue in [0, 1]; LEDs of one colour take the brightest of them."""
    fade_s: float = 0.0
    """Time from the present colour to this one, in s; 0 is at once."""


@dataclass(frozen=True, kw_only=True)
class LightPattern:
    """Steps in the order of their time."""

    name: str
    steps: tuple[LightStep, ...]
    length_s: float
    """Time that it takes, in s: at least to the end of the last fade."""

    @property
    def leds(self) -> tuple[str, ...]:
        """The leaves that it lights, in the order of their first step."""
        return tuple(dict.fromkeys(led for step in self.steps for led in step.leds))
