"""Reader of a run folder for a page: a heat experiment, one robot, or another run.

A killed or damaged run is read as far as possible: rows part by part, without damaged
ones. `warnings` describes the missing data for the reader of the page.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from nao_testbed.controllers.policies.text import short_names
from nao_testbed.experiments.common.drawing.number_text import duration
from nao_testbed.experiments.heat.figures.section import read_heat_result
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.experiments.report.run_kind import RunPage, page_reader
from nao_testbed.experiments.sweep.sweep_table import is_sweep_folder
from nao_testbed.experiments.sweep.trial_store import RecordedPush
from nao_testbed.models import BadInput
from nao_testbed.models.files import cause_of, read_text
from nao_testbed.models.files.csv_tables import json_as
from nao_testbed.sim.recording.channels import TIME_COLUMN
from nao_testbed.sim.recording.recorder import EVENTS_FILE
from nao_testbed.sim.recording.run_folder import Run, read_part, read_run
from nao_testbed.sim.recording.run_meta import META_FILE, RunMeta, read_meta

if TYPE_CHECKING:
    import pandas as pd


def read_rows(run: Run) -> "tuple[pd.DataFrame, list[str]]":
    """Return the rows, and warnings about them.

    Only damaged parts are omitted.
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
        problems.append(f"{len(frame)} of its {promised} rows exist.")
    if not len(frame) and promised != 0:
        problems.append("it has no rows: it ended before the first part was written.")
    elif run.state in {"running", "interrupted"}:
        problems.append(f"its rows end at {duration(float(frame.index[-1]))}.")
    return frame, problems


def _state_in_words(state: str) -> list[str]:
    if state == "running":
        return [
            "the run is in progress; this page shows its state when the page was made."
        ]
    if state == "interrupted":
        return ["the run was killed; rows after its last part are lost."]
    if state.startswith("failed: "):
        return [f"the run failed: {state.removeprefix('failed: ')}."]
    return []


def _part_numbers(run: Run) -> list[str]:
    names = [path.name for path in run.folder.glob("part-*.parquet")]
    return [found[1] for name in names if (found := re.match(r"part-(\d+)\.", name))]


def _undamaged(run: Run, problems: list[str]) -> "pd.DataFrame":
    """Read the parts one by one, omitting damaged ones."""
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


HEAT_FILE = "heat.json"
Kind = Literal["heat", "other"]


class _World(BaseModel):
    slope_deg: float = 0.0


class _Simulation(BaseModel):
    world: _World = _World()
    misalignment_deg: dict[str, float] = {}
    start_degc: dict[str, float] = {}


class _Config(BaseModel):
    """Part of a run's configuration that a page uses, if present."""

    controller: str = ""
    posture: str = ""
    preset: str | None = None
    duration_s: float = 0.0
    pushes: list[RecordedPush] = []
    simulation: _Simulation = _Simulation()


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordedTrial:
    """One robot of a run, read from its folder."""

    name: str
    """Name of its controller."""
    run: Run
    frame: "pd.DataFrame"
    """Readable rows, with the simulated time in s as index."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSource:
    """Contents of a run folder."""

    folder: Path
    kind: Kind
    trials: tuple[RecordedTrial, ...]
    heat: HeatResult | None = None
    """Content of `heat.json`, if it exists."""
    page: RunPage | None = None
    """Extra contents of this kind of run; see `run_kind`."""
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.resolve().name


def runs_in(folder: Path) -> tuple[Path, ...]:
    """Return the folders of runs and sweeps in a folder.

    A run folder gives itself. A folder that contains runs, possibly beside the robots
    of a heat experiment, gives each of them, sorted by name.
    """
    if (folder / META_FILE).exists() or is_sweep_folder(folder):
        return (folder,)
    robots, others = _inside(folder)
    commands = {(meta.experiment, meta.command) for meta in robots.values() if meta}
    if (folder / HEAT_FILE).exists() or (robots and len(commands) <= 1):
        found = [folder]
    else:
        found = list(robots)
    found += [run for other in others for run in runs_in(other)]
    return tuple(found) or (folder,)


def _inside(folder: Path) -> tuple[dict[Path, RunMeta | None], list[Path]]:
    """Return the robots of a heat experiment in a folder, and all other runs in it.

    None for a robot with an unreadable description.
    """
    robots: dict[Path, RunMeta | None] = {}
    others = []
    for path in sorted(path for path in folder.glob("*/") if path.is_dir()):
        if (path / META_FILE).exists() and not is_sweep_folder(path):
            try:
                meta = read_meta(path)
            except BadInput:
                robots[path] = None
                continue
            if meta.experiment == "heat":
                robots[path] = meta
            else:
                others.append(path)
        elif (
            is_sweep_folder(path)
            or (path / HEAT_FILE).exists()
            or any(path.glob(f"*/{META_FILE}"))
        ):
            others.append(path)
    return robots, others


def read_source(folder: Path) -> RunSource:
    """Read the folder of one run, such as from `runs_in`.

    Raises:
        BadInput: the folder is not a run folder, is empty, or has no metadata.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise BadInput(f"{folder} {what}; give a run folder.")
    if (folder / META_FILE).exists():
        return _read_single(folder)
    trials, _ = _inside(folder)
    if trials or (folder / HEAT_FILE).exists():
        return _read_heat(folder, list(trials))
    state = "is empty" if not any(folder.iterdir()) else "is not a run folder"
    raise BadInput(
        f"{folder} {state}: it has neither {META_FILE} nor {HEAT_FILE}, nor "
        "folders of robots. Give a folder that nao-testbed heat, scenario run or sweep "
        "wrote."
    )


