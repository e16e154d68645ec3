"""Colours of a timeline: an owner keeps one through all rows; LEDs show their own."""

from collections.abc import Iterable

from experiments.report.figure_style import INK, SOFT_INK
from models.library import LightPattern

OWNER_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#8f7500", "#6a5acd", "#7fb77e", "#b07d62"),
)
"""The first six are Okabe and Ito's; further ones repeat, names tell them apart."""
BODY_COLOUR = SOFT_INK
"""Of what the body itself has: hot, broken, absent."""
STATE_COLOURS = ("#57606a", "#a8b1ba", "#3d444d", "#8c959f")
"""Of the robot's states, which are nobody's."""
BROKEN = "#b3261e"
"""Of what went wrong."""
Colour = tuple[float, float, float]


def owner_colours(names: Iterable[str], virtual: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, in the order of their first appearance."""
    body = set(virtual)
    colours = dict.fromkeys(body, BODY_COLOUR)
    i = 0
    for name in names:
        if name not in colours:
            colours[name] = OWNER_COLOURS[i % len(OWNER_COLOURS)]
            i += 1
    return colours


def ink_on(colour: str) -> str:
    """Return the colour of letters that can be read on another one."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    return "white" if luminance < 0.62 else INK


def pattern_colour(pattern: LightPattern, time_s: float) -> Colour:
    """Return the mean colour of a pattern's LEDs, dark before it, at a time of it."""
    shown: dict[str, Colour] = dict.fromkeys(pattern.leds, (0.0, 0.0, 0.0))
    for step in pattern.steps:
        if step.at_s > time_s:
            break
        part = 1.0
        if step.fade_s > 0.0:
            part = min(1.0, (time_s - step.at_s) / step.fade_s)
        for led in step.leds:
            shown[led] = _between(shown[led], step.colour, part)
    n = max(1, len(shown))
    red, green, blue = (sum(colour[i] for colour in shown.values()) for i in range(3))
    return red / n, green / n, blue / n


def _between(start: Colour, end: Colour, part: float) -> Colour:
    red, green, blue = (a + (b - a) * part for a, b in zip(start, end, strict=True))
    return red, green, blue
