"""The command line of posture searches; heavy imports wait until it is used."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.options import JsonOption, RobotOption, controllers_option, names_in


def posture_search_command(
    posture: Annotated[
        str, typer.Argument(metavar="POSTURE", help="The wanted one, on its feet.")
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

    from controllers.heat_minimization.posture_search.search_space import (  # noqa: PLC0415
        PostureSearchCfg,  # heavy
    )
    from experiments.posture_search.run_command import (  # noqa: PLC0415  # heavy
        Asked,
        run_posture_search,
    )
    from models import default_robot_folder  # noqa: PLC0415  # heavy

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
    asked = Asked(
        posture=posture,
        cfg=cfg,
        check=check,
        controllers=names_in(controllers),
        name=name,
        out=out,
        json_file=json_file,
        robot=robot or default_robot_folder(),
    )
    raise typer.Exit(run_posture_search(asked))
