"""Figures without a screen, and files that say what they show."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.results import HeatResult
from models import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SOFT_INK, FAINT_INK = "#1f2328", "#57606a", "#c3c8ce"
"""Colours of text, of what stands back, of lines that only guide the eye."""
COLOURS = ("#e69f00", "#d55e00", "#009e73", "#cc79a7", "#0072b2", "#56b4e9", "#7f7f7f")
"""Of joints; told apart by colour-blind people too (Okabe and Ito's palette)."""
ARM_COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Of controllers, from the same palette."""


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


def settings_of(result: HeatResult) -> dict[str, object]:
    """Return what a figure's reader needs to repeat the run."""
    return {
        "minutes": result.minutes,
        "posture": result.posture,
        "seed": result.seed,
        "controllers": list(result.arms),
        "misalignment_deg": result.misalignment_deg,
        "settings": result.settings,
    }


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


def save_figure(
    figure: "Figure", path: Path, title: str, settings: Mapping[str, object]
) -> Path:
    """Write a figure; its settings go into the file as JSON (PNG and SVG).

    Raises:
        BadInput: the file cannot be written.
    """
    description = json.dumps(settings, ensure_ascii=False, default=str)
    metadata: dict[str, str | None] = {"Title": title, "Description": description}
    if path.suffix == ".png":
        metadata["Software"] = "nao-testbed"
    else:
        metadata["Creator"] = "nao-testbed"
        metadata["Date"] = None  # the same data, the same file
    try:
        figure.savefig(path, dpi=150, metadata=metadata)
    except OSError as error:
        raise BadInput(
            f"cannot write {path}: {error.strerror or error}; give another folder."
        ) from error
    return path
