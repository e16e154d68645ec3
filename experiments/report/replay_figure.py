"""Stiffness over time of the joints in which controllers differ most."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.replay import Answers
from experiments.replay_results import ReplayResult
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
    """Draw the joints that differ most from the reference, and write the file.

    Args:
        path: of the PNG file.
        result: the comparison.
        answers: of every controller, the reference's first.
        time_s: (n,) times of the observations in s.

    Raises:
        BadInput: the file cannot be written.
    """
    joints = _shown(result)
    names = list(result.answers[result.reference].joints)
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
                lw=1.4 if i == 0 else 0.9,
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


def _shown(result: ReplayResult) -> list[str]:
    """Return the joints with the largest difference of any controller, or loads."""

    def weight(joint: str) -> tuple[float, float]:
        rows = [a.joints[joint] for a in result.answers.values() if a.joints]
        return (
            max(row.rms_difference for row in rows),
            max(row.largest for row in rows),
        )

    joints = result.answers[result.reference].joints
    return sorted(joints, key=weight, reverse=True)[:PANELS]
