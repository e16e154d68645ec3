"""`nao-testbed replay`: controllers on a recorded run, as a table, JSON and files."""

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from experiments.json_file import STDOUT, check_json_file, json_text, write_json
from experiments.regression.replay_tables import replay_tables
from experiments.replay.answers import Answers
from experiments.replay.files import create_replay_folder, write_answers
from experiments.replay.results import ReplayResult
from experiments.replay.run import (
    Recording,
    ReplayCfg,
    open_recording,
    replay_controllers,
)
from experiments.warm_up import say_if_it_compiles
from models.files import write_text


def run_replay_command(cfg: ReplayCfg, out: Path | None, json_file: str | None) -> int:
    """Replay, print the tables, write what was asked for; return the exit status.

    Args:
        cfg: what is asked for.
        out: folder for answers and figure; where it exists, `out-2` and so on.
        json_file: also write JSON there; - is stdout, the tables then go to stderr.

    Raises:
        BadInput: the run cannot be replayed, or a file not be written.
    """
    recording = open_recording(cfg)
    check_json_file(json_file)
    folder = None if out is None else create_replay_folder(out)
    say_if_it_compiles()
    result, answers = _with_progress(recording, folder)
    text = json_text(result.as_json())
    to_stderr = json_file == STDOUT
    stream = sys.stderr if to_stderr else sys.stdout
    console = Console(stderr=to_stderr, width=None if stream.isatty() else 100)
    for table in replay_tables(result):
        console.print(table)
        console.print()
    if folder is not None:
        write_text(folder / "replay.json", text + "\n")
        write_answers(folder, recording, result, answers)
        console.print(f"Answers and figures: {folder}", soft_wrap=True, markup=False)
    write_json(json_file, text)
    failures = [a for a in result.answers.values() if a.failure is not None]
    for one in failures:
        print(f"{one.controller}: {one.failure}", file=sys.stderr)
    return 1 if failures else 0


def _with_progress(
    recording: Recording, folder: Path | None
) -> tuple[ReplayResult, list[Answers]]:
    if not sys.stderr.isatty():
        return replay_controllers(recording, out=folder)
    with Progress(
        TextColumn("{task.description:>14}"),
        BarColumn(),
        TaskProgressColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        tasks = {
            name: progress.add_task(name, total=1.0) for name in recording.controllers
        }
        return replay_controllers(
            recording,
            lambda name, share: progress.update(tasks[name], completed=share),
            folder,
        )
