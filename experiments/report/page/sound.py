"""What was heard in a run: its sound for the page, and what was played when."""

import base64
import io
import wave
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.report.page.numbers import number
from experiments.report.page.run_source import ArmSource
from experiments.report.page.views import Sound
from models.files import read_bytes, why
from sim.wav import SOUND_FILE

FloatArray = NDArray[np.float64]

MOST_BYTES = 5_000_000
"""Of a sound in the page, 156 s of what a run writes; as text it takes a third more."""
MOST_NAMED = 50
"""Sounds that are named below the player."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A stream to the loudspeakers."""

    label: str
    begin_s: float
    end_s: float


def heard_of(arm: ArmSource) -> tuple[Heard, ...]:
    """Return what a robot said or played, by beginning."""
    last_s = float(arm.frame.index[-1]) if len(arm.frame) else np.inf
    begun: dict[object, tuple[str, float]] = {}
    found = []
    for event in arm.run.events:
        data = event.data
        if data.get("unit") != "sound":
            continue
        key = str(data.get("stream"))
        if event.kind == "StreamStarted":
            begun[key] = (str(data.get("label")), event.time_s)
        elif event.kind == "StreamEnded" and key in begun:
            label, begin_s = begun.pop(key)
            found.append(Heard(label=label, begin_s=begin_s, end_s=event.time_s))
    for label, begin_s in begun.values():
        found.append(Heard(label=label, begin_s=begin_s, end_s=max(last_s, begin_s)))
    return tuple(sorted(found, key=lambda one: one.begin_s))


def texts_at(heard: Sequence[Heard], grid_s: FloatArray) -> list[str]:
    """Return what is heard from each moment to the next; the latest where several are.

    What is shorter than a step is shown for one.
    """
    texts = [""] * len(grid_s)
    for one in heard:
        first = max(int(np.searchsorted(grid_s, one.begin_s + 1e-9)) - 1, 0)
        last = int(np.searchsorted(grid_s, one.end_s - 1e-9))
        for i in range(first, min(max(last, first + 1), len(texts))):
            texts[i] = one.label
    return texts


def sound_of(arm: ArmSource, problems: list[str]) -> Sound | None:
    """Return the sound of a run; None where there is none.

    Args:
        arm: the robot that was heard.
        problems: gets a line where there is a sound that the page cannot have.
    """
    path = arm.run.folder / SOUND_FILE
    if not path.exists():
        return None
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            problems.append(
                f"{SOUND_FILE} is not in the page: it has {number(size / 1e6, 1)} MB, "
                f"a page takes {number(MOST_BYTES / 1e6, 0)} MB. Play it from the run "
                "folder."
            )
            return None
        data = read_bytes(path)
        with wave.open(io.BytesIO(data)) as file:
            file.getnframes()
    except (OSError, EOFError, wave.Error) as error:
        problems.append(
            f"{SOUND_FILE} cannot be read: {why(error) or 'it is cut off'}."
        )
        return None
    heard = heard_of(arm)
    named = [
        f"{number(one.begin_s, 2)} to {number(one.end_s, 2)} s: {one.label}"
        for one in heard[:MOST_NAMED]
    ]
    if len(heard) > MOST_NAMED:
        named.append(f"and {len(heard) - MOST_NAMED} more")
    text = base64.b64encode(data).decode("ascii")
    return Sound(uri=f"data:audio/wav;base64,{text}", named=tuple(named))
