"""Look of the figures: palette, frame, places of labels; files and notebook views.

Figures have no window. Their files contain the settings of the run as JSON metadata. In
a notebook, `FigureView(figure)` as the last line of a cell shows a figure. Labels at
the ends of curves are near their values without covering texts or curves. matplotlib is
imported with the first figure.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nao_testbed.models.files import convert_write_errors
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


INK, SOFT_INK, FAINT_INK = "#1f2328", "#57606a", "#c3c8ce"
"""Colours of text, secondary text, and guide lines."""
SHADE = "#dde1e6"
"""Colour of an area behind the curves."""
COLOURS = ("#e69f00", "#d55e00", "#009e73", "#cc79a7", "#0072b2", "#56b4e9", "#7f7f7f")
"""Palette of Okabe and Ito, distinct for colour-blind readers too; the last is grey."""
OF_CONTROLLERS = {
    "fixed": "#d55e00",
    "smart": "#0072b2",
    "nudge": "#009e73",
    "minheat": "#cc79a7",
    "constant": "#e69f00",
    "current": "#56b4e9",
}
"""Colour of each controller, in every figure, page, video and notebook."""
OF_JOINTS = {
    "hiproll": "#e69f00",
    "hippitch": "#d55e00",
    "kneepitch": "#009e73",
    "ankleroll": "#cc79a7",
    "anklepitch": "#0072b2",
    "hipyawpitch": "#56b4e9",
    "knee": "#009e73",
    "hipyaw": "#56b4e9",
}
"""Joint name without side to its colour, the same for left and right."""
_SIDE = re.compile(r"(left|right)_|[LR](?=[A-Z])")


def controller_colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each controller.

    Variants such as `smart:warm` have the colour of their controller if it is not
    among the names; all others take the free colours in order.
    """
    names = list(dict.fromkeys(names))
    found = {name: OF_CONTROLLERS[name] for name in names if name in OF_CONTROLLERS}
    for name in names:
        base = OF_CONTROLLERS.get(re.split("[:-]", name)[0])
        if name not in found and base is not None and base not in found.values():
            found[name] = base
    return _with_free(names, found)


def joint_colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each joint, the same for left and right."""
    kinds = {name: joint_kind(name) for name in names}
    found = {kind: OF_JOINTS[kind] for kind in kinds.values() if kind in OF_JOINTS}
    colours = _with_free(list(dict.fromkeys(kinds.values())), found)
    return {name: colours[kind] for name, kind in kinds.items()}


def joint_kind(name: str) -> str:
    """Return the name of a joint without its side, as in `OF_JOINTS`."""
    return _SIDE.sub("", name, count=1).removesuffix("_joint").replace("_", "").lower()


def is_right(name: str) -> bool:
    """Return True if the name of a joint begins with the right side."""
    side = _SIDE.match(name)
    return side is not None and side[0][0] in "Rr"


def _with_free(names: Sequence[str], found: dict[str, str]) -> dict[str, str]:
    """Return the given colours, and free colours of the palette for the other names."""
    used = set(found.values())
    free = iter([colour for colour in COLOURS if colour not in used])
    return {name: found.get(name) or next(free, COLOURS[-1]) for name in names}


SIDES = {"R": "right leg", "L": "left leg"}
"""Sides in the order of the rows, as in figures a and b of ES2659053."""
MAX_JOINTS = 7
"""Number of joints in a panel for a robot whose legs differ from those of ES2659053."""


def new_figure(width: float, height: float, gap: float = 0.05) -> "Figure":
    """Return an empty figure without a window.

    Args:
        width: width in inches.
        height: height in inches.
        gap: space around each panel in inches.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # heavy
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415  # heavy

    layout = ConstrainedLayoutEngine(w_pad=gap, h_pad=0.05, wspace=gap, hspace=gap)
    return Figure(figsize=(width, height), facecolor="white", layout=layout)


def panel_title(axes: "Axes", text: str) -> None:
    """Write a panel's title above its left end."""
    axes.set_title(text, loc="left", fontsize=10, color=INK, fontweight="bold")


TIME = "Time (min)"
"""Label of every time axis."""


