"""Opens a run folder whatever has become of its events."""

import json
from pathlib import Path

from models import BadInput
from sim.recorder import EVENTS_FILE
from sim.run_folder import Event, Run, read_run
from sim.run_meta import read_meta


def open_run(folder: Path) -> tuple[Run, list[str]]:
    """Return a run, and what a reader must know about its events.

    Raises:
        BadInput: the folder does not say what run it is.
    """
    try:
        return read_run(folder), []
    except BadInput:
        raise
    except (ValueError, TypeError):  # a line that no recorder has written
        meta = read_meta(folder)
    text = (folder / EVENTS_FILE).read_text(encoding="utf-8", errors="replace")
    lines = text.splitlines()
    events = tuple(event for line in lines if (event := _event(line)) is not None)
    state = "interrupted" if meta.state == "running" else meta.state
    run = Run(folder=folder, meta=meta, state=state, events=events)
    n = len(lines) - len(events)
    return run, [f"{n} damaged line{'' if n == 1 else 's'} of {EVENTS_FILE} left out."]


def _event(line: str) -> Event | None:
    try:
        return Event(**json.loads(line))
    except (ValueError, TypeError):
        return None
