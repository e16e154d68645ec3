"""Table, figure and command for the prediction of the published column *with*."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.common.drawing.number_text import number
from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.common.drawing.style import (
    COLOURS,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
    save_figure,
)
from nao_testbed.experiments.common.options import (
    check_figure_file,
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, count_bar
from nao_testbed.experiments.common.signals import exit_status, stop_reason
from studies.predict_published.prediction import (
    GIVEN,
    HELD_FIXED,
    OUTCOMES,
    UNITS,
    Assumption,
    Band,
    Prediction,
    PredictionCfg,
    as_json,
)
from studies.predict_published.sampling import predict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WORDS: dict[Assumption, str] = {
    "equal": "second run starts at the first run's temperatures",
    "free": "second run starts at other temperatures",
}


TITLES = ("Left leg, five joints", "Right leg, five joints", "LAnklePitch", "RHipPitch")
"""Titles of the panels, in the order of `OUTCOMES`."""


def prediction_table(found: Prediction) -> DataTable:
    """Return the table of published values, with bands under both assumptions."""
    rows = []
    for assumption, bands in found.bands.items():
        for name, unit, band in zip(OUTCOMES, UNITS, bands, strict=True):
            rows.append(
                (
                    assumption,
                    f"{name}, {unit}",
                    number(band.published, 0),
                    number(band.median),
                    _range(band, 0.5),
                    _range(band, 0.9),
                    "inside" if band.holds_published else "outside",
                )
            )
    told = ", ".join(f"{count} under {name}" for name, count in found.fell.items())
    return DataTable.of(
        "Published column 'with', predicted from column 'without'",
        (
            *("starts", "outcome", "published", "median"),
            *(f"{label}, {GIVEN}" for label in ("50 %", "90 %", "published value")),
        ),
        rows,
        f"Not drawn: {', '.join(HELD_FIXED)}. {found.effective:.0f} effective robots "
        f"of {len(found.weights)} that were simulated under both; fell: {told}. equal: "
        f"the {WORDS['equal']}; free: the {WORDS['free']}. Engine "
        f"{_engines(found.cfg)}, {_seeds(found.cfg)}.",
        texts=(0, 1, 4, 5, 6),
    )


def _engines(cfg: PredictionCfg) -> str:
    if cfg.screen is None:
        return cfg.engine
    return f"{cfg.engine}, screened on {cfg.screen}"


def _seeds(cfg: PredictionCfg) -> str:
    if cfg.repeats == 1:
        return f"seed {cfg.seed}"
    return f"seeds {cfg.seed} to {cfg.seed + cfg.repeats - 1}"


def _range(band: Band, share: float) -> str:
    low, high = band.within(share)
    return f"{number(low)} to {number(high)}"


def prediction_figure(found: Prediction) -> "Figure":
    """Return the figure of the four outcomes: densities, bands and published values."""
    figure = new_figure(10.0, 6.2, gap=0.1)
    axes = figure.subplots(2, 2)
    for k, (title, unit) in enumerate(zip(TITLES, UNITS, strict=True)):
        panel = axes.flat[k]
        bands = {assumption: bands[k] for assumption, bands in found.bands.items()}
        _draw_outcome(panel, bands)
        panel_title(panel, title)
        panel.set_xlabel(
            "Temperature rise (K)" if unit == "K" else "Final temperature (°C)"
        )
        panel.set_ylabel(f"Density (1/{unit})")
    lines, words = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        lines,
        words,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        ncols=len(lines),
        loc="outside lower center",
        title=f"thick: 50 %, thin: 90 %, {GIVEN}; not drawn: {', '.join(HELD_FIXED)}",
        title_fontsize=8,
    )
    return figure


def _draw_outcome(axes: "Axes", bands: dict[Assumption, Band]) -> None:
    spans = [band.quantile(np.array([0.002, 0.998])) for band in bands.values()]
    low, high = np.min(spans), np.max(spans)
    edges = np.linspace(low, high, 61)
    top = 0.0
    for colour, (assumption, band) in zip(COLOURS, bands.items(), strict=False):
        density, _ = np.histogram(
            band.values, edges, weights=band.weights, density=True
        )
        middles = 0.5 * (edges[1:] + edges[:-1])
        axes.fill_between(middles, density, color=colour, alpha=0.25, lw=0)
        axes.plot(middles, density, color=colour, lw=1.2, label=WORDS[assumption])
        top = max(top, float(density.max()))
    for row, (colour, band) in enumerate(zip(COLOURS, bands.values(), strict=False)):
        height = -0.07 * top * (row + 1)
        for share, width in ((0.9, 2.0), (0.5, 6.0)):
            axes.plot(
                band.within(share),
                (height, height),
                color=colour,
                lw=width,
                solid_capstyle="butt",
            )
        axes.plot(band.median, height, "|", color="white", ms=7)
    published = next(iter(bands.values())).published
    axes.axvline(published, color=INK, lw=1.2, ls="--")
    axes.text(
        published,
        1.08 * top,
        f" published {published:.0f}",
        color=SOFT_INK,
        fontsize=8,
        ha="left",
    )
    axes.set_yticks([tick for tick in axes.get_yticks() if tick >= 0.0])
    axes.set_ylim(-0.07 * top * (len(bands) + 1), 1.2 * top)
    plain_frame(axes)


def run_prediction(
    cfg: PredictionCfg, figure: Path | None, json_file: str | None, keep: Path | None
) -> int:
    """Predict, print the table and draw the figure; return the exit status.

    Args:
        cfg: numbers of robots and repeats.
        figure: file of the figure; None: no figure.
        json_file: file of `--json`.
        keep: file that stores the simulated robots; None: they are not stored.

    Raises:
        BadInput: a number is invalid, or a file cannot be read or written.
        WriteError: the operating system cannot write the file.
    """
    check_json_file(json_file)
    check_figure_file(figure)
    try:
        with count_bar("simulating", cfg.robots_each) as tell:
            found = predict(cfg, tell, keep)
    except KeyboardInterrupt as stop:
        kept = (
            "simulated robots are lost; --keep FILE saves them"
            if keep is None
            else f"simulated robots are in {keep}; the same command resumes"
        )
        print(f"{stop_reason(stop)}; {kept}.", file=sys.stderr)
        return exit_status(stop)
    write_json(json_file, json_text(as_json(found)))
    console_for(json_file).print(prediction_table(found))
    if figure is not None:
        title = "Published column 'with', predicted from column 'without'"
        settings = {"command": "predict-published", "seed": cfg.seed}
        save_figure(prediction_figure(found), figure, title, settings)
    return 0
