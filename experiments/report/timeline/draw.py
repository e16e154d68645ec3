"""The files of a run's timeline."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.report.figure_file import save_figure
from experiments.report.timeline.action_words import action_words
from experiments.report.timeline.figure import Mark, timeline_figure
from experiments.scenarios.plan.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

    from experiments.scenarios.playing.run import ScenarioRun

MOST_MISHAPS = 6
"""That are marked; the table and the JSON have all."""


def draw_timeline(scenario: Scenario, run: "ScenarioRun", folder: Path) -> list[Path]:
    """Write `timeline.png` and `.svg` into a folder; return the PNG's path.

    Raises:
        BadInput: a file cannot be written.
    """
    marks = [
        Mark(time_s=tick * scenario.tick_s, text=action_words(event.action))
        for tick, event in run.happened
    ]
    marks += [
        Mark(time_s=mishap.time_s, text=f"✗ {mishap.what}", is_mishap=True)
        for mishap in run.result.mishaps[:MOST_MISHAPS]
    ]
    fell = ", the robot fell" if run.result.fell else ""
    figure = timeline_figure(
        scenario,
        run.events,
        run_temperatures(run),
        marks,
        end_s=run.result.sim_s,
        said=run.result.verdicts_in_words + fell,
        all_hold=run.result.all_hold,
    )
    settings = {
        "scenario": scenario.name,
        "file": scenario.path.name,
        "seed": scenario.seed,
        "controller": scenario.controller,
        "trace": run.result.trace_hash,
    }
    paths = [folder / "timeline.png", folder / "timeline.svg"]
    with warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for path in paths:
            save_figure(figure, path, f"Scenario {scenario.name}", settings)
    return paths[:1]


def run_temperatures(run: "ScenarioRun") -> "pd.DataFrame":
    """Return a run's temperatures: index time in s, a column a joint, in °C."""
    import pandas as pd  # noqa: PLC0415  # heavy

    index = pd.Index(run.times_s, name="time_s")
    joints = list(run.scenario.robot.joint_names)
    return pd.DataFrame(run.degc, index=index, columns=joints)
