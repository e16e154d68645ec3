"""The command `nao-testbed`: list of commands, and conversion of errors to messages.

Most commands are defined in the `commands.py` of their package; this module defines
`robot`, `replay` and `study`. Data goes to stdout or files, messages and progress to
stderr. Exit status: 0 done, 1 the run ended in a stated failure, 2 bad input. A command
imports heavy modules when it runs.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from nao_testbed.experiments.common.options import (
    STDOUT,
    Commands,
    JsonOption,
    MapOption,
    RobotOption,
    WholeHelp,
    check_json_file,
    controllers_option,
    json_text,
    names_in,
    write_json,
)
from nao_testbed.experiments.common.signals import (
    INTERRUPTED,
    exit_despite_threads,
    install_interrupt_handler,
    was_interrupted,
)
from nao_testbed.experiments.common.streams import prepare_standard_streams
from nao_testbed.experiments.heat.commands import (
    heat_command,
    identify_command,
    log_columns_command,
    posture_search_command,
    xray_command,
)
from nao_testbed.experiments.live.commands import live_command
from nao_testbed.experiments.live.naoqi.commands import naoqi_app
from nao_testbed.experiments.live.real_robot.commands import run_command
from nao_testbed.experiments.report.commands import export_command, report
from nao_testbed.experiments.scenarios.commands import scenario_app
from nao_testbed.experiments.server.commands import resources_app
from nao_testbed.experiments.sweep.commands import sweep_command, sweep_show_command
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.files import as_testbed_error


def replay_command(
    run: Annotated[
        Path, typer.Argument(metavar="LOG", help="Run folder, log file or bag.")
    ],
    controllers: Annotated[str | None, controllers_option("the recorded one")] = None,
    controller: Annotated[
        list[str] | None, typer.Option(metavar="NAME", hidden=True)
    ] = None,
    columns: MapOption = None,
    robot: RobotOption = None,
    json_file: JsonOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Also write the outputs and a figure to this folder."
        ),
    ] = None,
) -> None:
    """Feed the sensor data of a run or a log to controllers; compare their outputs."""
    from nao_testbed.experiments.regression.replay.replay import (  # noqa: PLC0415
        ReplayCfg,  # heavy
        run_replay_command,  # heavy
    )

    cfg = ReplayCfg(
        source=run,
        entries=tuple(columns or ()),
        controllers=(*names_in(controllers), *(controller or ())),
        robot=robot,
    )
    raise typer.Exit(run_replay_command(cfg, out, json_file))


def study_command(context: typer.Context) -> None:
    """Run a study from the checkout; without a name, list the studies."""
    checkout = Path(__file__).resolve().parents[1]
    if not (checkout / "studies").is_dir():
        raise BadInput(
            "studies run from a checkout of nao-testbed, and this is an installed "
            "package without the folder studies/; call it from a checkout's .venv."
        )
    sys.path.insert(0, str(checkout))
    studies: typer.Typer = import_module("studies.commands").app
    studies(context.args, prog_name=context.command_path)


MOVED = {
    "hand-guiding": "nao-testbed study hand-guiding",
    "preset-search": "nao-testbed study preset-search",
    "predict-published": "nao-testbed study predict-published",
    "bench": "python -m benchmarks",
}
"""Replacement in a checkout of each former command."""


class _Listed(WholeHelp):
    """Group that lists commands in the order of `COMMANDS`; typer lists groups last."""

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names in the order of `COMMANDS`; hidden names come last."""
        del ctx
        listed = [name for commands in COMMANDS.values() for name in commands]
        return [*listed, *(self.commands.keys() - set(listed))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with this name.

        Raises:
            BadInput: the command has moved; the message names its replacement.
        """
        if cmd_name in MOVED:
            raise BadInput(
                f"{cmd_name} has moved: in a checkout, call `{MOVED[cmd_name]}`."
            )
        return super().get_command(ctx, cmd_name)


app = Commands(
    cls=_Listed,
    help="A physics testbed for humanoid robots: heat, stiffness, shared resources.",
    epilog="`nao-testbed study` lists further studies; they need a checkout of the "
    "repository.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(is_asked: bool) -> None:
    """Print the version and exit if the option is given."""
    if is_asked:
        from importlib.metadata import version  # noqa: PLC0415  # slow

        print(f"nao-testbed {version('nao-testbed')}")
        raise typer.Exit


@app.callback()
def _testbed(
    _: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; print each `TestbedError` as one message."""
    run(app)


def run(commands: Callable[[], Any]) -> None:
    """Run the commands of a program; print each `TestbedError` as one message."""
    prepare_standard_streams()
    install_interrupt_handler()
    try:
        commands()
    except SystemExit as end:
        exit_despite_threads(
            end.code if isinstance(end.code, int) else int(bool(end.code))
        )
        raise
    except TestbedError as error:
        _end(error)
    except OSError as error:
        _end(as_testbed_error(error))
    except Exception:
        if not was_interrupted():
            raise
        sys.exit(INTERRUPTED)


def _end(error: TestbedError) -> NoReturn:
    """Print the error and exit: status 2 for bad input, 1 for any other error."""
    is_input = isinstance(error, BadInput)
    exit_despite_threads(2 if is_input else 1)
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2 if is_input else 1)