def check_one_run(folder: Path, trials: list[RecordedTrial]) -> None:
    """Check that the robots belong to one experiment.

    Raises:
        BadInput: the folder contains several runs.
    """
    metas = [trial.run.meta for trial in trials]
    if len({(meta.experiment, tuple(meta.command)) for meta in metas}) > 1:
        some = ", ".join(str(trial.run.folder) for trial in trials[:3])
        raise BadInput(
            f"{folder} holds {len(trials)} runs of different commands; give the ones "
            f"to show, such as {some}."
        )


def _read_single(folder: Path) -> RunSource:
    warnings: list[str] = []
    (trial,) = _with_short_names([_read_trial(folder, warnings)])
    run = trial.run
    is_heat = run.meta.experiment in {"heat", "robot"}
    reader = None if is_heat else page_reader(run.meta.experiment)
    page = None if reader is None else reader(run, warnings)
    return RunSource(
        folder=folder,
        kind="heat" if is_heat else "other",
        trials=(trial,),
        page=page,
        warnings=tuple(warnings),
    )


def _read_heat(folder: Path, trial_folders: list[Path]) -> RunSource:
    warnings: list[str] = []
    trials: list[RecordedTrial] = []
    for path in trial_folders:
        try:
            trials.append(_read_trial(path, warnings))
        except BadInput as error:
            warnings.append(f"{path.name} is left out: {error}")
    if not (folder / HEAT_FILE).exists():
        check_one_run(folder, trials)
    trials = _with_short_names(trials)
    shared = Counter(trial.name for trial in trials)
    trials = [
        replace(trial, name=f"{trial.name} ({trial.run.folder.name})")
        if shared[trial.name] > 1
        else trial
        for trial in trials
    ]
    data = None
    if (folder / HEAT_FILE).exists():
        data = read_json(folder / HEAT_FILE, warnings)
    heat = None
    if data is not None:
        try:
            heat = read_heat_result(folder / HEAT_FILE, data)
        except BadInput as error:
            warnings.append(str(error))
    if heat is not None:
        known = list(heat.trials)
        trials.sort(
            key=lambda trial: known.index(trial.name) if trial.name in known else 99
        )
        warnings += [
            f"{name} has no result: {why}" for name, why in heat.failed.items()
        ]
        without = [
            name for name in known if name not in {trial.name for trial in trials}
        ]
        warnings += [
            f"{name}: its folder is missing, with its rows." for name in without
        ]
    elif not trials:
        raise BadInput(f"{folder} has no readable data: {'; '.join(warnings)}")
    if heat is None:
        warnings.insert(
            0,
            f"There is no readable {HEAT_FILE}, as after an incomplete run: all "
            "numbers are computed from the recorded rows.",
        )
    return RunSource(
        folder=folder,
        kind="heat",
        trials=tuple(trials),
        heat=heat,
        warnings=tuple(warnings),
    )


def _read_trial(folder: Path, warnings: list[str]) -> RecordedTrial:
    run = read_run(folder)
    path, config = folder / META_FILE, json.dumps(run.meta.config)
    json_as(path, config, _Config, "config")
    name = str(run.meta.config.get("controller", folder.name))
    frame, problems = read_rows(run)
    if n := run.damaged_events:
        lines = "line" if n == 1 else "lines"
        problems.insert(0, f"{n} damaged {lines} of {EVENTS_FILE} left out.")
    warnings += [f"{name}: {problem}" for problem in problems]
    return RecordedTrial(name=name, run=run, frame=frame)


def _with_short_names(trials: list[RecordedTrial]) -> list[RecordedTrial]:
    """Return trials named as in the results: policies without folder and suffix."""
    names = short_names([trial.name for trial in trials])
    return [
        replace(trial, name=name) for trial, name in zip(trials, names, strict=True)
    ]


def read_json(path: Path, warnings: list[str]) -> Mapping[str, Any] | None:
    """Read a mapping; add a warning and return None if there is none."""
    try:
        data = json.loads(read_text(path))
    except FileNotFoundError:
        warnings.append(f"{path.name} is missing.")
        return None
    except (OSError, ValueError, RecursionError) as error:
        warnings.append(f"{path.name} cannot be read: {cause_of(error)}.")
        return None
    if not isinstance(data, dict):
        warnings.append(f"{path.name} has no result.")
        return None
    return data
