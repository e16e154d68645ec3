"""The command lines of the heat experiment and of the search for its preset.

Heavy imports wait until one is used.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from experiments.options import JsonOption, RobotOption, names_in
from experiments.stop_signals import heed_stop_signals
from models import BadInput
from models.values import number_of


def heat_command(
    minutes: Annotated[
        float | None,
        typer.Option(help="Simulated time; default: the preset's, or 15."),
    ] = None,
    posture: Annotated[
        str | None,
        typer.Option(
            help="Posture to hold; default: the preset's, PoseInit, or the first one."
        ),
    ] = None,
    controllers: Annotated[
        str,
        typer.Option(
            help="Comma-separated: fixed, smart, nudge, minheat, smart-full, "
            "smart-product, minheat-no-gear, constant:VALUE; one robot each."
        ),
    ] = "fixed,smart",
    misalign: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT=DEG",
            help="Calibration error of a joint in degrees; repeatable.",
        ),
    ] = None,
    start: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JOINT=DEGC",
            help="Start temperature of a joint in °C (others 30); repeatable.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Named setting; 'document' reproduces the published experiment."
        ),
    ] = None,
    slope: Annotated[float, typer.Option(help="Ground slope in degrees.")] = 0.0,
    servo: Annotated[
        str,
        typer.Option(
            help="torque, or pybullet for the engine's own motors (no gear friction)."
        ),
    ] = "torque",
    gear_friction: Annotated[
        float, typer.Option(help="Factor on all gear friction; 0 is none.")
    ] = 1.0,
    heating: Annotated[str, typer.Option(help="one-node or two-node.")] = "one-node",
    copper: Annotated[
        bool, typer.Option(help="Winding resistance grows with temperature.")
    ] = False,
    ambient: Annotated[
        float | None,
        typer.Option(help="Air temperature in °C; default: the motors' own."),
    ] = None,
    protection: Annotated[
        str, typer.Option(help="none, nao (statuses 0-3) or document (80 °C).")
    ] = "none",
    seed: Annotated[int, typer.Option(help="Seed of all sensor noise.")] = 0,
    robot: RobotOption = None,
    full: Annotated[
        bool, typer.Option("--full", help="Step the physics all the time.")
    ] = False,
    control_period: Annotated[
        float, typer.Option(help="Cycle of the controllers in s.")
    ] = 0.02,
    physics_dt: Annotated[float, typer.Option(help="Physics step in s.")] = 0.001,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Record every digit of what the controllers see (replay)."
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Run folder; an existing one is never overwritten.")
    ] = Path("runs/heat"),
    json_file: JsonOption = None,
    gui: Annotated[
        bool, typer.Option("--gui", help="Open PyBullet's window (one controller).")
    ] = False,
) -> None:
    """Let identical robots stand, one for each controller, and compare their heat."""
    from experiments.heat.cfg import HeatCfg  # noqa: PLC0415  # heavy
    from experiments.heat.run_command import run_heat_command  # noqa: PLC0415  # heavy

    optional = {} if robot is None else {"robot": robot}
    cfg = HeatCfg(
        minutes=minutes,
        posture=posture,
        controllers=names_in(controllers),
        misalignment_deg=_pairs("--misalign", misalign or ()),
        start_degc=_pairs("--start", start or ()),
        preset=preset,
        slope_deg=slope,
        servo=servo,
        gear_friction=gear_friction,
        heating=heating,
        copper=copper,
        ambient_degc=ambient,
        protection=protection,
        seed=seed,
        full=full,
        control_period=control_period,
        physics_dt=physics_dt,
        gui=gui,
        exact=exact,
        command=tuple(sys.argv),
        **optional,
    )
    heed_stop_signals()
    raise typer.Exit(run_heat_command(cfg, out, json_file))


def preset_search_command(
    out: Annotated[Path, typer.Option(help="File to write, such as document.yaml.")],
    generations: Annotated[int, typer.Option(help="Generations of 40 trials.")] = 25,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    json_file: JsonOption = None,
) -> None:
    """Find the preset 'document' from the published column 'without' alone."""
    from experiments.heat.run_preset_search import run_preset_search  # noqa: PLC0415  # heavy

    raise typer.Exit(run_preset_search(out, generations, seed, json_file))


def _pairs(option: str, items: Iterable[str]) -> dict[str, float]:
    """Return `Joint=number` texts as a mapping.

    Raises:
        BadInput: a text is not of that form, or a joint comes twice.
    """
    found: dict[str, float] = {}
    for item in items:
        name, equals, text = item.partition("=")
        try:
            value = number_of(text)
        except ValueError:
            equals = ""
            value = 0.0
        if not (name and equals):
            raise BadInput(
                f"{option} {item!r} is not of the form Joint=number, such as "
                f"{option} LAnklePitch=2.0."
            )
        if name in found:
            raise BadInput(f"{option} names {name} twice; give it once.")
        found[name] = value
    return found
