"""From the forms of a library to its data."""

from models.led_leaves import led_leaves
from models.library import (
    Library,
    LightPattern,
    LightStep,
    Motion,
    Order,
    Sound,
    Transition,
)
from models.library_yaml import LibraryForm, LightForm, MotionForm
from models.motion_tracks import read_tracks
from models.robot import Robot


def build_library(form: LibraryForm, robot: Robot) -> Library:
    """Return the data of entries without problems (`library_problems`).

    Args:
        form: the entries.
        robot: whose joints, postures and LEDs they name.
    """
    return Library(
        orders={
            name: Order(
                name=name,
                outputs=command.outputs,
                to=command.to,
                points=command.points or {},
                preset=command.preset,
            )
            for name, command in form.commands.items()
        },
        transitions=tuple(
            Transition(start=way.start, end=way.end, motion=way.motion)
            for way in form.transitions
        ),
        motions={name: _motion(name, m, robot) for name, m in form.motions.items()},
        lights={name: _light(name, x, robot) for name, x in form.lights.items()},
        sounds={
            name: Sound(
                name=name,
                text=sound.text,
                tone_hz=sound.tone_hz,
                length_s=sound.length_s,
                volume=sound.volume,
            )
            for name, sound in form.sounds.items()
        },
    )


def _motion(name: str, form: MotionForm, robot: Robot) -> Motion:
    tracks, _ = read_tracks(form, robot, ())
    return Motion(
        name=name,
        tracks=tuple(placed.track for placed in tracks),
        interpolation=form.interpolation,
        start=form.start,
        end=form.end,
        stops_s=form.stops_s,
    )


def _light(name: str, form: LightForm, robot: Robot) -> LightPattern:
    lamps = led_leaves(robot)
    steps = [
        LightStep(
            at_s=step.at_s,
            leds=tuple(dict.fromkeys(x for led in step.leds for x in lamps[led])),
            colour=_colour(step.colour),
            fade_s=step.fade_s,
        )
        for step in sorted(form.steps, key=lambda step: step.at_s)
    ]
    end = max(step.at_s + step.fade_s for step in steps)
    return LightPattern(name=name, steps=tuple(steps), length_s=form.length_s or end)


def _colour(text: str) -> tuple[float, float, float]:
    """Return the colour of `#rrggbb` in [0, 1]."""
    red, green, blue = (int(text[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue
