"""The commands of this room: `heat`, `xray`, `identify`, `posture-search`.

Heavy imports wait until one is used.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nao_testbed.experiments.common.options import (
    PRESET_COMPLETION,
    JsonOption,
    RobotOption,
    controllers_option,
    names_in,
    setting_options,
)
from nao_testbed.experiments.common.options.completion import (
    controllers as complete_controllers,
)
from nao_testbed.experiments.common.options.completion import postures
from nao_testbed.experiments.common.signals import heed_stop_signals

if TYPE_CHECKING:
    from nao_testbed.experiments.heat.xray.standing_model import Assumptions


@setting_options
def heat_command(
    minutes: Annotated[
        float | None,
        typer.Option(help="Simulated time in min; default: that of the preset, or 15."),
    ] = None,
    controllers: Annotated[
        str,
        typer.Option(
            help="Controllers, comma-separated, a robot for each: fixed, smart, nudge, "
            "minheat, constant:VALUE, current:AMPERE. smart and minheat accept an "
            "offset, as in smart:Crouch=0.1+warm (docs/guides/controllers.md).",
            autocompletion=complete_controllers,
        ),
    ] = "fixed,smart",
    preset: Annotated[
        str | None,
        typer.Option(
            help="Base settings, overridden by the options; 'document' reproduces the "
            "published experiment.",
            autocompletion=PRESET_COMPLETION,
        ),
    ] = None,
    robot: RobotOption = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Step the physics in the whole run."),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Record observations at full precision, for an exact replay.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Run folder; an existing one is never overwritten.")
    ] = Path("runs/heat"),
    json_file: JsonOption = None,
    all_rows: Annotated[
        bool, typer.Option("--all", help="Print every row of the results.")
    ] = False,
    gui: Annotated[
        bool, typer.Option("--gui", help="Open PyBullet's window (one controller).")
    ] = False,
    **setting: Any,
) -> None:
    """Simulate identical standing robots, one a controller, and compare their heat."""
    from nao_testbed.experiments.heat.experiment import HeatCfg  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.heat.run_heat import run_heat_command  # noqa: PLC0415  # heavy

    if robot is not None:
        setting["robot"] = robot
    cfg = HeatCfg(
        minutes=minutes,
        controllers=names_in(controllers),
        preset=preset,
        full=full,
        gui=gui,
        exact=exact,
        command=tuple(sys.argv),
        **setting,
    )
    heed_stop_signals()
    raise typer.Exit(run_heat_command(cfg, out, json_file, all_rows))


def identify_command(
    source: Annotated[
        Path, typer.Argument(metavar="FILE.csv|RUN", help="A CSV file or a run folder.")
    ],
    joint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Joint; of a run, several of one kind are better."
        ),
    ] = None,
    ambient: Annotated[
        float | None, typer.Option(help="Air in °C, where known; default: fitted.")
    ] = None,
    resistance: Annotated[
        float | None, typer.Option(help="Of the winding in Ω; default: the joint's.")
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(help="Longest time between rows in s; default: ten usual steps."),
    ] = None,
    trust_units: Annotated[
        bool, typer.Option("--trust-units", help="Do not doubt unlikely temperatures.")
    ] = False,
    robot: RobotOption = None,
    json_file: JsonOption = None,
) -> None:
    """Find a motor's heating constants from a CSV file or a run, with intervals."""
    from nao_testbed.experiments.heat.identification.identify import (  # noqa: PLC0415  # heavy
        IdentifyCfg,
        run_identify,  # beside it
    )

    cfg = IdentifyCfg(
        source=source,
        joints=tuple(joint or ()),
        ambient_degc=ambient,
        resistance=resistance,
        gap_s=gap,
        trusts_units=trust_units,
    )
    run_identify(cfg, robot, json_file)


