"""The command `live`; heavy imports wait until it is used."""

import dataclasses
import importlib.util
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.common.options import (
    RobotOption,
    controllers_option,
    names_in,
    setting_options,
)
from experiments.common.robot_setting import RobotSetting
from experiments.common.signals import heed_stop_signals
from models import BadInput

OUT = Path("runs/live")
NEEDED = ("starlette", "trimesh", "uvicorn", "viser", "websockets")


@setting_options
def live_command(
    controllers: Annotated[
        str | None, controllers_option("fixed,smart; one robot each")
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Named setting that lies below the rest.")
    ] = "document",
    robot: RobotOption = None,
    out: Annotated[
        Path, typer.Option(help="Run folder; an existing one is never overwritten.")
    ] = OUT,
    port: Annotated[int, typer.Option(help="Of the page; 0 takes a free one.")] = 8641,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page.")
    ] = True,
    seconds: Annotated[
        float | None, typer.Option(help="End by itself after so many seconds.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Show a recorded run instead, with a scrubber."
        ),
    ] = None,
    **setting: Any,
) -> None:
    """Let robots stand in real time and show them on a page; disturb and steer them."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise BadInput(
            f"`nao-testbed live` needs {', '.join(missing)}, which this installation "
            "lacks; install nao-testbed[live]."
        )
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise BadInput(f"--seconds is {seconds}; give a number above 0.")
    if replay is not None:
        usual = {one.name: one.default for one in dataclasses.fields(RobotSetting)}
        asked = [name for name, value in setting.items() if value != usual[name]]
        if controllers or robot or asked or (preset, out) != ("document", OUT):
            raise BadInput(
                "--replay shows a run as it was and writes nothing; leave "
                "--controllers, --preset, --robot, --out and the options of the "
                "setting out."
            )
        from experiments.live.replay import run_replay_command  # noqa: PLC0415  # heavy

        heed_stop_signals()
        raise typer.Exit(run_replay_command(replay, port, seconds, opens=browser))
    from experiments.heat.experiment import HeatCfg  # noqa: PLC0415  # heavy
    from experiments.live.run_live import run_live_command  # noqa: PLC0415  # heavy

    if robot is not None:
        setting["robot"] = robot
    cfg = HeatCfg(
        controllers=names_in(controllers) or ("fixed", "smart"),
        preset=preset or None,
        command=tuple(sys.argv),
        **setting,
    )
    heed_stop_signals()
    raise typer.Exit(run_live_command(cfg, out, port, seconds, opens=browser))
