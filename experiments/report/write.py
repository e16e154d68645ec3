"""Writer of the page from run folders: sections, HTML, file.

Conditions that would fail at the end are checked first. Only the template contains
HTML. All text from a run is escaped, except our own SVG figures. The page's
Content-Security-Policy forbids every request.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nao_testbed.experiments.common.drawing.number_text import duration
from nao_testbed.experiments.common.drawing.page import (
    DataTable,
    PageFigure,
    Replay,
    Section,
)
from nao_testbed.experiments.common.drawing.style import without_home
from nao_testbed.experiments.common.output_files import check_replaceable
from nao_testbed.experiments.heat.figures.section import (
    ROBOT_PICTURE,
    heat_figures,
    outcome_rows,
    overview_table,
    picture_of,
)
from nao_testbed.experiments.heat.figures.tables import heat_tables
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.experiments.report.run_contents import (
    event_tables,
    heat_from_rows,
    settings_tables,
    sound_of,
    trial_from_rows,
)
from nao_testbed.experiments.report.run_kind import RunPage
from nao_testbed.experiments.report.run_source import RunSource, read_source, runs_in
from nao_testbed.experiments.sweep.summary.section import sweep_section
from nao_testbed.experiments.sweep.sweep_table import (
    SweepFolder,
    is_sweep_folder,
    read_folder,
)
from nao_testbed.models import BadInput, ExtraMissing, Robot
from nao_testbed.models.errors import TestbedError
from nao_testbed.models.files import check_writable
from nao_testbed.sim.recording.run_meta import META_FILE, recorded_robot

if TYPE_CHECKING:
    from nao_testbed.experiments.report.video.film import FilmCfg


def section_of(source: RunSource, prefix: str, *, with_replay: bool = True) -> Section:
    """Return the section of a page for a run.

    Args:
        source: run folder.
        prefix: prefix of the SVG ids in its figures, unique for each run of a page.
        with_replay: True: build the 3-D replay.

    Raises:
        BadInput: a replay is requested, and viser is not installed.
    """
    problems = list(source.warnings)
    robots = _robots(source, problems)
    results: tuple[DataTable, ...] = ()
    figures: list[PageFigure] = []
    heat = None
    if source.kind == "heat":
        heat = source.heat or _recomputed(source, robots)
        if heat is not None:
            results = heat_tables(heat)
            frames = {
                trial.name: trial.frame for trial in source.trials if len(trial.frame)
            }
            robot = next(iter(robots.values()), None)
            figures = heat_figures(heat, frames, robot, prefix, problems)
    page = source.page or RunPage(title=_title(source))
    figures = [*page.figures, *figures]
    replay = _replay(source, robots, problems) if with_replay else None
    sound = sound_of(source.trials[0], problems) if source.page is not None else None
    return Section(
        name=source.name,
        title=page.title,
        lead=_lead(source, page, heat),
        warnings=tuple(problems),
        outcome=() if heat is None else outcome_rows(source.name, heat),
        results=results or page.results,
        pictures=_pictures(source),
        figures=figures,
        replay=replay,
        sound=sound,
        events=event_tables(source.trials, page.happened),
        settings=settings_tables(source.trials),
        texts=page.texts,
    )


def _robots(source: RunSource, problems: list[str]) -> dict[str, Robot]:
    """Load the robot of each trial; report and omit missing ones."""
    robots: dict[str, Robot] = {}
    for trial in source.trials:
        try:
            robots[trial.name] = recorded_robot(trial.run.meta)
        except TestbedError as error:
            problems.append(f"{trial.name}: its robot cannot be loaded: {error}")
    return robots


def _recomputed(source: RunSource, robots: Mapping[str, Robot]) -> HeatResult | None:
    found = {
        trial.name: result
        for trial in source.trials
        if trial.name in robots
        and (result := trial_from_rows(trial, robots[trial.name])) is not None
    }
    return heat_from_rows(found, source.trials[0]) if found else None


def _pictures(source: RunSource) -> list[PageFigure]:
    if source.kind == "heat":
        alt = "The robots side by side; the temperatures are in the table of joints."
        return picture_of(
            source.folder / ROBOT_PICTURE, "Motor temperatures at the end.", alt
        )
    return []


def _replay(
    source: RunSource, robots: Mapping[str, Robot], problems: list[str]
) -> Replay | None:
    from nao_testbed.experiments.report.replay.scene import (  # noqa: PLC0415
        build_replay,  # heavy import
        check_viser,  # heavy
    )

    check_viser()
    trials = [
        trial for trial in source.trials if len(trial.frame) and trial.name in robots
    ]
    if not trials:
        if any(trial.run.meta.rows != 0 for trial in source.trials):
            problems.append("There is no replay: no robot with rows.")
        return None
    names = ", ".join(trial.name for trial in trials)
    caption = f"Replay, from left to right: {names}." if len(trials) > 1 else "Replay."
    try:
        return build_replay(trials, robots, caption)
    except BadInput as error:
        problems.append(f"There is no replay: {error}.")
        return None


def _title(source: RunSource) -> str:
    if source.kind == "heat":
        is_robot = (source.folder / META_FILE).exists()
        return "One robot of a heat run" if is_robot else "Heat experiment"
    return f"Run of {source.trials[0].run.meta.experiment}" if source.trials else "Run"


def _lead(source: RunSource, page: RunPage, heat: HeatResult | None) -> str:
    if heat is not None:
        names = ", ".join(heat.trials)
        preset = heat.settings.get("preset")
        return (
            f"{heat.settings.get('robot', 'The robot')} holds {heat.posture} for "
            f"{duration(60.0 * heat.minutes)} under {names}"
            f"{f', preset {preset}' if preset else ''}, seed {heat.seed}."
        )
    if page.summary or not source.trials:
        return page.summary
    meta = source.trials[0].run.meta
    words = f"{meta.robot} under {source.trials[0].name}, seed {meta.seed}"
    if page.outcome:
        words += f": {page.outcome}"
    return f"{page.lead} {words}.".strip()


TEMPLATE = "page.html.j2"


def render_page(title: str, sections: Sequence[Section], made_by: str) -> str:
    """Return the HTML of the page.

    Args:
        title: title of the page.
        sections: sections, one per run.
        made_by: program, version and time, for the footer.

    Raises:
        BadInput: jinja2 is not installed.
    """
    try:
        import jinja2  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ExtraMissing("the report", "jinja2", "report") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["script_text"] = _script_text
    template = environment.get_template(TEMPLATE)
    page = template.render(
        title=title,
        sections=sections,
        overview=overview_table(sections),
        made_by=made_by,
    )
    return without_home(page)


def _script_text(text: str) -> str:
    """Return a text as JSON that is safe inside a `<script>` element.

    `<` is written as an escape, so that the text cannot end the element.
    """
    import markupsafe  # noqa: PLC0415  # comes with jinja2

    return markupsafe.Markup(json.dumps(text).replace("<", "\\u003c"))


FILE = "report.html"


@dataclass(frozen=True, kw_only=True)
class ReportCfg:
    """Options of a report."""

    runs: tuple[Path, ...]
    """Folders of runs and sweeps, or folders that contain them, in the order of the
    page."""
    out: Path | None = None
    """Path of the page; None: `report.html` in the folder, if only one is given."""
    with_replay: bool = True
    video: "FilmCfg | None" = None
    """Options of a video per run, in the page's folder; None: no videos."""


