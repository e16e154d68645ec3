"""A figure that a notebook shows: `FigureView(figure)` as the last line of a cell."""

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 110


@dataclass(frozen=True)
class FigureView:
    """A figure that belongs to no window; Jupyter asks it for its picture."""

    figure: "Figure"

    def _repr_png_(self) -> bytes:
        """Return the picture, as Jupyter's protocol names it."""
        file = BytesIO()
        self.figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
        return file.getvalue()
