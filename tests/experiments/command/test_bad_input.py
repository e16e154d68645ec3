"""Bad input: one message that says what, value, accepted, what to do; exit status 2.

The messages are compared whole: they are part of what a user gets.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from experiments.cli import app
from experiments.common.options import PlainNumbers
from models import default_robot_folder, load_robot
from tests.experiments.command.helpers import Launch, Run

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"


NAO = load_robot(default_robot_folder())
JOINTS = ", ".join(NAO.joint_names)
POSTURES = ", ".join(NAO.postures)
CONTROLLERS = (
    "fixed, constant, smart, smart-full, smart-product, nudge, minheat, minheat-no-gear"
)
ANKLE = "its range from -68.1 to 52.9 allows at most ±121.0 degrees."
PAIR = "is not of the form Joint=number, such as --misalign LAnklePitch=2.0."

# options of `nao-testbed heat`: the whole message
NAMES = {
    "--misalign LAnklePich=2": "Joint 'LAnklePich' is not in robot 'nao'. Did you mean "
    f"'LAnklePitch'? Known: {JOINTS}.",
    "--start Foo=30": f"Joint 'Foo' is not in robot 'nao'. Known: {JOINTS}.",
    "--posture PosInit": "Posture 'PosInit' is not in robot 'nao'. Did you mean "
    f"'PoseInit'? Known: {POSTURES}.",
    "--posture ''": f"Posture '' is not in robot 'nao'. Known: {POSTURES}.",
    "--controllers fixd": "Controller 'fixd' is not in this installation. Did you mean "
    f"'fixed'? Known: {CONTROLLERS}.",
    "--controllers fixed,": "Controller '' is not in this installation. Known: "
    f"{CONTROLLERS}.",
    "--controllers fixed,fixed": "controllers are fixed, fixed; name each controller "
    "once.",
    "--controllers fixed:2": "controller 'fixed' takes no argument; got '2'.",
    "--controllers constant": "controller 'constant:' has no number; give a stiffness "
    "from 0 to 1, as in 'constant:0.6'.",
    "--controllers constant:0_6": "controller 'constant:0_6' has no number; give a "
    "stiffness from 0 to 1, as in 'constant:0.6'.",
    "--misalign LAnklePitch=2_0": f"--misalign 'LAnklePitch=2_0' {PAIR}",
    "--controllers constant:1.4": "constant stiffness 1.4; give a number from 0 to 1.",
    "--controllers constant:nan": "constant stiffness nan; give a number from 0 to 1.",
    "--preset documnt": "Preset 'documnt' is not in the testbed. Did you mean "
    "'document'? Known: document.",
    f"--preset document --posture Stand --robot {TWO_LEG}": "preset 'document' is made "
    "for another robot: Joint 'LHipYawPitch' is not in robot 'two_leg'. Known: "
    "left_hip, left_knee, left_ankle, right_hip, right_knee, right_ankle. Give "
    "--misalign and --start instead of --preset.",
    "--servo torqe": "servo 'torqe' is unknown; give one of torque, pybullet.",
    "--heating three-node": "heating model 'three-node'; give one of one-node, "
    "two-node.",
    "--protection naoo": "protection is 'naoo'; choose one of none, nao, document.",
}
NUMBERS = {
    "--misalign LAnklePitch=200": "misalignment of LAnklePitch is 200.0 degrees; "
    + ANKLE,
    "--misalign LAnklePitch=nan": "misalignment of LAnklePitch is nan degrees; "
    + ANKLE,
    "--misalign LAnklePitch": f"--misalign 'LAnklePitch' {PAIR}",
    "--misalign =2": f"--misalign '=2' {PAIR}",
    "--misalign LAnklePitch=two": f"--misalign 'LAnklePitch=two' {PAIR}",
    "--misalign LAnklePitch=2=3": f"--misalign 'LAnklePitch=2=3' {PAIR}",
    "--misalign LAnklePitch=2 --misalign LAnklePitch=3": "--misalign names LAnklePitch "
    "twice; give it once.",
    "--start LAnklePitch=nan": "start temperature of LAnklePitch is nan °C; give one "
    "in [-20, 150].",
    "--start LAnklePitch=400": "start temperature of LAnklePitch is 400.0 °C; give one "
    "in [-20, 150].",
    "--minutes nan": "minutes is nan; give a number above 0, at most 1440.",
    "--minutes inf": "minutes is inf; give a number above 0, at most 1440.",
    "--minutes 0": "minutes is 0.0; give a number above 0, at most 1440.",
    "--minutes -1": "minutes is -1.0; give a number above 0, at most 1440.",
    "--minutes 1e-6": "minutes is 1e-06, which is shorter than one control period of "
    "0.02 s; give at least 0.00033.",
    "--slope nan": "slope = nan degrees; give -30 to 30.",
    "--slope 60": "slope = 60.0 degrees; give -30 to 30.",
    "--ambient nan": "ambient temperature = nan °C; give -40 to 80.",
    "--gear-friction -1": "gear friction: friction_scale = -1.0; give 0 to 1e+09.",
    "--gear-friction nan": "gear friction: friction_scale = nan; give 0 to 1e+09.",
    "--control-period nan": "control period is nan s; give a positive number of "
    "seconds.",
    "--control-period 0": "control period is 0.0 s; give a positive number of seconds.",
    "--control-period 0.0125": "control period = 0.0125 s is not a multiple of the "
    "physics step 0.001 s (12.5 steps); choose 0.012 s or 0.013 s.",
    "--physics-dt nan": "physics_dt = nan s; give 1e-05 to 0.01.",
    "--physics-dt 0": "physics_dt = 0.0 s; give 1e-05 to 0.01.",
    "--physics-dt 1e-308": "physics_dt = 1e-308 s; give 1e-05 to 0.01.",
    "--physics-dt 0.003": "physics step is 0.003 s, which does not divide the heating "
    "period of 0.02 s; give one that does, such as 0.001.",
    "--physics-dt 0.004 --control-period 0.02": "physics step is 0.004 s, which does "
    "not divide the encoder period of 0.01 s; give one that does, such as 0.001.",
    "--seed -1": "seed is -1; give a whole number from 0 up.",
}
PLACES = {
    "--robot nowhere": "Robot folder 'nowhere' is not a directory; give a folder that "
    "holds robot.yaml and its tables.",
    "--robot file": "Robot folder 'file' is not a directory; give a folder that holds "
    "robot.yaml and its tables.",
    "--robot empty": "empty/robot.yaml: file is missing; a robot folder must hold it.",
    "--out file/run": "output folder file/run cannot be written: File exists. Give "
    "another by --out.",
    "--out file/deeper/run": "output folder file/deeper/run cannot be written: Not a "
    "directory. Give another by --out.",
    "--out ..": "run name is '..'; give a plain name without slashes.",
    "--json file/heat.json": "--json file/heat.json cannot be written: Not a "
    "directory. Give another file, or - for stdout.",
    "--json empty": "--json empty cannot be written: Is a directory. Give another "
    "file, or - for stdout.",
    "--json nowhere/x.json": "--json nowhere/x.json cannot be written: No such file "
    "or directory. Give another file, or - for stdout.",
    "--json new.json --out file/run": "output folder file/run cannot be written: File "
    "exists. Give another by --out.",
    "--gui": "--gui shows one robot; give one controller, as in --controllers smart.",
    "--gui --controllers fixed": "--gui needs a display and DISPLAY is not set; run "
    "without --gui.",
}
CASES = NAMES | NUMBERS | PLACES


@pytest.fixture
def files(here: Path) -> Path:
    """A file where a folder is wanted, and an empty folder."""
    (here / "file").write_text("in the way")
    (here / "empty").mkdir()
    return here


def tree(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize(("options", "message"), CASES.items(), ids=CASES.keys())
def test_bad_input_ends_with_one_message_and_leaves_nothing(
    files: Path, nao_testbed: Run, options: str, message: str
) -> None:
    before = tree(files)
    ran = nao_testbed(f"heat {options}")
    assert ran.err == f"error: {message}\n"
    assert ran.status == 2
    assert ran.out == ""
    assert tree(files) == before


@pytest.mark.parametrize(
    "option",
    ["--minutes ten", "--seed 1.5", "--slope", "--frobnicate 1"],
)
def test_a_line_that_cannot_be_read_names_the_option(
    here: Path, nao_testbed: Run, option: str
) -> None:
    ran = nao_testbed(f"heat {option}")
    assert ran.status == 2
    assert option.split(maxsplit=1)[0] in ran.err
    assert ran.out == ""
    assert not tree(here)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--out x.yaml --seed -1", "seed is -1; give a whole number from 0 up."),
        (
            "--out x.yaml --generations -1",
            "generations is -1; give a whole number from 0 up.",
        ),
        (
            "--out empty",
            "--out empty cannot be written: Is a directory. Give another file.",
        ),
        (
            "--out file/x.yaml",
            "--out file/x.yaml cannot be written: Not a directory. Give another file.",
        ),
    ],
)
def test_a_search_that_cannot_end_well_does_not_begin(
    files: Path, nao_testbed: Run, options: str, message: str
) -> None:
    before = tree(files)
    ran = nao_testbed(f"preset-search {options}")
    assert ran.err == f"error: {message}\n"
    assert (ran.status, ran.out) == (2, "")
    assert tree(files) == before


def test_an_unknown_command_is_named(nao_testbed: Run) -> None:
    ran = nao_testbed("haet")
    assert ran.status == 2
    assert "haet" in ran.err


SPOILT = {
    "cycle": (
        '<parent link="trunk"/>\n    <child link="left_thigh"/>',
        '<parent link="left_foot"/>\n    <child link="left_thigh"/>',
        ":45: links make a cycle: left_thigh > left_shank > left_foot > left_thigh. A "
        "robot is a tree.",
    ),
    "negative mass": (
        '<mass value="1"/>',
        '<mass value="-1"/>',
        ":9: mass of link 'trunk' is -1.0 kg; it cannot be negative.",
    ),
    "mass of NaN": (
        '<mass value="1"/>',
        '<mass value="nan"/>',
        ":9: value of mass is 'nan'; give a finite number.",
    ),
}


@pytest.mark.parametrize("case", SPOILT.values(), ids=SPOILT.keys())
@pytest.mark.parametrize("command", ["heat --posture Stand", "robot"])
def test_a_spoilt_urdf_is_refused_at_its_line(
    here: Path, nao_testbed: Run, command: str, case: tuple[str, str, str]
) -> None:
    old, new, message = case
    shutil.copytree(TWO_LEG, here / "walker")
    urdf = here / "walker" / "two_leg.urdf"
    assert urdf.read_text().count(old) == 1
    urdf.write_text(urdf.read_text().replace(old, new))
    before = tree(here)
    ran = nao_testbed(f"{command} --robot walker")
    assert ran.err == f"error: {urdf}{message}\n"
    assert (ran.status, ran.out) == (2, "")
    assert tree(here) == before


@pytest.mark.parametrize("command", ["heat", "robot", "preset-search", "bench"])
def test_every_command_explains_itself(nao_testbed: Run, command: str) -> None:
    ran = nao_testbed(f"{command} --help")
    assert ran.status == 0
    assert f"nao-testbed {command}" in ran.out
    assert ran.err == ""


@pytest.mark.slow
def test_bad_input_of_the_real_command(here: Path, launch: Launch) -> None:
    """As a process: the same message, the same status, no traceback."""
    done = launch("heat --posture PosInit")
    out, err = done.communicate(timeout=60)
    assert done.returncode == 2
    assert err == f"error: {NAMES['--posture PosInit']}\n"
    assert out == ""
    assert not tree(here)


NUMBER_OPTIONS = [
    "heat --minutes 1_0",
    "heat --minutes=1_000",
    "heat --seed 1_0",
    "heat --slope -1_0",
    "heat --physics-dt 0.00_1",
    "scenario run emergency --seed 1_0",
    "sweep fifty_robots --jobs 1_0",
    "posture-search Stand --within 1_0",
    "identify log.csv --ambient 2_5",
    "resources serve --port 80_80",
    "resources take Head --timeout 1_0",
    "bench --seconds 1_0",
    "preset-search --generations 1_0",
]


@pytest.mark.parametrize("line", NUMBER_OPTIONS)
def test_a_number_with_an_underscore_is_not_another_number(
    here: Path, nao_testbed: Run, line: str
) -> None:
    ran = nao_testbed(line)
    assert ran.status == 2
    assert "has an underscore; write the number without it" in ran.err
    assert not tree(here)


def test_every_number_option_is_a_plain_one() -> None:
    """No command is registered past `experiments.common.options.Commands`."""

    def leaves(command: Any) -> list[Any]:
        below = getattr(command, "commands", None)
        return (
            [command]
            if below is None
            else [leaf for inner in below.values() for leaf in leaves(inner)]
        )

    commands = leaves(get_command(app))
    assert len(commands) > 15
    assert all(isinstance(command, PlainNumbers) for command in commands)
