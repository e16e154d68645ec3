"""Answers over time of the joints in which most happened."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.replay.results import ReplayResult
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
    path: Path,
    result: ReplayResult,
    answers: Mapping[str, FloatArray],
    time_s: FloatArray,
    label: str = "stiffness (1)",
) -> Path:
    """Draw the joints in which answers vary most in time, and write the file.

    Args:
        path: of the PNG file.
        result: the comparison.
        answers: controller to its stiffness or shifts, (m, n_joints), m >= 1; the
            reference is first.
        time_s: (n,) times of the observations in s.
        label: what the answers are, and their unit.

    Raises:
        NotWritten: the file cannot be written.
    """
    names = list(result.answers[result.reference].joints)
    spread = np.max([np.ptp(values, axis=0) for values in answers.values()], axis=0)
    joints = [names[j] for j in np.argsort(-spread, kind="stable")[:PANELS]]
    figure = new_figure(8.0, 1.4 + 1.5 * len(joints))
    panels = figure.subplots(len(joints), 1, sharex=True, squeeze=False)[:, 0]
    every = -(-len(time_s) // MOST_POINTS)
    for axes, joint in zip(panels, joints, strict=True):
        for i, (controller, values) in enumerate(answers.items()):
            axes.plot(
                time_s[: len(values) : every],
                values[::every, names.index(joint)],
                color=ARM_COLOURS[i % len(ARM_COLOURS)],
                lw=3.0 if i == 0 else 0.9,
                alpha=0.5 if i == 0 else 1.0,
                label=controller,
            )
        panel_title(axes, joint)
        plain_frame(axes)
        axes.set_ylabel(label, fontsize=9)
    panels[-1].set_xlabel("time of the recorded run in s", fontsize=9)
    panels[0].legend(
        frameon=False,
        fontsize=8,
        ncols=len(answers),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
    )
    settings = {"run": asdict(result.run), "controllers": list(result.answers)}
    title = f"{label.partition(' ')[0].capitalize()} on one recording"
    return save_figure(figure, path, title, settings)
