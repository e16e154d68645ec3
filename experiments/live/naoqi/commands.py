"""Command `nao-testbed naoqi`: simulated robot for NAOqi programs; deferred imports."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from nao_testbed.experiments.common.options import (
    PRESET_COMPLETION,
    STDOUT,
    Commands,
    JsonOption,
    MapOption,
    RobotOption,
    WholeHelp,
    check_json_file,
    json_text,
    setting_options,
    write_json,
)
from nao_testbed.experiments.common.options.completion import controllers
from nao_testbed.experiments.common.signals import install_stop_handlers
from nao_testbed.experiments.live.commands import PORT, check_page_extra
from nao_testbed.models import BadInput

WITH_LOG = frozenset(
    {"host", "port", "robot", "speed", "seconds", "log", "columns", "json_file"}
)
"""Options that have an effect when a recording is served."""

naoqi_app = Commands(
    cls=WholeHelp,
    help="Serve a simulated NAO to NAOqi programs, or run a controller on a NAO.",
    no_args_is_help=True,
)


@naoqi_app.callback()
def naoqi() -> None:
    """Serve a simulated NAO to NAOqi programs, or run a controller on a NAO."""


@naoqi_app.command()
@setting_options
def serve(
    context: typer.Context,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; there is no authentication, so "
            "use loopback unless you trust the network."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 selects a free port.")
    ] = 9559,
    controller: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Stiffness controller, as in `heat`; the stiffness set by programs is "
            "its upper limit.",
            autocompletion=controllers,
        ),
    ] = "smart",
    preset: Annotated[
        str,
        typer.Option(
            help="Base settings, overridden by the options; an empty string selects "
            "none.",
            autocompletion=PRESET_COMPLETION,
        ),
    ] = "",
    robot: RobotOption = None,
    speed: Annotated[
        float,
        typer.Option(help="Simulated seconds per second of real time, for tests."),
    ] = 1.0,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after this many simulated seconds.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Run folder; if it exists, a number is appended.")
    ] = Path("runs/naoqi"),
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="LOG",
            help="Serve this run folder, log file or bag instead of a simulated robot; "
            "commands are compared with it, not executed.",
        ),
    ] = None,
    columns: MapOption = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live",
            help="Also show the robot and its programs on the page of `nao-testbed "
            "live`, where you can take resources yourself.",
        ),
    ] = False,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser", help="With --live: open the page in a browser."
        ),
    ] = True,
    page_port: Annotated[
        int, typer.Option(help="With --live: port of the page; 0 selects a free port.")
    ] = PORT,
    json_file: JsonOption = None,
    **setting: Any,
) -> None:
    """Serve the simulated robot to programs that use `qi`, until Ctrl-C.

    The run is recorded. The first line of stdout is the server's address; with `--live`
    the second one is the page's address. With `--json -` both go to stderr.
    """
    from nao_testbed.sim.naoqi.connection import check_qi  # noqa: PLC0415  # `qi` first

    check_qi("`nao-testbed naoqi serve`")
    check_json_file(json_file)
    if live:
        check_page_extra("nao-testbed naoqi serve --live")
    else:
        _refuse_without_page(context)
    from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.server.naoqi.run_serve import (  # noqa: PLC0415  # heavy
        ServeCfg,
        open_log,
        run_serve,
    )

    cfg = ServeCfg(host=host, port=port, speed=speed, seconds=seconds, out=out)
    log_robot = None
    if log is not None:
        _refuse_without_effect(context)
        log_robot = open_log(log, robot, columns or ())
        controller, setting = "fixed", {}
        robot = log_robot.robot.folder
    if robot is not None:
        setting["robot"] = robot
    (trial,) = plan_trials(
        HeatCfg(
            controllers=(controller,),
            preset=preset or None,
            command=tuple(sys.argv),
            **setting,
        )
    )
    install_stop_handlers()
    url_to = sys.stderr if json_file == STDOUT else sys.stdout
    if live:
        from nao_testbed.experiments.live.naoqi.served_page import ServedPage  # noqa: PLC0415  # heavy
        from nao_testbed.experiments.live.page import Address  # noqa: PLC0415  # heavy

        with ServedPage(
            trial, Address(port=page_port, option="--page-port"), url_to, opens=browser
        ) as page:
            ended = run_serve(trial, cfg, url_to, on_served=page.attach)
    else:
        ended = run_serve(trial, cfg, url_to, log_robot)
    write_json(json_file, json_text(ended.as_json()))
    sys.stdout.flush()
    os._exit(ended.status)  # qi 3.1.5 sometimes aborts at the end of its process


def _refuse_without_page(context: typer.Context) -> None:
    """Reject page options without `--live`.

    Raises:
        BadInput: such an option was given.
    """
    for name, option in (("browser", "--no-browser"), ("page_port", "--page-port")):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise BadInput(f"{option} needs --live; add it.")


def _refuse_without_effect(context: typer.Context) -> None:
    """Reject options that a recording would ignore.

    Raises:
        BadInput: such an option was given.
    """
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        given = source is not None and source.name == "COMMANDLINE"
        if given and option.name == "live":
            raise BadInput(
                "--live has no effect with --log, because a served recording does "
                "not move. Leave it out, and view the run with `nao-testbed live "
                "--replay`."
            )
        if given and option.name not in WITH_LOG:
            raise BadInput(
                f"{option.opts[0]} has no effect with --log: the recording is fixed, "
                "and nothing is recorded. Leave it out."
            )
