"""From a run folder to its section of a page."""

from collections.abc import Mapping
from typing import Any, cast

from experiments.report.page.event_tables import event_tables
from experiments.report.page.figures import (
    ROBOT_PICTURE,
    TIMELINE,
    heat_figures,
    picture_of,
)
from experiments.report.page.heat_tables import heat_tables
from experiments.report.page.numbers import duration
from experiments.report.page.overview import outcome_rows
from experiments.report.page.recomputed import arm_from_rows, heat_from_rows
from experiments.report.page.run_source import RunSource
from experiments.report.page.scenario_tables import scenario_tables
from experiments.report.page.settings_tables import settings_tables
from experiments.report.page.sound import sound_of
from experiments.report.page.views import Figure, Replay, Section, Table, TextBlock
from experiments.standing.results import HeatResult
from models import BadInput, Robot
from models.errors import TestbedError
from models.yaml_tree import tree_of
from sim.robot_data import recorded_robot
from sim.run_meta import META_FILE


def section_of(source: RunSource, prefix: str, *, with_replay: bool = True) -> Section:
    """Return what a page shows of a run.

    Args:
        source: the run folder.
        prefix: of the names within its figures, another for each run of a page.
        with_replay: whether to build the 3-D replay.

    Raises:
        BadInput: viser is not installed, and a replay is asked for.
    """
    problems = list(source.warnings)
    robots = _robots(source, problems)
    results: tuple[Table, ...] = ()
    figures: list[Figure] = []
    heat = None
    if source.kind == "heat":
        heat = source.heat or _recomputed(source, robots)
        if heat is not None:
            results = heat_tables(heat)
            frames = {arm.name: arm.frame for arm in source.arms if len(arm.frame)}
            robot = next(iter(robots.values()), None)
            figures = heat_figures(heat, frames, robot, prefix, problems)
    elif source.scenario is not None:
        results = scenario_tables(source.scenario)
    figures = [*_pictures(source), *figures]
    replay = _replay(source, robots, problems) if with_replay else None
    sound = sound_of(source.arms[0], problems) if source.kind == "scenario" else None
    mishaps = (source.scenario or {}).get("mishaps") or ()
    return Section(
        name=source.name,
        title=_title(source),
        lead=_lead(source, heat),
        warnings=tuple(problems),
        outcome=() if heat is None else outcome_rows(source.name, heat),
        results=results,
        figures=figures,
        replay=replay,
        sound=sound,
        events=event_tables(source.arms, mishaps),
        settings=settings_tables(source.arms),
        texts=_texts(source),
    )


def _robots(source: RunSource, problems: list[str]) -> dict[str, Robot]:
    """Load the robot of each arm; one that is not there is told, and left out."""
    robots: dict[str, Robot] = {}
    for arm in source.arms:
        try:
            robots[arm.name] = recorded_robot(arm.run.meta)
        except TestbedError as error:
            problems.append(f"{arm.name}: its robot cannot be loaded: {error}")
    return robots


def _recomputed(source: RunSource, robots: Mapping[str, Robot]) -> HeatResult | None:
    found = {
        arm.name: result
        for arm in source.arms
        if arm.name in robots
        and (result := arm_from_rows(arm, robots[arm.name])) is not None
    }
    return heat_from_rows(found, source.arms[0]) if found else None


def _pictures(source: RunSource) -> list[Figure]:
    if source.kind == "heat":
        alt = "The robots side by side; the temperatures are in the table of joints."
        return picture_of(
            source.folder / ROBOT_PICTURE, "Joint temperatures at the end.", alt
        )
    if source.kind == "scenario":
        alt = "Timeline: who held which part of the body, and what the behaviours did."
        return picture_of(source.folder / TIMELINE, "Who did what, and when.", alt)
    return []


def _replay(
    source: RunSource, robots: Mapping[str, Robot], problems: list[str]
) -> Replay | None:
    from experiments.report.page.replay.build import build_replay  # noqa: PLC0415  # heavy
    from experiments.report.page.replay.scene import check_viser  # noqa: PLC0415  # heavy

    check_viser()
    arms = [arm for arm in source.arms if len(arm.frame) and arm.name in robots]
    if not arms:
        problems.append("There is no replay: no robot with rows.")
        return None
    names = ", ".join(arm.name for arm in arms)
    caption = f"Replay, from left to right: {names}." if len(arms) > 1 else "Replay."
    try:
        return build_replay(arms, robots, caption)
    except BadInput as error:
        problems.append(f"There is no replay: {error}.")
        return None


def _title(source: RunSource) -> str:
    if source.kind == "heat":
        is_robot = (source.folder / META_FILE).exists()
        return "One robot of a heat run" if is_robot else "Heat experiment"
    if source.kind == "scenario":
        name = (source.scenario or {}).get("name")
        return f"Scenario {name}" if name else "Scenario"
    return f"Run of {source.arms[0].run.meta.experiment}" if source.arms else "Run"


def _lead(source: RunSource, heat: HeatResult | None) -> str:
    if heat is not None:
        names = ", ".join(heat.arms)
        preset = heat.settings.get("preset")
        return (
            f"{heat.settings.get('robot', 'The robot')} holds {heat.posture} for "
            f"{duration(60.0 * heat.minutes)} under {names}"
            f"{f', preset {preset}' if preset else ''}, seed {heat.seed}."
        )
    if not source.arms:
        return ""
    meta = source.arms[0].run.meta
    words = f"{meta.robot} under {source.arms[0].name}, seed {meta.seed}"
    verdicts = (source.scenario or {}).get("verdicts")
    if verdicts:
        held = sum(bool(verdict["holds"]) for verdict in verdicts)
        words += f": {held} of {len(verdicts)} expectations hold"
    return f"{_about(source)} {words}.".strip()


def _about(source: RunSource) -> str:
    """Return what a scenario's file says that it is for."""
    try:
        form = tree_of(_scenario_text(source), source.folder)
    except BadInput:  # a recording of another version
        return ""
    about = form.get("about") if isinstance(form, dict) else None
    return " ".join(str(about).split()) if about else ""


def _scenario_text(source: RunSource) -> str:
    config = cast("Mapping[str, Any]", source.arms[0].run.meta.config)
    return str(config.get("scenario", ""))


def _texts(source: RunSource) -> tuple[TextBlock, ...]:
    if source.kind != "scenario":
        return ()
    text = _scenario_text(source)
    return (TextBlock(caption="The scenario's file", text=text),) if text else ()
