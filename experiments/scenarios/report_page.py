"""Report page of a recorded scenario: verdicts, timeline, file."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from nao_testbed.experiments.common.drawing.page import TextBlock
from nao_testbed.experiments.heat.figures.section import picture_of
from nao_testbed.experiments.report.run_kind import RunPage
from nao_testbed.experiments.report.run_source import read_json
from nao_testbed.experiments.scenarios.playing.result import SCENARIO_FILE, TIMELINE
from nao_testbed.experiments.scenarios.playing.tracking import Tracking
from nao_testbed.experiments.scenarios.tables import scenario_tables, words_of
from nao_testbed.models import BadInput
from nao_testbed.models.files.csv_tables import json_as
from nao_testbed.models.files.yaml_tree import tree_of
from nao_testbed.sim.recording.run_folder import Run
from nao_testbed.sim.recording.run_meta import META_FILE


class _Verdict(BaseModel):
    line: int | None
    expectation: str
    holds: bool
    seen: str


class _Failure(BaseModel):
    time_s: float
    what: str


class _Scenario(BaseModel):
    """Fields of `ScenarioResult.as_json` that a page needs."""

    name: str = ""
    verdicts: list[_Verdict] = []
    failures: list[_Failure] = []
    fell: bool = False
    failure: str | None = None
    sim_s: float = 0.0
    wall_s: float = 0.0
    max_degc: dict[str, float] = {}
    never_acted: dict[str, str] = {}
    tracking: Tracking = Tracking()


class _Config(BaseModel):
    """Fields of the run's configuration that a page needs."""

    scenario: str = ""


def page_of(run: Run, problems: list[str]) -> RunPage:
    """Return the page of a scenario from its readable files.

    Args:
        run: recorded run.
        problems: collects a line for each missing file.

    Raises:
        BadInput: the configuration of the run is not one of ours.
    """
    config = json.dumps(run.meta.config)
    text = json_as(run.folder / META_FILE, config, _Config, "config").scenario
    result = _read_scenario(run, problems) or {}
    verdicts = result.get("verdicts")
    alt = "Timeline: holders of each body part, and states of the behaviours."
    return RunPage(
        title=f"Scenario {result.get('name') or ''}".strip(),
        lead=_about(run, text),
        outcome=words_of(verdicts) if verdicts else "",
        results=scenario_tables(result) if result else (),
        figures=tuple(
            picture_of(
                run.folder / TIMELINE, "Holders, behaviours and events over time.", alt
            )
        ),
        happened=tuple(
            (float(one["time_s"]), str(one["what"]))
            for one in result.get("failures") or ()
        ),
        texts=(TextBlock(caption="Scenario file", text=text),) if text else (),
    )


def _read_scenario(run: Run, problems: list[str]) -> Mapping[str, Any] | None:
    """Return a scenario's result; without one, add a problem and return None."""
    path = run.folder / SCENARIO_FILE
    data = read_json(path, problems)
    try:
        if data is not None:
            data = {"failures": data.get("mishaps", []), **data}  # of earlier versions
            json_as(path, json.dumps(data), _Scenario)
    except BadInput as error:
        problems.append(str(error))
        return None
    return data


def _about(run: Run, text: str) -> str:
    """Return the purpose given in a scenario's file."""
    try:
        form = tree_of(text, run.folder)
    except BadInput:  # a recording of another version
        return ""
    about = form.get("about") if isinstance(form, dict) else None
    return " ".join(str(about).split()) if about else ""
