"""Time axes in minutes with one label for all charts."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nao_testbed.experiments.common.drawing.style import (
    TIME,
    new_figure,
    time_axis,
    time_ticks,
)
from tests.project.sources import parsed

ROOT = Path(__file__).parents[4]
ROOMS = ("experiments", "studies", "notebooks", "examples", "benchmarks")
STYLE = Path("experiments", "common", "drawing", "style.py")


def axis_labels() -> Iterator[tuple[Path, str]]:
    """Yield each call that labels a horizontal axis, with its file."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "set_xlabel" not in text:
                continue
            for node in ast.walk(parsed(text)):
                match node:
                    case ast.Call(func=ast.Attribute(attr="set_xlabel")):
                        yield path.relative_to(ROOT), ast.unparse(node)


def test_time_axes_are_labelled_in_one_place() -> None:
    labels = list(axis_labels())
    assert STYLE in dict(labels)
    others = [(path, text) for path, text in labels if path != STYLE]
    assert len(others) >= 4, "no labels are found"
    for path, text in others:
        words = text.lower()
        assert "time" not in words, f"{path}: {text}: call time_axis"
        assert "in s" not in words, f"{path}: {text}: call time_axis"
        assert "minutes" not in words, f"{path}: {text}: call time_axis"


def test_time_axis_label_is_in_minutes() -> None:
    axes = new_figure(3.0, 2.0).subplots()
    time_axis(axes)
    assert axes.get_xlabel() == TIME == "Time (min)"


@pytest.mark.parametrize("minutes", [0.01, 0.23, 1.0, 15.0, 16.0, 600.0])
def test_ticks_are_round_and_reach_the_end(minutes: float) -> None:
    ticks = time_ticks(minutes)
    step = ticks[1]
    assert ticks[0] == 0.0
    assert 0.0 <= minutes - ticks[-1] < step
    assert 2 <= len(ticks) <= 5
    leading = step / 10.0 ** np.floor(np.log10(step) + 1e-9)
    assert min(abs(leading - round_) for round_ in (1.0, 2.0, 2.5, 5.0)) < 1e-6