def robot_command(
    robot: RobotOption = None,
    copy: Annotated[
        Path | None,
        typer.Option(
            "--copy",
            metavar="DIR",
            help="Copy the robot's folder with its URDF, for use with --robot.",
        ),
    ] = None,
    write_urdf: Annotated[
        bool,
        typer.Option(
            "--write-urdf",
            help="First regenerate the URDF from the tables of the folder.",
        ),
    ] = False,
    from_urdf: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--from-urdf",
            metavar="FILE DIR",
            help="Create a robot folder from a URDF; print the data to add to it.",
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Describe a robot: joints, limits, masses, motors, postures, sensors."""
    from rich.console import Console  # noqa: PLC0415  # heavy

    from nao_testbed.experiments.closed_loop.warm_up import warn_of_fall  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.common.drawing.robot_tables import describe  # noqa: PLC0415  # heavy
    from nao_testbed.models import default_robot_folder, load_robot  # noqa: PLC0415  # heavy
    from nao_testbed.models.load import copy_robot  # noqa: PLC0415  # beside it
    from nao_testbed.models.load.from_urdf import convert_urdf  # noqa: PLC0415
    from nao_testbed.models.load.write_urdf import rewrite_urdf  # noqa: PLC0415  # beside it
    from nao_testbed.sim.recording.run_meta import robot_as_json  # noqa: PLC0415  # heavy
    from nao_testbed.sim.robot import SimulationCfg  # noqa: PLC0415  # heavy

    if from_urdf is not None:
        if robot or copy or write_urdf or json_file:
            raise BadInput(
                "--from-urdf takes no other option; give those with --robot DIR later."
            )
        for note in convert_urdf(*from_urdf):
            print(note, file=sys.stderr)
        written = load_robot(from_urdf[1])
        warn_of_fall(written, "zero", SimulationCfg())
        print(f"robot {written.name} written; use it with --robot {from_urdf[1]}")
        return
    folder = robot or default_robot_folder()
    if write_urdf:
        if robot is None:
            raise BadInput("--write-urdf needs --robot with the folder to write.")
        print(f"URDF: {rewrite_urdf(folder)}", file=sys.stderr)
    if copy is not None:
        copy_robot(folder, copy)
        print(f"robot copied; use it with --robot {copy}", file=sys.stderr)
        return
    check_json_file(json_file)
    found = load_robot(folder)
    write_json(json_file, json_text(robot_as_json(found)))
    if json_file != STDOUT:
        console = Console(width=None if sys.stdout.isatty() else 160)
        for table in describe(found):
            console.print(table)


COMMANDS: Mapping[str, Mapping[str, Any]] = {
    "Run": {
        "heat": heat_command,
        "sweep": sweep_command,
        "scenario": scenario_app,
        "live": live_command,
    },
    "Analyse": {
        "report": report,
        "replay": replay_command,
        "xray": xray_command,
        "identify": identify_command,
        "posture-search": posture_search_command,
        "robot": robot_command,
    },
    "Serve": {"resources": resources_app, "naoqi": naoqi_app},
}
"""Commands listed by `--help`, by heading."""
SHORTCUTS: Mapping[str, Any] = {
    "sweep-show": sweep_show_command,
    "export": export_command,
    "run": run_command,
    "log-columns": log_columns_command,
}
"""Commands that `--help` does not list: former names of `sweep --show`, `report --to`
and `naoqi run`, and `log-columns`, which the help of `--map` names."""

naoqi_app.command(name="run")(run_command)
for heading, commands in COMMANDS.items():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=heading)
        else:
            app.command(name=name, rich_help_panel=heading)(command)
for name, command in SHORTCUTS.items():
    app.command(name=name, hidden=True)(command)
# All arguments after the name, including `--help`, go to the study.
app.command(
    name="study",
    hidden=True,
    add_help_option=False,
    context_settings={
        "allow_extra_args": True,
        "allow_interspersed_args": False,
        "ignore_unknown_options": True,
    },
)(study_command)


if __name__ == "__main__":
    main()
