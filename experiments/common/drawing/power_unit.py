"""Unit of powers for users: W, or shares of a power where motor constants are guesses.

The torque constants K and winding resistances R of a robot with `thermal: estimate` are
guesses. A Joule loss R (τ / K)² is then known only up to a factor, which cancels in a
ratio of two losses of the same robot. Tables, figures and sentences therefore express
powers by a `PowerUnit`; files keep W.
"""

from dataclasses import dataclass

from nao_testbed.experiments.common.drawing.number_text import number
from nao_testbed.models.robot import are_watts_guesses


@dataclass(frozen=True, kw_only=True)
class PowerUnit:
    """Unit of powers, and of energies where only their ratios are known."""

    symbol: str = "W"
    whole: str = ""
    """Name of the power that is the unit; empty: W."""
    size: float = 1.0
    """Size of the unit in W, or in J for energies."""

    @property
    def is_relative(self) -> bool:
        """True if W are not known."""
        return bool(self.whole)

    @property
    def note(self) -> str:
        """Sentence below a table; empty for W."""
        kind = "percent" if self.symbol == "%" else "multiples"
        return self.is_relative * (
            "Motor constants of this robot are guesses: powers are "
            f"{kind} of the {self.whole}."
        )

    def of(self, watts: float) -> float:
        """Return a power in this unit."""
        return watts / self.size

    def text(self, watts: float | None, digits: int = 2) -> str:
        """Return a power with its unit: `1.25 W`, `1.25 ×`, `80 %`."""
        known = None if watts is None else self.of(watts)
        return f"{number(known, digits)} {self.symbol}"

    def label(self, what: str) -> str:
        """Return the label of an axis: `Loss (W)`, `Loss / final power of fixed`."""
        return f"{what} / {self.whole}" if self.whole else f"{what} ({self.symbol})"


W = PowerUnit()
"""Watts."""


def power_unit(
    thermal: object, whole: str, size: float | None, *, symbol: str = "×"
) -> PowerUnit:
    """Return W if motor constants are known, else the unit of `size` W.

    Args:
        thermal: origin of the motor constants, see `Robot.thermal`.
        whole: name of the power that becomes the unit.
        size: that power in W; None or 0: unknown, powers become NaN.
        symbol: `×` for multiples, `%` for percent.
    """
    if not are_watts_guesses(thermal):
        return W
    size = size or float("nan")
    return PowerUnit(
        symbol=symbol, whole=whole, size=0.01 * size if symbol == "%" else size
    )
