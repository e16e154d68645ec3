"""Commands `heat`, `log-columns`, `xray`, `identify` and `posture-search`.

Heavy modules are imported inside the commands.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nao_testbed.experiments.common.options import (
    PRESET_COMPLETION,
    CommandOption,
    JsonOption,
    MapOption,
    PolicyOption,
    RobotOption,
    chosen_controllers,
    controllers_option,
    names_in,
    setting_options,
)
from nao_testbed.experiments.common.options.completion import (
    controllers as complete_controllers,
)
from nao_testbed.experiments.common.options.completion import joints, one_of, postures
from nao_testbed.experiments.common.signals import install_stop_handlers

if TYPE_CHECKING:
    from nao_testbed.experiments.heat.xray.standing_model import Assumptions


@setting_options
def heat_command(
    minutes: Annotated[
        float | None,
        typer.Option(help="Simulated time in minutes; default: the preset's, or 15."),
    ] = None,
    controllers: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated controllers, one robot each: fixed, smart, nudge, "
            "minheat, constant:VALUE, current:AMPERE. smart and minheat accept an "
            "offset, as in smart:Crouch=0.1; for further options see "
            "docs/guides/controllers.md. Default: fixed,smart; none with --policy.",
            autocompletion=complete_controllers,
        ),
    ] = None,
    policy: PolicyOption = None,
    command: CommandOption = None,
    observation_delay: Annotated[
        float, typer.Option(help="Age in s of the sensor values that controllers see.")
    ] = 0.0,
    action_delay: Annotated[
        float, typer.Option(help="Time in s until a decision takes effect.")
    ] = 0.0,
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
        typer.Option(
            "--full",
            help="Simulate every physics step; do not "
            "fast-forward while the robots stand still.",
        ),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Record observations at full precision, for an exact replay.",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(help="Run folder; if it exists, a number is appended.")
    ] = Path("runs/heat"),
    json_file: JsonOption = None,
    all_rows: Annotated[
        bool, typer.Option("--all", help="Print every row of the results.")
    ] = False,
    gui: Annotated[
        bool,
        typer.Option("--gui", help="Open PyBullet's window; with one controller only."),
    ] = False,
    **setting: Any,
) -> None:
    """Simulate identical standing robots, one per controller; compare their heating."""
    from nao_testbed.experiments.heat.experiment import HeatCfg  # noqa: PLC0415  # heavy
    from nao_testbed.experiments.heat.run_heat import run_heat_command  # noqa: PLC0415  # heavy

    if robot is not None:
        setting["robot"] = robot
    cfg = HeatCfg(
        minutes=minutes,
        controllers=chosen_controllers(controllers, policy, command),
        observation_delay=observation_delay,
        action_delay=action_delay,
        preset=preset,
        full=full,
        gui=gui,
        exact=exact,
        command=tuple(sys.argv),
        **setting,
    )
    install_stop_handlers()
    raise typer.Exit(run_heat_command(cfg, out, json_file, all_rows))


def log_columns_command(
    source: Annotated[
        Path, typer.Argument(metavar="LOG", help="Log file, bag or run folder.")
    ],
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the columns to a .yaml for --map."),
    ] = None,
    columns: MapOption = None,
    robot: RobotOption = None,
) -> None:
    """Print how the columns of a log are interpreted, and which are missing."""
    from nao_testbed.experiments.heat.logs.log_columns import run_log_columns  # noqa: PLC0415  # heavy
    from nao_testbed.models import default_robot_folder, load_robot  # noqa: PLC0415  # heavy

    found = load_robot(robot or default_robot_folder())
    raise typer.Exit(run_log_columns(source, found, columns or (), write))


def identify_command(
    source: Annotated[
        Path, typer.Argument(metavar="LOG", help="Log file, bag or run folder.")
    ],
    joint: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Joint to identify; repeatable for a run: several "
            "joints of one motor type give better results.",
            autocompletion=joints,
        ),
    ] = None,
    ambient: Annotated[
        float | None,
        typer.Option(help="Air temperature in °C if known; default: estimated."),
    ] = None,
    resistance: Annotated[
        float | None,
        typer.Option(help="Winding resistance in Ω; default: the joint's."),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            help="Longest accepted time between rows in s; default: ten times the "
            "median interval."
        ),
    ] = None,
    trust_units: Annotated[
        bool, typer.Option("--trust-units", help="Accept implausible temperatures.")
    ] = False,
    columns: MapOption = None,
    robot: RobotOption = None,
    json_file: JsonOption = None,
) -> None:
    """Identify a motor's heating constants from a log or a run, with 95 % intervals."""
    from nao_testbed.experiments.heat.identification.identify import (  # noqa: PLC0415  # heavy
        IdentifyCfg,
        run_identify,  # together with it
    )

    cfg = IdentifyCfg(
        source=source,
        joints=tuple(joint or ()),
        ambient_degc=ambient,
        resistance=resistance,
        gap_s=gap,
        trusts_units=trust_units,
        entries=tuple(columns or ()),
    )
    run_identify(cfg, robot, json_file)


