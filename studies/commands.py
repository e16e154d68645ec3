"""Command lines of the studies: `nao-testbed study NAME`, `python -m studies.NAME`.

Heavy modules are imported when a study runs.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field

from nao_testbed.experiments.cli import run
from nao_testbed.experiments.common.options import (
    Commands,
    JsonOption,
    PlainNumbers,
    RobotOption,
    WholeHelp,
    controllers_option,
    names_in,
    setting_options,
)
from nao_testbed.experiments.common.ranges import Robots
from nao_testbed.experiments.common.signals import install_stop_handlers

PullDistance = Annotated[float, Field(gt=0.0, le=0.3)]
PullRate = Annotated[float, Field(gt=0.0, le=50.0)]
PullForce = Annotated[float, Field(gt=0.0, le=200.0)]
PulledRobots = Annotated[int, Field(ge=1, le=200)]
PullSpread = Annotated[float, Field(ge=0.0, le=5.0)]
Rounds = Annotated[int, Field(ge=1, le=1000)]

RANGES: Mapping[str, Any] = {
    "example-logs --hours": Annotated[float, Field(gt=0.0, le=24.0)],
    "hand-guiding --distance": PullDistance,
    "hand-guiding --rate": PullRate,
    "hand-guiding --most": PullForce,
    "hand-guiding --robots": PulledRobots,
    "hand-guiding --spread": PullSpread,
    "preset-search --generations": Annotated[int, Field(ge=0, le=10_000)],
    "stand-30 --pushed": Annotated[int, Field(ge=0, le=100_000)],
    "stand-30 --robots": Annotated[int, Field(ge=0, le=100_000)],
    "xray-calibration --logs": Annotated[int, Field(ge=1, le=100_000)],
    "xray-calibration --seconds": Annotated[float, Field(ge=6.0, le=600.0)],
    "predict-published --rounds": Rounds,
    "predict-published --repeats": Rounds,
    "predict-published --training": Robots,
}
"""Ranges of options, as in `experiments.common.ranges.RANGES`."""


class _Study(PlainNumbers):
    """Command of a study; the ranges of this module override those of the product."""

    def range_of(self, command: str, option: str) -> Any:
        """Return the range of an option."""
        own = RANGES.get(f"{command} {option}")
        return super().range_of(command, option) if own is None else own


app = Commands(
    cls=WholeHelp,
    help="Run a study from the repository.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)


def run_study(name: str) -> None:
    """Run a study as a program; never returns."""
    run(lambda: app([name, *sys.argv[1:]], prog_name="python -m studies"))


@app.command(name="preset-search", cls=_Study)
def preset_search(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write, such as document.yaml.")
    ],
    generations: Annotated[int, typer.Option(help="Generations of 40 trials.")] = 25,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    json_file: JsonOption = None,
) -> None:
    """Fit the preset 'document' to the values published for full torque."""
    from studies.preset_search import run_preset_search  # noqa: PLC0415  # heavy

    raise typer.Exit(run_preset_search(out, generations, seed, json_file))


@app.command(name="predict-published", cls=_Study)
def predict_published(
    robots: Annotated[
        int, typer.Option(help="Robots per round, simulated under fixed.")
    ] = 160,
    rounds: Annotated[
        int, typer.Option(help="Number of rounds; each refits the surrogate.")
    ] = 5,
    training: Annotated[
        int,
        typer.Option(
            help="Number of robots sampled from the prior and simulated first."
        ),
    ] = 240,
    repeats: Annotated[
        int,
        typer.Option(
            help="Number of repetitions, each with the next seed; the "
            "results are pooled."
        ),
    ] = 1,
    seed: Annotated[int, typer.Option(help="Seed of all random draws.")] = 0,
    engine: Annotated[
        str, typer.Option(help="Physics engine: pybullet or mujoco.")
    ] = "pybullet",
    screen: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="Screen the proposed robots on this engine first; simulate only close "
            "fits on --engine.",
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File that stores each simulated robot, so that the same command "
            "resumes after a stop.",
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the densities, as .png or .svg."),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Predict the values published for `smart` from robots that fit `fixed`."""
    from studies.predict_published.prediction import PredictionCfg  # noqa: PLC0415  # heavy
    from studies.predict_published.prediction_figures import run_prediction  # noqa: PLC0415  # heavy

    cfg = PredictionCfg(
        robots=robots,
        rounds=rounds,
        training=training,
        repeats=repeats,
        seed=seed,
        engine=engine,  # type: ignore[arg-type]  # checked
        screen=screen,  # type: ignore[arg-type]  # likewise
    )
    install_stop_handlers()
    raise typer.Exit(run_prediction(cfg, figure, json_file, keep))


