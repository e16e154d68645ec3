"""Writer of the videos of a page's runs, in the page's folder."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from nao_testbed.experiments.common.drawing.page import Section
from nao_testbed.experiments.common.output_files import check_replaceable
from nao_testbed.experiments.report.run_source import RunSource
from nao_testbed.experiments.report.video.film import Film, FilmCfg
from nao_testbed.models import BadInput, ExtraMissing
from nao_testbed.models.files import check_writable
from nao_testbed.sim.recording.run_meta import recorded_robot


def check_video() -> None:
    """Check that videos can be written.

    Raises:
        BadInput: PyAV is not installed.
    """
    try:
        import av  # noqa: F401, PLC0415  # an extra
    except ImportError as error:
        raise ExtraMissing("the video", "PyAV", "video", "or give --gif") from error


def video_files(page: Path, sources: Sequence[RunSource], suffix: str) -> list[Path]:
    """Return the paths of the videos, named after the page, and the run if several.

    Raises:
        BadInput: a file cannot be written, or no folder is a run.
    """
    if not sources:
        raise BadInput("a sweep has no video; give the folder of a run.")
    names = (
        [page.stem] if len(sources) == 1 else [f"{page.stem}-{s.name}" for s in sources]
    )
    files = [page.with_name(f"{name}{suffix}") for name in names]
    option = "--gif" if suffix == ".gif" else "--video"
    for path in files:
        check_replaceable(option, path)
        check_writable(option, path)
    return files


def write_videos(
    files: Sequence[Path],
    sources: Sequence[RunSource],
    sections: Sequence[Section],
    cfg: FilmCfg,
    on_progress: Callable[[int, int, str], None] = lambda _done, _of, _next: None,
) -> None:
    """Write a video of each run; existing ones are replaced.

    Args:
        files: files from `video_files`.
        sources: the runs.
        sections: page sections of the runs, for the titles.
        cfg: options.
        on_progress: function called with the numbers of finished and all pictures, and
            the run.

    Raises:
        BadInput: a run has no rows, too many robots, or lacks required data.
        WriteError: the operating system refuses.
    """
    for path, source, section in zip(files, sources, sections, strict=True):
        trials = [trial for trial in source.trials if len(trial.frame)]
        robots = {trial.name: recorded_robot(trial.run.meta) for trial in trials}
        titles = (f"{section.title}: {section.name}", section.lead)
        film = Film(trials, robots, cfg, titles)
        film.write(path, partial(_tell, on_progress, film.frames, source.name))


def _tell(
    on_progress: Callable[[int, int, str], None], of: int, name: str, done: int
) -> None:
    on_progress(done, of, f"video of {name}")
