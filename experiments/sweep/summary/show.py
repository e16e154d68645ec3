"""Output of the results of a sweep: tables on the console, figures, JSON."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from nao_testbed.experiments.sweep.summary import (
    controllers_of,
    hotter_on,
    is_near_published,
    is_pushed,
    paired,
    published_band,
    reference_of,
    summary_of,
    why_no_band,
)
from nao_testbed.experiments.sweep.summary.falls import falls_json
from nao_testbed.experiments.sweep.summary.tables import comparisons
from nao_testbed.experiments.sweep.sweep_table import Sweep
from nao_testbed.experiments.sweep.sweep_trial import QUIET


def show_summary(sweep: Sweep, folder: Path, console: Console) -> None:
    """Print the tables of a sweep and draw its figures.

    A sweep without trials prints nothing; a sweep with a single controller has no
    figure.

    Args:
        sweep: sweep from `read_sweep`.
        folder: folder of the figures.
        console: console for the tables.

    Raises:
        BadInput: a figure cannot be written.
    """
    if not controllers_of(sweep):
        return
    sweep = sweep.with_short_names()
    console.print(Text(f"\nSweep {sweep.meta['name']}", "bold"))
    for table in comparisons(sweep):
        console.print(table)
    if (why := why_no_band(sweep)) is not None:
        console.print(why, markup=False)
    for path in draw_figures(sweep, folder):
        console.print(f"Figure: {path}", soft_wrap=True, markup=False, highlight=False)


def draw_figures(sweep: Sweep, folder: Path) -> list[Path]:
    """Write the figures of a sweep as PNG and SVG; return the PNG files.

    Raises:
        BadInput: a file cannot be written.
    """
    if not (has_pairs(sweep) or is_pushed(sweep)):
        return []
    sweep = sweep.with_short_names()
    from nao_testbed.experiments.common.drawing.style import save_figure  # noqa: PLC0415  # matplotlib
    from nao_testbed.experiments.sweep.summary.sweep_figures import (  # noqa: PLC0415  # matplotlib
        band_figure,
        paired_figure,
        survival_figure,
    )

    figures = {}
    if is_pushed(sweep):
        figures["survival"] = (
            "Trials without a fall after a push",
            survival_figure(sweep),
        )
    if has_pairs(sweep):
        figures["robots"] = (
            "Heat of the same robots under each controller",
            paired_figure(sweep),
        )
    if has_pairs(sweep) and is_near_published(sweep):
        figures["published"] = (
            "Published outcomes within the simulated robots",
            band_figure(sweep),
        )
    settings = {**sweep.meta, "spec": sweep.spec}
    for name, (title, figure) in figures.items():
        save_figure(figure, folder / f"{name}.png", title, settings)
        figure.set_layout_engine("none")  # computed once, not again for the second file
        save_figure(figure, folder / f"{name}.svg", title, settings)
    return [folder / f"{name}.png" for name in figures]


def has_pairs(sweep: Sweep) -> bool:
    """Return True if there are several controllers, and powers to draw.

    A trial that ends when the robot is quiet after a push has no useful power.
    """
    if QUIET in sweep.frame:
        return False
    power = paired(sweep, "legs_power_w").to_numpy(float)
    return len(controllers_of(sweep)) > 1 and bool((power > 0.0).any())


def summary_json(sweep: Sweep) -> dict[str, Any]:
    """Return the summary for JSON; None for a missing number."""
    near = is_near_published(sweep)
    return {
        "experiment": "sweep",
        "name": sweep.meta["name"],
        "robots": sweep.meta["robots"],
        "seed": sweep.meta["seed"],
        "reference": reference_of(sweep),
        "controllers": _finite(summary_of(sweep).to_dict("index")),
        "hotter_on": hotter_on(sweep).to_dict("index"),
        **(_finite(falls_json(sweep)) if is_pushed(sweep) else {}),
        "published_band": (
            _finite(published_band(sweep).reset_index().to_dict("records"))
            if near
            else None
        ),
    }


def _finite(value: Any) -> Any:
    """Convert the numbers of frames to plain ones, and NaN to None."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
