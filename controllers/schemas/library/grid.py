"""A map of two dimensions whose values relax with time, and its highest cell (JD-15).

    v ← v∞ + (v - v∞) exp(-Δt / T)

It remembers what a single look does not show: the memory behind attention [jdec-urjc,
section 4.4], where v is how much a direction is worth a look.
"""

from math import exp, isfinite

import numpy as np
from numpy.typing import NDArray

from models import BadInput

FloatArray = NDArray[np.float64]


class Grid:
    """Cells of equal size over a rectangle; a place is (x, y) in its units."""

    def __init__(
        self,
        x_range: tuple[float, float],
        y_range: tuple[float, float],
        shape: tuple[int, int],
        initial: float = 0.0,
    ) -> None:
        """Divide a rectangle.

        Args:
            x_range: its lower and upper end in x.
            y_range: the same in y.
            shape: number of cells in x and in y.
            initial: value of all cells.

        Raises:
            BadInput: an end is no number, a range is empty, or there is no cell.
        """
        for name, (low, high) in (("x", x_range), ("y", y_range)):
            if not (isfinite(low) and isfinite(high) and low < high):
                raise BadInput(
                    f"{name} of a grid is from {low} to {high}; give two numbers, the "
                    "lower one first."
                )
        if min(shape) < 1:
            raise BadInput(f"a grid has {shape} cells; give at least 1 each way.")
        self.x = _centres(x_range, shape[0])
        """(nx,) centres of the cells in x."""
        self.y = _centres(y_range, shape[1])
        """(ny,) centres of the cells in y."""
        self.values = np.full(shape, initial)
        """(nx, ny) the map itself; anybody who has the grid may change it."""

    def relax(self, towards: float, dt: float, time_constant: float) -> None:
        """Let time pass: every cell goes towards a value.

        Args:
            towards: value after a very long time.
            dt: time that has passed, in s, not negative.
            time_constant: T in s, positive.
        """
        keep = exp(-dt / time_constant)
        self.values *= keep
        self.values += towards * (1.0 - keep)

    def put(self, x: float, y: float, reach: tuple[float, float], value: float) -> int:
        """Give a value to all cells whose centre is near a place.

        Args:
            x: of the place.
            y: of the place.
            reach: largest distance in x and in y.
            value: theirs from now on.

        Returns:
            The number of these cells.
        """
        near_x, near_y = self._near(x, y, reach)
        self.values[np.ix_(near_x, near_y)] = value
        return int(near_x.sum() * near_y.sum())

    def add(self, x: float, y: float, reach: tuple[float, float], amount: float) -> int:
        """Add to all cells whose centre is near a place; see `put`."""
        near_x, near_y = self._near(x, y, reach)
        self.values[np.ix_(near_x, near_y)] += amount
        return int(near_x.sum() * near_y.sum())

    def highest(
        self,
        near: tuple[float, float] | None = None,
        cost: float = 0.0,
        weight: FloatArray | None = None,
    ) -> tuple[float, float]:
        """Return the centre of the cell of the highest value.

        Args:
            near: a place whose distance counts against a cell; None: none does.
            cost: how much, for a distance of 1.
            weight: (nx, ny) factor of each cell's value; None: 1.

        Returns:
            Its x and y; of equals the one of the lowest x, then y.
        """
        worth = self.values if weight is None else weight * self.values
        if near is not None and cost > 0.0:
            dx = self.x[:, None] - near[0]  # (nx, 1)
            dy = self.y[None, :] - near[1]  # (1, ny)
            worth = worth - cost * np.hypot(dx, dy)
        i, j = divmod(int(np.argmax(worth)), len(self.y))
        return float(self.x[i]), float(self.y[j])

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return the numbers, in x and in y, of the cell whose centre is nearest."""
        i = int(np.argmin(np.abs(self.x - x)))
        j = int(np.argmin(np.abs(self.y - y)))
        return i, j

    def at(self, x: float, y: float) -> float:
        """Return the value of the cell whose centre is nearest."""
        return float(self.values[self.cell(x, y)])

    def _near(
        self, x: float, y: float, reach: tuple[float, float]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return np.abs(self.x - x) <= reach[0], np.abs(self.y - y) <= reach[1]


def _centres(ends: tuple[float, float], n: int) -> FloatArray:
    low, high = ends
    width = (high - low) / n
    return np.array(low + width * (np.arange(n) + 0.5))
