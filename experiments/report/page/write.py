"""Writes the page: checks first what would fail at the end."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from experiments.report.page.render import render_page
from experiments.report.page.run_source import RunSource, read_source, runs_in
from experiments.report.page.section import section_of
from experiments.report.page.sweep.section import sweep_section
from experiments.report.page.views import Section
from experiments.sweep.summary_source import (
    SweepFolder,
    is_sweep_folder,
    read_folder,
)
from models import BadInput
from models.files import check_writable

FILE = "report.html"


@dataclass(frozen=True, kw_only=True)
class ReportCfg:
    """What is asked of a report."""

    runs: tuple[Path, ...]
    """Folders of runs and of sweeps, or above them, in the order of the page."""
    out: Path | None = None
    """The file; None: `report.html` in the folder, where one is given."""
    with_replay: bool = True


@dataclass(frozen=True, kw_only=True)
class WrittenPage:
    """A page, and what it shows."""

    path: Path
    sections: tuple[Section, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the contract of `--json`: captions of all that the page shows."""
        return {
            "experiment": "report",
            "page": str(self.path),
            "shows": [_shown(section) for section in self.sections],
        }


def write_report(cfg: ReportCfg) -> Path:
    """Write the page and return its path; see `write_page`."""
    return write_page(cfg).path


def write_page(
    cfg: ReportCfg,
    on_progress: Callable[[int, int, str], None] = lambda _done, _of, _next: None,
) -> WrittenPage:
    """Write the page; one that is there already is replaced.

    Args:
        cfg: what is asked for.
        on_progress: told how many runs and sweeps are done, of how many, and what is
            done next.

    Raises:
        BadInput: a folder is no run and no sweep, two runs have one name, or the file
            cannot be written.
    """
    sources = _read(cfg)
    out = cfg.out or cfg.runs[0] / FILE
    _check_writable(out)
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
    return WrittenPage(path=out, sections=tuple(sections))


def _shown(section: Section) -> dict[str, Any]:
    tables = (*section.results, *section.events, *section.trials, *section.settings)
    return {
        "name": section.name,
        "title": section.title,
        "warnings": list(section.warnings),
        "tables": [table.caption for table in tables],
        "figures": [figure.caption for figure in section.figures],
        "texts": [text.caption for text in section.texts],
        "has_replay": section.replay is not None,
    }


def _count(sources: Sequence[RunSource | SweepFolder]) -> str:
    """Say how many runs and sweeps there are."""
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
            f"{len(cfg.runs)} runs make one page; say by --out where it goes, such as "
            f"--out {FILE}."
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
                f"two runs are called {source.name!r}: {other} and {source.folder}. On "
                "a page nobody could tell them apart; give each once, or rename one."
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