def time_axis(axes: "Axes", share: float = 1.0, label: str = TIME) -> None:
    """Label an axis whose data are minutes.

    Args:
        axes: lowest panel.
        share: share of the panel's width for the curves; the rest is for their names.
        label: label for times that do not start with the run.
    """
    axes.set_xlabel(label, fontsize=9, x=0.5 * share, ha="center")


def time_ticks(minutes: float, n: int = 4) -> FloatArray:
    """Return about n round minutes from 0 to the end."""
    rough = minutes / n
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(s for s in (1.0, 2.0, 2.5, 5.0, 10.0) if s * power >= rough) * power
    return np.arange(0.0, minutes + 1e-9, step)


def plain_frame(axes: "Axes") -> None:
    """Reduce the frame to two light axes."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT_INK)
    axes.tick_params(colors=SOFT_INK, labelsize=8, length=3)
    axes.xaxis.label.set_color(SOFT_INK)
    axes.yaxis.label.set_color(SOFT_INK)
    axes.grid(axis="y", color=FAINT_INK, lw=0.4, alpha=0.6)
    axes.set_axisbelow(True)


_NAME = r"[^/\\\s\"'<>&;,:)\]]+"
HOMES = rf"/(?:home|Users)/{_NAME}|[A-Za-z]:(?:/|\\{{1,2}})Users(?:/|\\{{1,2}}){_NAME}"
"""Patterns of users' home folders; those of Windows also in JSON notation."""


def without_home(text: str) -> str:
    """Replace the private home folders of users in a text by `~`."""
    own = str(Path.home())
    homes = HOMES if own == "/" else f"{HOMES}|{re.escape(own)}"
    return re.sub(rf"(?<![\w./~+-])(?:{homes})(?![\w.-])", "~", text)


def save_figure(
    figure: "Figure", path: Path, title: str, settings: Mapping[str, object]
) -> Path:
    """Write a figure, with its settings as JSON metadata (PNG and SVG).

    Raises:
        WriteError: the operating system refuses.
    """
    description = without_home(json.dumps(settings, ensure_ascii=False, default=str))
    metadata: dict[str, str | None] = {"Title": title, "Description": description}
    if path.suffix == ".png":
        metadata["Software"] = "nao-testbed"
    else:
        metadata["Creator"] = "nao-testbed"
        metadata["Date"] = None  # equal data give equal files
    from matplotlib import rc_context  # noqa: PLC0415  # heavy

    # `Figure.savefig` would draw it twice.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  # heavy
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415  # heavy

    figure.set_dpi(FILE_DOTS_PER_INCH)
    canvas: Any
    with convert_write_errors(path), rc_context(EQUAL_IDS):
        if path.suffix == ".png":
            canvas = FigureCanvasAgg(figure)
            canvas.print_png(path, metadata=metadata)
        else:
            canvas = FigureCanvasSVG(figure)
            canvas.print_svg(path, metadata=metadata)
    return path


EQUAL_IDS: Any = {"svg.hashsalt": "nao-testbed"}
"""Setting of matplotlib; without it the ids of an SVG file are random."""
DOTS_PER_INCH, FILE_DOTS_PER_INCH = 110, 150
"""Resolution in a notebook, and in a PNG file."""


@dataclass(frozen=True)
class FigureView:
    """View of a figure without a window, for Jupyter."""

    figure: "Figure"

    def _repr_png_(self) -> bytes:
        """Return the picture, as Jupyter's protocol names it."""
        file = BytesIO()
        self.figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
        return file.getvalue()


def free_height(
    wanted: float, taken: Sequence[tuple[float, float]], half: float
) -> float:
    """Return the height nearest to the wanted one, `half` away from all intervals.

    Touching is accepted, so there is always room just above the highest interval.
    """
    walls = [(low - half, high + half) for low, high in taken]
    heights = [wanted, *(height for wall in walls for height in wall)]
    free = [h for h in heights if not any(low < h < high for low, high in walls)]
    return min(free, key=lambda h: abs(h - wanted))


def spread_labels(values: Sequence[float], gap: float) -> FloatArray:
    """Return heights for labels: near their values, at least `gap` apart.

    With the values sorted, h_i - i·gap must not decrease: the nearest such heights in
    the least-squares sense are an isotonic regression.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  # heavy

    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(order))
    heights = np.empty(len(order))
    if len(order):
        heights[order] = isotonic_regression(np.array(values)[order] - steps).x + steps
    return heights
