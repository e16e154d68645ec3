"""The rows of a run, as far as its parts can be read, and what is wrong with them."""

import re
from typing import TYPE_CHECKING

from experiments.report.page.numbers import duration
from models import BadInput
from sim.channels import TIME_COLUMN
from sim.run_folder import Run, read_part

if TYPE_CHECKING:
    import pandas as pd


def read_rows(run: Run) -> "tuple[pd.DataFrame, list[str]]":
    """Return the rows, and what a reader must know about them.

    A damaged part is left out; so is nothing else.
    """
    problems = _state_in_words(run.state)
    try:
        frame = run.frame
    except BadInput:
        frame = _undamaged(run, problems)
    numbers = [int(n) for n in _part_numbers(run)]
    absent = sorted(set(range(max(numbers, default=-1) + 1)) - set(numbers))
    if absent:
        problems.append(f"part {', '.join(map(str, absent))} of its rows is missing.")
    promised = run.meta.rows
    if promised is not None and len(frame) < promised:
        problems.append(f"{len(frame)} of its {promised} rows are there.")
    if not len(frame):
        problems.append("it has no rows: it ended before the first part was written.")
    elif run.state in {"running", "interrupted"}:
        problems.append(f"its rows end at {duration(float(frame.index[-1]))}.")
    return frame, problems


def _state_in_words(state: str) -> list[str]:
    if state == "running":
        return ["the run goes on; this page shows it as it was when it was made."]
    if state == "interrupted":
        return ["the run was killed; what was younger than its last part is lost."]
    if state.startswith("failed: "):
        return [f"the run failed: {state.removeprefix('failed: ')}."]
    return []


def _part_numbers(run: Run) -> list[str]:
    names = [path.name for path in run.folder.glob("part-*.parquet")]
    return [found[1] for name in names if (found := re.match(r"part-(\d+)\.", name))]


def _undamaged(run: Run, problems: list[str]) -> "pd.DataFrame":
    """Read part by part, without those that cannot be read."""
    import pandas as pd  # noqa: PLC0415  # slow, and rarely needed

    frames = []
    for path in sorted(run.folder.glob("part-*.parquet")):
        try:
            frames.append(read_part(path))
        except BadInput:
            problems.append(f"{path.name} is damaged and was left out.")
    if not frames:
        names = [column for column in run.meta.columns if column != TIME_COLUMN]
        index = pd.Index([], dtype="float64", name=TIME_COLUMN)
        return pd.DataFrame(index=index, columns=names, dtype="float32")
    frame = pd.concat(frames)
    return frame[~frame.index.duplicated()]