def xray_command(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="LOG", help="A run folder, a CSV file or a Parquet file."
        ),
    ] = None,
    feet: Annotated[
        str,
        typer.Option(
            help="placed: they stand beside each other as the posture has them (2 mm, "
            "0.5°); anywhere: not known."
        ),
    ] = "placed",
    floor: Annotated[
        float, typer.Option(metavar="DEG", help="How level the floor is.")
    ] = 0.17,
    mass: Annotated[
        float,
        typer.Option(metavar="MM", help="How right the model's centre of mass is."),
    ] = 0.4,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw it, as .png or .svg."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="No LOG: X-ray N simulated robots, and count who is right.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of --trials.")] = 0,
    joints_off: Annotated[
        int, typer.Option(help="Of --trials: leg joints of each that are off.")
    ] = 1,
    seconds: Annotated[
        float, typer.Option(help="Of --trials: length of each log in s.")
    ] = 15.0,
    varied: Annotated[
        bool,
        typer.Option(
            "--varied",
            help="Of --trials: 1 to 3 joints off, slopes, gear friction, loads.",
        ),
    ] = False,
    posture: Annotated[
        str | None, typer.Option(help="Of --trials: held; default: PoseInit.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Of --trials: pybullet or mujoco.")
    ] = None,
    robot: RobotOption = None,
    json_file: JsonOption = None,
) -> None:
    """Find where the heat of a standing robot comes from, and which joint is off."""
    from nao_testbed.models import BadInput, default_robot_folder, load_robot  # noqa: PLC0415  # heavy

    folder = robot or default_robot_folder()
    assumptions = _assumptions(feet, floor, mass)
    if (source is None) == (trials is None):
        raise BadInput("give a LOG to X-ray, or --trials N for simulated robots.")
    if trials is not None:
        from nao_testbed.experiments.heat.xray.trials import (  # noqa: PLC0415  # heavy
            TrialsCfg,
            run_trials_command,
        )

        cfg = TrialsCfg(
            robots=trials,
            seed=seed,
            joints_off=joints_off,
            seconds=seconds,
            robot=folder,
            posture=posture,
            engine=engine,  # type: ignore[arg-type]  # checked by the simulator
            varied=varied,
            assumptions=assumptions,
        )
        heed_stop_signals()
        raise typer.Exit(run_trials_command(cfg, json_file))
    if source is not None:
        from nao_testbed.experiments.heat.xray.run_xray import run_xray_command  # noqa: PLC0415  # heavy
        from nao_testbed.experiments.heat.xray.xray import XrayCfg  # noqa: PLC0415  # heavy

        asked = XrayCfg(source=source, assumptions=assumptions)
        raise typer.Exit(run_xray_command(asked, load_robot(folder), json_file, figure))


def _assumptions(feet: str, floor_deg: float, mass_mm: float) -> "Assumptions":
    from math import radians  # noqa: PLC0415  # beside what is heavy

    from nao_testbed.experiments.heat.xray.standing_model import Assumptions  # noqa: PLC0415  # heavy

    return Assumptions(
        feet=feet,  # type: ignore[arg-type]  # checked by Assumptions
        floor_rad=radians(floor_deg),
        com_m=0.001 * mass_mm,
    )


def posture_search_command(
    posture: Annotated[
        str,
        typer.Argument(
            metavar="POSTURE",
            help="Posture to start from, standing on its feet.",
            autocompletion=postures,
        ),
    ],
    within: Annotated[
        float, typer.Option(metavar="DEG", help="Largest change of an angle.")
    ] = 5.0,
    margin: Annotated[
        float,
        typer.Option(metavar="M", help="Centre of mass inside its support, in m."),
    ] = 0.02,
    joint_margin: Annotated[
        float, typer.Option(metavar="DEG", help="Distance from the joints' stops.")
    ] = 1.0,
    share: Annotated[
        float, typer.Option(help="Largest torque of a motor over its limit.")
    ] = 0.8,
    arms: Annotated[
        bool, typer.Option("--arms", help="Move arms and head too; count their heat.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Joint or group to keep; repeatable."),
    ] = None,
    free_feet: Annotated[
        bool,
        typer.Option("--free-feet", help="Feet need not stay where they stand."),
    ] = False,
    asymmetric: Annotated[
        bool, typer.Option("--asymmetric", help="Left and right may differ.")
    ] = False,
    slope: Annotated[float, typer.Option(help="Ground slope in degrees.")] = 0.0,
    friction: Annotated[
        float, typer.Option(help="Friction of the ground that is counted on.")
    ] = 0.5,
    starts: Annotated[int, typer.Option(help="Starting points of the search.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the starting points.")] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="Stand both postures in the simulation.")
    ] = False,
    controllers: Annotated[
        str | None, controllers_option("fixed, smart; with --check")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the posture; default: POSTURE + Cool.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a robot folder that knows the posture, for --robot elsewhere.",
        ),
    ] = None,
    json_file: JsonOption = None,
    robot: RobotOption = None,
) -> None:
    """Find the coolest posture near POSTURE that keeps its balance."""
    from math import radians  # noqa: PLC0415  # beside what is heavy

    from nao_testbed.controllers.heat_minimization.posture_search.search_space import (  # noqa: PLC0415
        PostureSearchCfg,  # heavy
    )
    from nao_testbed.experiments.heat.posture_search import run_posture_search  # noqa: PLC0415  # heavy

    cfg = PostureSearchCfg(
        within_rad=radians(within),
        com_margin_m=margin,
        joint_margin_rad=radians(joint_margin),
        torque_share=share,
        moves_arms=arms,
        keep=tuple(keep or ()),
        feet_may_move=free_feet,
        may_be_asymmetric=asymmetric,
        slope_deg=slope,
        friction=friction,
        starts=starts,
        seed=seed,
    )
    status = run_posture_search(
        posture,
        cfg,
        robot,
        controllers=names_in(controllers),
        check=check,
        name=name,
        out=out,
        json_file=json_file,
    )
    raise typer.Exit(status)