@dataclass(frozen=True, kw_only=True)
class WrittenPage:
    """Written page with its contents."""

    path: Path
    sections: tuple[Section, ...]
    videos: tuple[Path, ...] = ()
    """Videos of its runs, in the order of the page."""

    def as_json(self) -> dict[str, Any]:
        """Return the data for `--json`: captions of all contents of the page."""
        return {
            "experiment": "report",
            "page": str(self.path),
            "videos": [str(path) for path in self.videos],
            "shows": [_shown(section) for section in self.sections],
        }


def write_report(cfg: ReportCfg) -> Path:
    """Write the page and return its path; see `write_page`."""
    return write_page(cfg).path


def write_page(
    cfg: ReportCfg,
    on_progress: Callable[[int, int, str], None] = lambda _done, _of, _next: None,
) -> WrittenPage:
    """Write the page; an existing one is replaced.

    Args:
        cfg: options.
        on_progress: function called with the numbers of finished and all runs and
            sweeps, and the next one; for a video, with its pictures.

    Raises:
        BadInput: a folder is neither a run nor a sweep, two runs have one name, or the
            file cannot be written.
    """
    sources = _read(cfg)
    out = cfg.out or cfg.runs[0] / FILE
    if cfg.out is None:
        check_replaceable("the page", out)
    _check_writable(out)
    runs = [source for source in sources if isinstance(source, RunSource)]
    videos = _video_files(out, runs, cfg.video) if cfg.video else []
    sections = []
    for i, source in enumerate(sources):
        on_progress(i, len(sources), source.name)
        sections.append(_section(source, f"run{i + 1}", cfg))
    on_progress(len(sources), len(sources), "page")
    title = sections[0].title if len(sections) == 1 else _count(sources)
    names = ", ".join(section.name for section in sections)
    html = render_page(f"{title}: {names}", sections, _made_by())
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(html, encoding="utf-8")
        unfinished.replace(out)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise _unwritable(out, error) from error
    if cfg.video:
        from nao_testbed.experiments.report.video.write_videos import write_videos  # noqa: PLC0415  # heavy import

        known = {source.name for source in runs}
        shown = [section for section in sections if section.name in known]
        write_videos(videos, runs, shown, cfg.video, on_progress)
    return WrittenPage(path=out, sections=tuple(sections), videos=tuple(videos))


