"""`nao-testbed posture-search`: from what was asked for to tables and files."""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from controllers.heat_minimization.posture_search.search import search_posture
from controllers.heat_minimization.posture_search.search_space import PostureSearchCfg
from controllers.registry import check_controllers
from experiments.json_file import STDOUT, check_json_file, json_text, write_json
from experiments.posture_search.report import (
    as_json,
    found_tables,
    legs_power,
    trial_table,
)
from experiments.posture_search.robot_folder import check_folder, write_robot_folder
from experiments.posture_search.trial import CONTROLLERS, PostureTrial, stand_postures
from models import BadInput, load_robot

SAME, SAME_W = 1.02, 0.01
"""Powers that differ by less than this factor and this many W are the same."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a command line asked for."""

    posture: str
    cfg: PostureSearchCfg
    check: bool
    """Stand the postures in the simulation."""
    controllers: tuple[str, ...]
    """Under which; none: `CONTROLLERS` of the trial."""
    name: str | None
    """Of the posture that is found; None: that of the wanted one and `Cool`."""
    out: Path | None
    """Robot folder to write."""
    json_file: str | None
    robot: Path


def run_posture_search(asked: Asked) -> int:
    """Search, print, write; return the exit status.

    Raises:
        BadInput: something asked for cannot be used.
        NoPostureFound: no posture in reach keeps all that it must.
    """
    if asked.controllers:
        check_controllers(asked.controllers)
        if not asked.check:
            raise BadInput("--controllers are those of --check; give that, too.")
    robot = load_robot(asked.robot)
    wanted = robot.posture(asked.posture)
    name = asked.name or f"{asked.posture}Cool"
    check_folder(robot, name, asked.out)
    check_json_file(asked.json_file)
    messages = Console(stderr=True)
    with messages.status("searching"):
        found = search_posture(robot, wanted, asked.cfg)
    # With --json - the JSON alone goes to stdout, the tables beside it to stderr.
    to_stderr = asked.json_file == STDOUT
    console = Console(stderr=to_stderr, width=None if sys.stdout.isatty() else 110)
    console.print(found_tables(robot, found, asked.cfg))
    if found.wanted.missed:
        print(
            f"{wanted.name} itself misses: {'; '.join(found.wanted.missed)}.",
            file=sys.stderr,
        )
    for balance, what in ((found.wanted, wanted.name), (found.found, name)):
        if balance.at_stop:
            print(
                f"in {what}, {', '.join(balance.at_stop)} may lean on the stop, which "
                "then bears a part of the load; foretold is what motors need without.",
                file=sys.stderr,
            )
    trials: tuple[PostureTrial, ...] = ()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.out or Path(scratch) / "robot"
        if asked.out is not None or asked.check:
            write_robot_folder(robot, wanted, name, found.found.angles, folder)
        if asked.check:
            with messages.status("standing in the simulation"):
                trials = stand_postures(
                    folder,
                    (wanted.name, name),
                    asked.cfg.slope_deg,
                    asked.controllers or CONTROLLERS,
                )
            foretold = {
                wanted.name: None
                if found.wanted.missed
                else legs_power(robot, found.wanted),
                name: legs_power(robot, found.found),
            }
            console.print(trial_table(trials, foretold))
    data = as_json(robot, wanted.name, name, found, trials)
    write_json(asked.json_file, json_text(data))
    if asked.out is not None:
        print(
            f"{asked.out} knows the posture: nao-testbed heat --robot {asked.out} "
            f"--posture {name}",
            file=sys.stderr,
        )
    failures = [
        f"{t.posture} under {t.controller}: {t.failure}" for t in trials if t.failure
    ]
    failures += hotter_than_wanted(trials, wanted.name, name)
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def hotter_than_wanted(
    trials: Sequence[PostureTrial], wanted: str, found: str
) -> list[str]:
    """Return in words under which controllers what was found is the hotter one."""
    power = {(t.posture, t.controller): t.legs_power_w for t in trials}
    words = []
    for controller in dict.fromkeys(trial.controller for trial in trials):
        before, after = power[wanted, controller], power[found, controller]
        if before is not None and after is not None and after > SAME * before + SAME_W:
            words.append(
                f"in the simulation {found} is hotter under {controller} than {wanted}"
                f": {after:.3f} W, not {before:.3f} W."
            )
    return words