def xray_command(
    source: Annotated[
        Path | None,
        typer.Argument(metavar="LOG", help="Run folder, log file or bag."),
    ] = None,
    feet: Annotated[
        str,
        typer.Option(
            help="Position of the feet. placed: as in the posture, within 2 mm and "
            "0.5°; anywhere: unknown.",
            autocompletion=one_of("placed", "anywhere"),
        ),
    ] = "placed",
    floor: Annotated[
        float,
        typer.Option(
            metavar="DEG",
            help="Uncertainty of the floor's slope (one standard deviation).",
        ),
    ] = 0.17,
    com: Annotated[
        float,
        typer.Option(
            metavar="MM",
            help="Uncertainty of the model's centre of mass (one standard deviation).",
        ),
    ] = 0.4,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw the result as .png or .svg."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a folder for `nao-testbed report`; if it exists, a number is "
            "appended.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Instead of LOG, X-ray N simulated robots and count the correct "
            "answers.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="With --trials: seed of the simulated robots.")
    ] = 0,
    joints_off: Annotated[
        int,
        typer.Option(
            help="With --trials: number of miscalibrated leg joints per robot."
        ),
    ] = 1,
    seconds: Annotated[
        float, typer.Option(help="With --trials: length of each log in s.")
    ] = 15.0,
    varied: Annotated[
        bool,
        typer.Option(
            "--varied",
            help="With --trials: vary slope, gear friction, loads and miscalibrated "
            "joints (1 to 3).",
        ),
    ] = False,
    posture: Annotated[
        str | None,
        typer.Option(
            help="With --trials: posture to hold; default: the robot's.",
            autocompletion=postures,
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="With --trials: physics engine, pybullet or mujoco.",
            autocompletion=one_of("pybullet", "mujoco"),
        ),
    ] = None,
    columns: MapOption = None,
    robot: RobotOption = None,
    json_file: JsonOption = None,
) -> None:
    """Find the causes of a standing robot's heat, such as a miscalibrated joint."""
    from nao_testbed.models import BadInput, default_robot_folder, load_robot  # noqa: PLC0415  # heavy

    folder = robot or default_robot_folder()
    assumptions = _assumptions(feet, floor, com)
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
        install_stop_handlers()
        raise typer.Exit(run_trials_command(cfg, json_file))
    if source is not None:
        from nao_testbed.experiments.heat.xray.run_xray import run_xray_command  # noqa: PLC0415  # heavy
        from nao_testbed.experiments.heat.xray.xray import XrayCfg  # noqa: PLC0415  # heavy

        asked = XrayCfg(
            source=source, assumptions=assumptions, entries=tuple(columns or ())
        )
        raise typer.Exit(
            run_xray_command(asked, load_robot(folder), json_file, figure, out)
        )


def _assumptions(feet: str, floor_deg: float, com_mm: float) -> "Assumptions":
    from math import radians  # noqa: PLC0415  # beside what is heavy

    from nao_testbed.experiments.heat.xray.standing_model import Assumptions  # noqa: PLC0415  # heavy

    return Assumptions(
        feet=feet,  # type: ignore[arg-type]  # checked by Assumptions
        floor_rad=radians(floor_deg),
        com_m=0.001 * com_mm,
    )


def posture_search_command(
    posture: Annotated[
        str,
        typer.Argument(
            metavar="POSTURE",
            help="Standing posture to start from.",
            autocompletion=postures,
        ),
    ],
    within: Annotated[
        float, typer.Option(metavar="DEG", help="Largest change of a joint angle.")
    ] = 5.0,
    margin: Annotated[
        float,
        typer.Option(
            metavar="M",
            help="Minimum distance of the centre of mass from the edge of the support "
            "polygon.",
        ),
    ] = 0.02,
    joint_margin: Annotated[
        float,
        typer.Option(metavar="DEG", help="Minimum distance from the joint limits."),
    ] = 1.0,
    share: Annotated[
        float, typer.Option(help="Largest motor torque as a fraction of its limit.")
    ] = 0.8,
    arms: Annotated[
        bool,
        typer.Option(
            "--arms", help="Also move the arms and the head, and include their heat."
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Joint or group to keep fixed; repeatable.",
            autocompletion=joints,
        ),
    ] = None,
    free_feet: Annotated[
        bool,
        typer.Option("--free-feet", help="Allow the feet to move."),
    ] = False,
    asymmetric: Annotated[
        bool, typer.Option("--asymmetric", help="Allow left and right to differ.")
    ] = False,
    slope: Annotated[
        float,
        typer.Option(
            help="Ground slope in degrees; positive: uphill in front of the robot."
        ),
    ] = 0.0,
    friction: Annotated[
        float, typer.Option(help="Friction coefficient of the ground.")
    ] = 0.5,
    starts: Annotated[
        int, typer.Option(help="Number of starting points of the search.")
    ] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the starting points.")] = 0,
    check: Annotated[
        bool,
        typer.Option("--check", help="Simulate a robot standing in both postures."),
    ] = False,
    controllers: Annotated[
        str | None, controllers_option("fixed, smart (only with --check)")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the new posture; default: POSTURE followed by Cool."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a robot folder that includes the posture, for --robot.",
        ),
    ] = None,
    json_file: JsonOption = None,
    robot: RobotOption = None,
) -> None:
    """Find the coolest balanced posture near POSTURE."""
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
