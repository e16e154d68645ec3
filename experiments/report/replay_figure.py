"""Stiffness over time of the joints in which most happened."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.replay.results import ReplayResult
from experiments.replay.run import Answers
from experiments.report.figure_file import save_figure
from experiments.report.figure_style import (
    ARM_COLOURS,
    new_figure,
    panel_title,
    plain_frame,
)

FloatArray = NDArray[np.float64]

PANELS = 4
MOST_POINTS = 4000
"""Points of a line; more are not seen."""


def write_replay_figure(
    path: Path, result: ReplayResult, answers: Sequence[Answers], time_s: FloatArray
) -> Path:
    """Draw the joints whose stiffness varies most in time, and write the file.

    Args:
        path: of the PNG file.
        result: the comparison.
        answers: of every controller, at least one each, the reference's first.
        time_s: (n,) times of the observations in s.

    Raises:
        BadInput: the file cannot be written.
    """
    names = list(result.answers[result.reference].joints)
    spread = np.max([np.ptp(one.stiffness, axis=0) for one in answers], axis=0)
    joints = [names[j] for j in np.argsort(-spread, kind="stable")[:PANELS]]
    figure = new_figure(8.0, 1.4 + 1.5 * len(joints))
    panels = figure.subplots(len(joints), 1, sharex=True, squeeze=False)[:, 0]
    every = -(-len(time_s) // MOST_POINTS)
    for axes, joint in zip(panels, joints, strict=True):
        for i, one in enumerate(answers):
            column = one.stiffness[::every, names.index(joint)]
            axes.plot(
                time_s[: len(one.stiffness) : every],
                column,
                color=ARM_COLOURS[i % len(ARM_COLOURS)],
                lw=3.0 if i == 0 else 0.9,
                alpha=0.5 if i == 0 else 1.0,
                label=one.controller,
            )
        panel_title(axes, joint)
        plain_frame(axes)
        axes.set_ylabel("stiffness (1)", fontsize=9)
    panels[-1].set_xlabel("time of the recorded run in s", fontsize=9)
    panels[0].legend(
        frameon=False,
        fontsize=8,
        ncols=len(answers),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
    )
    settings = {"run": asdict(result.run), "controllers": list(result.answers)}
    return save_figure(figure, path, "Stiffness on one recording", settings)
