"""Figure files that say what they show."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.standing.results import HeatResult
from models.files import told_if_not_written

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def save_figure(
    figure: "Figure", path: Path, title: str, settings: Mapping[str, object]
) -> Path:
    """Write a figure; its settings go into the file as JSON (PNG and SVG).

    Raises:
        NotWritten: the operating system refuses.
    """
    description = json.dumps(settings, ensure_ascii=False, default=str)
    metadata: dict[str, str | None] = {"Title": title, "Description": description}
    if path.suffix == ".png":
        metadata["Software"] = "nao-testbed"
    else:
        metadata["Creator"] = "nao-testbed"
        metadata["Date"] = None  # the same data, the same file
    with told_if_not_written(path):
        figure.savefig(path, dpi=150, metadata=metadata)
    return path
