"""Ranges of all numeric command-line options.

A range is a type as in `models.values`; `check_value` reports a number outside it.
Upper bounds are generous and exclude typing errors that would hang, such as a trillion
processes or a run of 1e20 s.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from nao_testbed.controllers.interface.ranges import (
    AirCelsius,
    Delay,
    FrictionScale,
    GearPlay,
    GroundFriction,
    SlopeDegrees,
)

LONGEST_MINUTES = 24.0 * 60.0
"""Longest run in min: a day."""
LONGEST_LIVE_S = 7 * 86_400.0
"""Longest time in s of a served or live robot: a week."""
LARGEST_SEED = 10**15
"""Largest seed: JSON represents each integer up to it exactly."""

Minutes = Annotated[float, Field(gt=0.0, le=LONGEST_MINUTES)]
LiveSeconds = Annotated[float, Field(gt=0.0, le=LONGEST_LIVE_S)]
Seed = Annotated[int, Field(ge=0, le=LARGEST_SEED)]
Port = Annotated[int, Field(ge=0, le=65_535)]
Speed = Annotated[float, Field(gt=0.0, le=100.0)]
Priority = Annotated[int, Field(ge=0, le=9)]
Robots = Annotated[int, Field(ge=1, le=100_000)]
VideoSpeed = Annotated[float, Field(ge=0.1, le=1000.0, title="--video-speed")]

RANGES: Mapping[str, Any] = {
    "--minutes": Minutes,
    "--slope": SlopeDegrees,
    "--friction": GroundFriction,
    "--gear-friction": FrictionScale,
    "--gear-play": GearPlay,
    "--ambient": AirCelsius,
    "--seed": Seed,
    "--control-period": Annotated[float, Field(gt=0.0, le=1.0)],
    "--observation-delay": Delay,
    "--action-delay": Delay,
    "--physics-dt": Annotated[float, Field(ge=1e-5, le=0.01)],
    "--port": Port,
    "--page-port": Port,
    "--seconds": LiveSeconds,
    "--speed": Speed,
    "--robots": Robots,
    "--video-speed": VideoSpeed,
    "--trial-limit": LiveSeconds,
    "--jobs": Annotated[int, Field(ge=1, le=1024)],
    "--priority": Priority,
    "--max-priority": Priority,
    "posture-search --within": Annotated[float, Field(gt=0.0, le=90.0)],
    "posture-search --margin": Annotated[float, Field(ge=0.0, le=1.0)],
    "posture-search --joint-margin": Annotated[float, Field(ge=0.0, le=90.0)],
    "posture-search --share": Annotated[float, Field(gt=0.0, le=1.0)],
    "posture-search --friction": Annotated[float, Field(gt=0.0, le=5.0)],
    "posture-search --starts": Annotated[int, Field(ge=1, le=1000)],
    "xray --floor": Annotated[float, Field(gt=0.0, le=11.4)],
    "xray --com": Annotated[float, Field(gt=0.0, le=100.0)],
    "xray --trials": Robots,
    "xray --joints-off": Annotated[int, Field(ge=0, le=12)],
    "xray --seconds": Annotated[float, Field(ge=8.0, le=3600.0)],
    "identify --resistance": Annotated[float, Field(gt=0.0, le=1000.0)],
    "identify --gap": Annotated[float, Field(gt=0.0, le=86_400.0)],
    "--hottest": Annotated[float, Field(ge=20.0, le=120.0)],
    "--late": Annotated[float, Field(gt=0.0, le=60.0)],
    "resources take --timeout": Annotated[float, Field(ge=0.0, le=86_400.0)],
    "resources take --for": Annotated[float, Field(ge=0.0, le=LONGEST_LIVE_S)],
    "resources take --ttl": Annotated[float, Field(gt=0.0, le=86_400.0)],
}
"""Option, or command and option if they differ, to its range."""


def range_of(command: str, option: str) -> Any:
    """Return the range of an option.

    Args:
        command: command without the program, such as `naoqi serve`.
        option: option such as `--seconds`.

    Raises:
        KeyError: the option has no range; a test checks all options.
    """
    both = f"{command} {option}"
    return RANGES[both if both in RANGES else option]