@app.command(name="hand-guiding", cls=_Study)
@setting_options
def hand_guiding(
    controllers: Annotated[
        str | None, controllers_option("fixed, smart, minheat")
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Link to pull; repeatable; default: the wrists of a NAO, the arm ends "
            "of another robot, or its base.",
        ),
    ] = None,
    distance: Annotated[
        float, typer.Option(help="Distance that the link should move in m.")
    ] = 0.05,
    rate: Annotated[
        float, typer.Option(help="Rate at which the force grows in N/s.")
    ] = 2.0,
    most: Annotated[float, typer.Option(help="Largest force in N.")] = 30.0,
    robots: Annotated[
        int,
        typer.Option(
            help="Number of robots: the first has the given settings, the others "
            "also random calibration errors."
        ),
    ] = 1,
    spread: Annotated[
        float, typer.Option(help="Largest calibration error of the others in degrees.")
    ] = 1.0,
    robot: RobotOption = None,
    json_file: JsonOption = None,
    **setting: Any,
) -> None:
    """Measure the force that moves a wrist by 5 cm under each controller."""
    from nao_testbed.experiments.common.robot_setting import RobotSetting  # noqa: PLC0415  # beside it
    from studies.hand_guiding import (  # noqa: PLC0415  # heavy
        CONTROLLERS,
        GuidingCfg,
        run_hand_guiding_command,
    )

    if robot is not None:
        setting["robot"] = robot
    cfg = GuidingCfg(
        controllers=names_in(controllers) or CONTROLLERS,
        setting=RobotSetting(**setting),
        links=tuple(link or ()),
        distance_m=distance,
        rate=rate,
        most_n=most,
        robots=robots,
        spread_deg=spread,
    )
    install_stop_handlers()
    raise typer.Exit(run_hand_guiding_command(cfg, json_file))


@app.command(name="example-log", cls=_Study)
def example_log(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write, such as knee_log.csv.")
    ],
    seed: Annotated[int, typer.Option(help="Seed of the noise.")] = 5,
) -> None:
    """Write the synthetic knee log of notebooks/data."""
    from nao_testbed.models import load_robot  # noqa: PLC0415  # heavy
    from nao_testbed.models.files import check_writable, write_text  # noqa: PLC0415  # beside it
    from studies import example_log as study  # noqa: PLC0415  # heavy

    check_writable("--out", out)
    write_text(out, study.example_log(load_robot(), seed))


@app.command(name="xray-calibration", cls=_Study)
def xray_calibration(
    logs: Annotated[int, typer.Option(help="Number of logs, one robot each.")] = 200,
    robots: Annotated[
        str, typer.Option(help="Comma-separated built-in robots, in turn.")
    ] = "nao,g1",
    kinds: Annotated[
        str | None,
        typer.Option(help="Comma-separated kinds of logs, in turn; default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of robots and faults.")] = 0,
    seconds: Annotated[float, typer.Option(help="Length of each log in s.")] = 8.0,
    json_file: JsonOption = None,
) -> None:
    """Count right and wrong causes named by the X-ray on faulty logs."""
    from studies.xray_calibration import KINDS, CalibrationCfg, run_calibration  # noqa: PLC0415  # heavy

    cfg = CalibrationCfg(
        logs=logs,
        seed=seed,
        seconds=seconds,
        robots=names_in(robots),
        kinds=names_in(kinds) or KINDS,
    )
    install_stop_handlers()
    raise typer.Exit(run_calibration(cfg, json_file))


@app.command(name="stand-30", cls=_Study)
def stand_30(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the sweeps.")
    ] = Path("runs", "stand_30"),
    robots: Annotated[
        int, typer.Option(help="Number of robots of each kind; 0: run none, print.")
    ] = 20,
    pushed: Annotated[
        int, typer.Option(help="Number of these robots to push; 0: none.")
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes; default: one per core.")
    ] = None,
) -> None:
    """Run the missing trials of Stand-30 and print its tables as Markdown."""
    from studies.stand_30 import Stand30Cfg, run_stand_30  # noqa: PLC0415  # heavy

    cfg = Stand30Cfg(out=out, robots=robots, pushed=pushed, jobs=jobs)
    install_stop_handlers()
    raise typer.Exit(run_stand_30(cfg))


@app.command(name="example-logs", cls=_Study)
def example_logs(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder of a robot.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="New folder of the logs.")],
    hours: Annotated[
        float | None,
        typer.Option(help="Write instead one log of this length, as Parquet and CSV."),
    ] = None,
) -> None:
    """Write the sensor data of a run in the formats of other programs."""
    from nao_testbed.models import BadInput  # noqa: PLC0415  # heavy
    from nao_testbed.sim.recording.run_folder import read_run  # noqa: PLC0415  # heavy
    from nao_testbed.sim.recording.run_meta import recorded_robot  # noqa: PLC0415  # beside it
    from studies import log_writers  # noqa: PLC0415  # heavy

    found = read_run(run)
    frame = found.frame.astype("float64").reset_index()
    robot = recorded_robot(found.meta)
    if len(frame) < 2:
        raise BadInput(f"{run} has no rows; give a run of some seconds.")
    try:
        out.mkdir(parents=True)
        if hours is not None:
            log_writers.long(frame, robot, out, hours)
        else:
            log_writers.write_all(frame, robot, out)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadInput(f"--out {out}: {why}; give a new folder.") from error
    print(*sorted(path for path in out.iterdir()), sep="\n")
