"""The command `nao-testbed`: reads the command line, calls the experiment, prints.

Data goes to stdout or files, messages and progress to stderr. Exit status: 0 done, 1
the run ended in a stated failure, 2 bad input. Heavy imports wait until a command
needs them.
"""

import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from experiments.identify_heating.command import identify_command
from experiments.posture_search.command import posture_search_command
from experiments.report.page.command import report
from experiments.reservations.commands import resources_app
from experiments.scenarios.commands import scenario_app
from experiments.sweep.command import sweep_command
from experiments.sweep.show_command import sweep_show_command
from models import BadInput, TestbedError

app = typer.Typer(
    help="A physics testbed for humanoid robots: heat, stiffness, shared resources.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)

app.add_typer(resources_app, name="resources")
app.add_typer(scenario_app, name="scenario")
app.command(name="posture-search")(posture_search_command)
app.command()(report)
app.command(name="sweep")(sweep_command)
app.command(name="sweep-show")(sweep_show_command)

RobotOption = Annotated[
    Path | None,
    typer.Option("--robot", metavar="DIR", help="Folder of a robot; default: NAO."),
]


def main() -> None:
    """Run the command line; every error of ours becomes one message."""
    try:
        app()
    except BadInput as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except TestbedError as error:
        print(f"failed: {error}", file=sys.stderr)
        sys.exit(1)


def pairs(option: str, items: Iterable[str]) -> dict[str, float]:
    """Return `Joint=number` texts as a mapping.

    Raises:
        BadInput: a text is not of that form, or a joint comes twice.
    """
    found: dict[str, float] = {}
    for item in items:
        name, equals, text = item.partition("=")
        try:
            value = float(text)
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


@app.command()
def heat(
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
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also write JSON; - is stdout."),
    ] = None,
    gui: Annotated[
        bool, typer.Option("--gui", help="Open PyBullet's window (one controller).")
    ] = False,
) -> None:
    """Let identical robots stand, one for each controller, and compare their heat."""
    from experiments.heat.cfg import HeatCfg  # noqa: PLC0415  # heavy
    from experiments.heat.command import run_heat_command  # noqa: PLC0415  # heavy

    optional = {} if robot is None else {"robot": robot}
    cfg = HeatCfg(
        minutes=minutes,
        posture=posture,
        controllers=tuple(name.strip() for name in controllers.split(",")),
        misalignment_deg=pairs("--misalign", misalign or ()),
        start_degc=pairs("--start", start or ()),
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
    # `timeout` and job managers end a run like Ctrl-C: its folders are closed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise typer.Exit(run_heat_command(cfg, out, json_file))


@app.command()
def replay(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder of a recorded run.")
    ],
    controller: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Controller to run on it; repeatable. Default: the recorded one.",
        ),
    ] = None,
    robot: Annotated[
        Path | None,
        typer.Option(
            "--robot", metavar="DIR", help="Folder of its robot, where it moved."
        ),
    ] = None,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also write JSON; - is stdout."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write answers and a figure there."),
    ] = None,
) -> None:
    """Give controllers the sensor input of a recorded run; compare their answers."""
    from experiments.replay.command import run_replay_command  # noqa: PLC0415  # heavy
    from experiments.replay.run import ReplayCfg  # noqa: PLC0415  # heavy

    cfg = ReplayCfg(
        folder=run,
        controllers=tuple(name.strip() for name in controller or ()),
        robot=robot,
    )
    raise typer.Exit(run_replay_command(cfg, out, json_file))


@app.command(name="robot")
def describe_robot(robot: RobotOption = None) -> None:
    """Say what a robot is: joints, limits, masses, motors, postures, sensors."""
    from rich.console import Console  # noqa: PLC0415  # heavy

    from models import default_robot_folder, load_robot  # noqa: PLC0415  # heavy
    from models.describe import describe  # noqa: PLC0415  # heavy

    console = Console(width=None if sys.stdout.isatty() else 160)
    for table in describe(load_robot(robot or default_robot_folder())):
        console.print(table)


@app.command()
def bench(
    seconds: Annotated[
        float, typer.Option(help="Simulated seconds of each measured loop.")
    ] = 5.0,
    json_file: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Also write JSON; - is stdout."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="PART", help="Only heat, reservations, transmitter, scenario."
        ),
    ] = None,
) -> None:
    """Measure loop, controller, fast-forward and reservations beside references."""
    from experiments.bench import run_bench_command  # noqa: PLC0415  # heavy

    raise typer.Exit(run_bench_command(seconds, json_file, only))


@app.command(name="preset-search")
def preset_search(
    out: Annotated[Path, typer.Option(help="File to write, such as document.yaml.")],
    generations: Annotated[int, typer.Option(help="Generations of 40 trials.")] = 25,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
) -> None:
    """Find the preset 'document' from the published column 'without' alone."""
    from experiments.heat.preset_command import run_preset_search  # noqa: PLC0415  # heavy

    raise typer.Exit(run_preset_search(out, generations, seed))


app.command(name="identify")(identify_command)
