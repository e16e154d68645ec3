"""A number with the interval that it lies in."""

from dataclasses import dataclass

from models import BadInput

CONFIDENCE = 0.95
"""Of every interval."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimated number and its interval of 95 %."""

    value: float
    low: float
    high: float
    unit: str

    def holds(self, number: float) -> bool:
        """Whether the interval contains a number."""
        return self.low <= number <= self.high

    def scaled(self, factor: float, unit: str) -> "Estimate":
        """Return the estimate of `factor` times the number.

        Args:
            factor: exactly known, above 0.
            unit: of the product.
        """
        return Estimate(
            value=factor * self.value,
            low=factor * self.low,
            high=factor * self.high,
            unit=unit,
        )

    def inverse(self, factor: float, unit: str) -> "Estimate":
        """Return the estimate of `factor` over the number.

        An interval that contains 0 gives one without an upper end.

        Args:
            factor: exactly known, above 0.
            unit: of the quotient.

        Raises:
            BadInput: the number is not above 0, so that its inverse means nothing.
        """
        if not self.value > 0.0:
            raise BadInput(
                f"{self.value:g} {self.unit} has no inverse; give a longer record, in "
                f"which the temperature bends."
            )
        return Estimate(
            value=factor / self.value,
            low=factor / self.high,
            high=factor / self.low if self.low > 0.0 else float("inf"),
            unit=unit,
        )

    def __str__(self) -> str:
        """Return value, interval and unit, such as `12.1 (11.4 to 12.9) K/(s A²)`."""
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}) {self.unit}"
