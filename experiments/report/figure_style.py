"""How our figures look: palette, frame, foot; and figures without a screen."""

import textwrap
from typing import TYPE_CHECKING

from experiments.report.shown_joints import has_document_legs, shown_joints
from experiments.standing.published import LEG_JOINTS
from experiments.standing.results import HeatResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT_INK, FAINT_INK = "#1f2328", "#57606a", "#c3c8ce"
"""Colours of text, of what stands back, of lines that only guide the eye."""
SHADE = "#dde1e6"
"""Of an area behind the curves."""
COLOURS = ("#e69f00", "#d55e00", "#009e73", "#cc79a7", "#0072b2", "#56b4e9", "#7f7f7f")
"""Of joints; told apart by colour-blind people too (Okabe and Ito's palette)."""
ARM_COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Of controllers, from the same palette."""

SIDES = {"R": "right leg", "L": "left leg"}
"""In the order of the rows, as the document's figures a and b."""
MOST_JOINTS = 7
"""Joints in a panel of a robot whose legs are not those of the document."""


def new_figure(width: float, height: float, gap: float = 0.05) -> "Figure":
    """Return an empty figure that belongs to no window.

    Args:
        width: in inches.
        height: in inches.
        gap: space around each panel in inches.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # heavy
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415  # heavy

    layout = ConstrainedLayoutEngine(w_pad=gap, h_pad=0.05, wspace=gap, hspace=gap)
    return Figure(figsize=(width, height), facecolor="white", layout=layout)


def panel_rows(result: HeatResult) -> dict[str, tuple[str, ...]]:
    """Return the joints of each row of panels, by the side they begin with."""
    if has_document_legs(result):
        return {s: tuple(s + joint for joint in LEG_JOINTS) for s in SIDES}
    return {"": shown_joints(result)[:MOST_JOINTS]}


def panel_title(axes: "Axes", text: str) -> None:
    """Write a panel's title above its left end."""
    axes.set_title(text, loc="left", fontsize=10, color=INK, fontweight="bold")


def plain_frame(axes: "Axes") -> None:
    """Leave out of the frame what nobody reads."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT_INK)
    axes.tick_params(colors=SOFT_INK, labelsize=8, length=3)
    axes.xaxis.label.set_color(SOFT_INK)
    axes.yaxis.label.set_color(SOFT_INK)
    axes.grid(axis="y", color=FAINT_INK, lw=0.4, alpha=0.6)
    axes.set_axisbelow(True)


def run_line(result: HeatResult) -> str:
    """Return the run's settings in one short line, for the foot of a figure."""
    offsets = [f"{n} {a:+.2f}°" for n, a in result.misalignment_deg.items() if a]
    if len(offsets) > 3:
        largest = max(abs(a) for a in result.misalignment_deg.values())
        offsets = [f"{len(offsets)} joints by up to {largest:.2f}°"]
    parts = [f"{result.posture} for {result.minutes:g} min"]
    parts += [
        f"{key} {result.settings[key]}"
        for key in ("preset", "servo", "heating", "protection")
        if result.settings.get(key) is not None
    ]
    parts += [f"misaligned: {', '.join(offsets) or 'none'}", f"seed {result.seed}"]
    return " · ".join(parts)


def write_foot(figure: "Figure", result: HeatResult, remark: str | None = None) -> None:
    """Write the run's settings below everything, small; a remark on its own line."""
    letters = int(20 * figure.get_size_inches()[0])
    lines = [run_line(result), *([] if remark is None else [remark])]
    figure.supxlabel(
        "\n".join(textwrap.fill(line, letters) for line in lines),
        fontsize=7,
        color=SOFT_INK,
        x=0.01,
        ha="left",
    )
