"""Command `live`; heavy modules are imported inside the function."""

import dataclasses
import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nao_testbed.experiments.common.options import (
    PRESET_COMPLETION,
    RobotOption,
    controllers_option,
    names_in,
    setting_options,
)
from nao_testbed.experiments.common.options.completion import file_of
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.common.signals import install_stop_handlers
from nao_testbed.models import BadInput, ExtraMissing, UnknownName

if TYPE_CHECKING:
    from nao_testbed.controllers.arbitration.tokens import Preemption

OUT = Path("runs/live")
PORT = 8641
NEEDED = ("starlette", "trimesh", "uvicorn", "viser", "websockets")


def check_page_extra(command: str) -> None:
    """Check that all packages for the page are installed.

    Args:
        command: name of the command, for the message.

    Raises:
        BadInput: a package is missing.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise ExtraMissing(f"`{command}`", ", ".join(missing), "live")


@setting_options
def live_command(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO",
            help="Scenario to play: a file, or a name from `scenario list`; default: "
            "the robots stand.",
            autocompletion=file_of("scenarios/builtin"),
        ),
    ] = None,
    controllers: Annotated[
        str | None, controllers_option("fixed,smart, or the scenario's; one robot each")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Base settings, overridden by the options; an empty string selects "
            "none. Default: document, if it fits the robot.",
            autocompletion=PRESET_COMPLETION,
        ),
    ] = None,
    robot: RobotOption = None,
    out: Annotated[
        Path, typer.Option(help="Run folder; if it exists, a number is appended.")
    ] = OUT,
    port: Annotated[
        int, typer.Option(help="Port of the page; 0 selects a free port.")
    ] = PORT,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    seconds: Annotated[
        float | None, typer.Option(help="Stop after this many seconds.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="Play back this recorded run instead of a simulation."
        ),
    ] = None,
    preemption: Annotated[
        str | None,
        typer.Option(
            metavar="off|by_priority",
            help="With a scenario: off, or by_priority (higher priorities preempt "
            "holders); default: the file's.",
        ),
    ] = None,
    **setting: Any,
) -> None:
    """Simulate robots in real time; push and command them on a web page."""
    check_page_extra("nao-testbed live")
    if seconds is not None and not 0.0 < seconds < float("inf"):
        raise BadInput(f"--seconds is {seconds}; give a number above 0.")
    usual = {one.name: one.default for one in dataclasses.fields(RobotSetting)}
    asked = [name for name, value in setting.items() if value != usual[name]]
    is_plain = not robot and preset is None
    if preemption is not None and scenario is None:
        raise BadInput("--preemption needs a scenario; name one.")
    if replay is not None:
        if scenario or controllers or asked or not is_plain:
            raise BadInput(
                "--replay plays back a recorded run; leave out the scenario, "
                "--controllers, --preset, --robot and the setting options."
            )
        from nao_testbed.experiments.live.player import run_replay_command  # noqa: PLC0415  # heavy

        install_stop_handlers()
        raise typer.Exit(run_replay_command(replay, out, port, seconds, opens=browser))
    from nao_testbed.experiments.heat.experiment import HeatCfg, default_preset  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.live.page import Address  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.live.run_live import (  # noqa: PLC0415  # heavy
        plan_scenario,
        plan_standing,
        run_live_command,
    )
    from nao_testbed.experiments.live.scenario_cfg import ScenarioCfg  # noqa: PLC0415  # heavy
    from nao_testbed.models import load_robot  # noqa: PLC0415  # heavy

    names = names_in(controllers)
    if scenario is not None:
        if set(asked) - {"seed"} or not is_plain:
            raise BadInput(
                f"scenario {scenario} defines its robot; leave out --preset, --robot "
                "and the setting options except --seed, or change the file."
            )
        plan = plan_scenario(
            ScenarioCfg(
                scenario=scenario,
                seed=setting["seed"] if "seed" in asked else None,
                preemption=_preemption(preemption),
                command=tuple(sys.argv),
            ),
            names,
        )
    else:
        if robot is not None:
            setting["robot"] = robot
        if preset is None:
            preset = default_preset(load_robot(robot))
        plan = plan_standing(
            HeatCfg(
                controllers=names or ("fixed", "smart"),
                preset=preset or None,
                command=tuple(sys.argv),
                **setting,
            )
        )
    install_stop_handlers()
    address = Address(port=port)
    raise typer.Exit(run_live_command(plan, out, address, seconds, opens=browser))


def _preemption(given: str | None) -> "Preemption | None":
    from nao_testbed.controllers.arbitration.tokens import Preemption  # noqa: PLC0415  # heavy

    if given is None:
        return None
    known = [one.value for one in Preemption]
    if given not in known:
        raise UnknownName("Preemption", given, known, "a ledger")
    return Preemption(given)