def _video_files(out: Path, runs: Sequence[RunSource], cfg: "FilmCfg") -> list[Path]:
    from nao_testbed.experiments.report.video.write_videos import (  # noqa: PLC0415
        check_video,  # heavy
        video_files,  # same module
    )

    if not cfg.is_gif:
        check_video()
    return video_files(out, runs, cfg.suffix)


def _shown(section: Section) -> dict[str, Any]:
    tables = (*section.results, *section.events, *section.trials, *section.settings)
    return {
        "name": section.name,
        "title": section.title,
        "warnings": list(section.warnings),
        "tables": [table.caption for table in tables],
        "figures": [figure.caption for figure in (*section.pictures, *section.figures)],
        "texts": [text.caption for text in section.texts],
        "has_replay": section.replay is not None,
    }


def _count(sources: Sequence[RunSource | SweepFolder]) -> str:
    """Return a text with the number of runs and sweeps."""
    n_sweeps = sum(isinstance(source, SweepFolder) for source in sources)
    counts = {"run": len(sources) - n_sweeps, "sweep": n_sweeps}
    return " and ".join(
        f"{n} {word}{'s' if n > 1 else ''}" for word, n in counts.items() if n
    )


def _section(source: RunSource | SweepFolder, prefix: str, cfg: ReportCfg) -> Section:
    if isinstance(source, SweepFolder):
        return sweep_section(source, prefix)
    return section_of(source, prefix, with_replay=cfg.with_replay)


def _read(cfg: ReportCfg) -> list[RunSource | SweepFolder]:
    if not cfg.runs:
        raise BadInput("no run folder is given; give at least one.")
    if len(cfg.runs) > 1 and cfg.out is None:
        raise BadInput(
            f"{len(cfg.runs)} runs need a file for their page; give it with --out, "
            f"such as --out {FILE}."
        )
    sources = [
        read_folder(folder) if is_sweep_folder(folder) else read_source(folder)
        for asked in cfg.runs
        for folder in runs_in(asked)
    ]
    by_name: dict[str, Path] = {}
    for source in sources:
        other = by_name.setdefault(source.name, source.folder)
        if other is not source.folder:
            raise BadInput(
                f"two runs are called {source.name!r}: {other} and {source.folder}. "
                "A page cannot distinguish them; give each once, or rename one."
            )
    return sources


def _check_writable(out: Path) -> None:
    if out.is_dir():
        raise BadInput(f"--out {out} is a folder; give a file, such as {out / FILE}.")
    try:
        probe = out.with_name(f".{out.name}.{os.getpid()}.tmp")
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _unwritable(out, error) from error
    check_writable("--out", out)


def _unwritable(out: Path, error: OSError) -> BadInput:
    return BadInput(
        f"--out {out} cannot be written: {error.strerror or error}. Give another file."
    )


def _made_by() -> str:
    try:
        version = metadata.version("nao-testbed")
    except metadata.PackageNotFoundError:
        version = "from a source tree"
    return f"nao-testbed {version}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
