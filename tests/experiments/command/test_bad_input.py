"""Bad input: one message with error, value, accepted values, remedy; exit status 2.

Whole messages are compared with `test_bad_input/`: they are part of the product.
`pytest --regen-all` rewrites them; the diff is reviewed.
"""

import shutil
from pathlib import Path

import pytest
from pytest_regressions.data_regression import DataRegressionFixture

from nao_testbed.experiments.common.options import PlainNumbers
from tests.experiments.command.helpers import Launch, Run, all_commands
from tests.experiments.common.known_names import known_names, without_lists

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"
CASES = """\
--misalign LAnklePich=2
--start Foo=30
--posture PosInit
--posture ''
--controllers fixd
--controllers fixed,
--controllers fixed,fixed
--controllers fixed:2
--controllers constant
--controllers constant:0_6
--misalign LAnklePitch=2_0
--controllers constant:1.4
--controllers constant:nan
--controllers smart:wram
--controllers smart:Stood=0.1
--preset documnt
--preset document --posture Stand --robot TWO_LEG
--servo torqe
--heating three-node
--protection naoo
--misalign LAnklePitch=200
--misalign LAnklePitch=nan
--misalign LAnklePitch
--misalign =2
--misalign LAnklePitch=two
--misalign LAnklePitch=2=3
--misalign LAnklePitch=2 --misalign LAnklePitch=3
--start LAnklePitch=nan
--start LAnklePitch=400
--payload torso
--obstacle table
--obstacle table=0.3,0.6@1,0,0.3
--obstacle table=0.3,0,0.02@1,0,0.3
--obstacle table=0.3,nan,0.02@1,0,0.3
--obstacle table=0.3,0.6,0.02@11,0,0.3
--obstacle table=0.3,0.6,0.02@1,0,0.3,400
--obstacle table,=0.3,0.6,0.02@1,0,0.3
--obstacle step=0.2,0.2,0.02@0,0,0.01
--minutes nan
--minutes inf
--minutes 0
--minutes -1
--minutes 1e-6
--slope nan
--slope 60
--ambient nan
--gear-friction -1
--gear-friction nan
--control-period nan
--control-period 0
--control-period 0.0125
--physics-dt nan
--physics-dt 0
--physics-dt 1e-308
--physics-dt 0.003
--physics-dt 0.004 --control-period 0.02
--seed -1
--robot nowhere
--robot file
--robot empty
--out file/run
--out file/deeper/run
--out ..
--json file/heat.json
--json empty
--json nowhere/x.json
--json new.json --out file/run
--gui
--gui --controllers fixed
"""
"""Options of `nao-testbed heat`; TWO_LEG is the folder of that robot."""


PULLS = """\
--link l_wirst
--link l_wrist --link l_wrist
--rate 0
--distance nan
--most 1e9
--robots 0
--spread -1
--controllers smrt
--controllers smart:Stood=0.1
--posture Stan
--json file/pulls.json
"""
"""Options of `nao-testbed study hand-guiding`."""


@pytest.fixture
def files(here: Path) -> Path:
    """A file where a folder is wanted, and an empty folder."""
    (here / "file").write_text("in the way", "utf-8")
    (here / "empty").mkdir()
    return here


def tree(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize(
    ("command", "cases"), [("heat", CASES), ("study hand-guiding", PULLS)]
)
def test_bad_input_ends_with_one_message_and_leaves_nothing(
    files: Path,
    nao_testbed: Run,
    command: str,
    cases: str,
    data_regression: DataRegressionFixture,
) -> None:
    before, said = tree(files), {}
    for options in cases.splitlines():
        ran = nao_testbed(f"{command} {options.replace('TWO_LEG', str(TWO_LEG))}")
        assert (ran.status, ran.out) == (2, ""), options
        assert ran.err.startswith("error: "), options
        assert tree(files) == before, options
        said[options] = without_lists(ran.err)
    data_regression.check(said, basename=command.rsplit(maxsplit=1)[-1])


def test_unknown_names_are_answered_with_the_known_ones(
    nao_testbed: Run, data_regression: DataRegressionFixture
) -> None:
    """Only this snapshot lists them; others contain `all controllers`."""
    data_regression.check(known_names(), basename="known")
    for option, names in zip(
        ("--controllers fixd", "--posture PosInit"), known_names().values(), strict=True
    ):
        assert f"Known: {', '.join(names)}.\n" in nao_testbed(f"heat {option}").err


@pytest.mark.parametrize(
    "option",
    ["--minutes ten", "--seed 1.5", "--slope", "--frobnicate 1"],
)
def test_an_unreadable_command_line_names_the_option(
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
        (
            "--out x.yaml --seed -1",
            "--seed = -1; give a whole number from 0 up to 1e+15.",
        ),
        (
            "--out x.yaml --generations -1",
            "--generations = -1; give a whole number from 0 up to 10000.",
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
def test_a_search_with_invalid_output_does_not_start(
    files: Path, nao_testbed: Run, options: str, message: str
) -> None:
    before = tree(files)
    ran = nao_testbed(f"study preset-search {options}")
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
def test_an_invalid_urdf_is_rejected_with_its_line(
    here: Path, nao_testbed: Run, command: str, case: tuple[str, str, str]
) -> None:
    old, new, message = case
    shutil.copytree(TWO_LEG, here / "walker")
    urdf = here / "walker" / "two_leg.urdf"
    assert urdf.read_text("utf-8").count(old) == 1
    urdf.write_text(urdf.read_text("utf-8").replace(old, new), "utf-8")
    before = tree(here)
    ran = nao_testbed(f"{command} --robot walker")
    assert ran.err == f"error: {urdf}{message}\n"
    assert (ran.status, ran.out) == (2, "")
    assert tree(here) == before


@pytest.mark.parametrize("command", ["heat", "study hand-guiding", "robot"])
def test_every_command_has_help(nao_testbed: Run, command: str) -> None:
    ran = nao_testbed(f"{command} --help")
    assert ran.status == 0
    assert f"nao-testbed {command}" in ran.out
    assert ran.err == ""


@pytest.mark.slow
def test_bad_input_of_the_real_command(here: Path, launch: Launch) -> None:
    """A process gives the same message and status, and no traceback."""
    done = launch("heat --posture PosInit")
    out, err = done.communicate(timeout=60)
    assert done.returncode == 2
    assert err.startswith("error: Posture 'PosInit' is not in robot 'nao'. Did you")
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
    "study preset-search --generations 1_0",
    "study predict-published --robots 1_0",
]


@pytest.mark.parametrize("line", NUMBER_OPTIONS)
def test_a_number_with_an_underscore_is_rejected(
    here: Path, nao_testbed: Run, line: str
) -> None:
    ran = nao_testbed(line)
    assert ran.status == 2
    assert "has an underscore; write the number without it" in ran.err
    assert not tree(here)


USAGE_ERRORS = {
    "hat": "No such command 'hat'. Did you mean 'heat'? See `",
    "scenario rn": "No such command 'rn'. Did you mean 'run'",
    "heat --minuts 3": "No such option: --minuts",
    "heat --engine mujoko": "Invalid value for '--engine': 'mujoko' is not one of",
    "heat --minutes": "Option '--minutes' requires an argument",
    "heat --minutes x": "--minutes 'x' is not a number; give one, such as 15.",
    "heat --seed 1.5": "--seed '1.5' is not a whole number; give one, such as 15.",
    "robot nao extra": "unexpected extra argument",
    "sweep": "Missing argument 'SPEC'. See `",
    "study hand-guidin": "No such command 'hand-guidin'",
    "study hand-guiding --pull 3": "No such option: --pull",
}


@pytest.mark.parametrize("line", USAGE_ERRORS)
def test_a_usage_error_has_the_format_of_other_errors(
    here: Path, nao_testbed: Run, line: str
) -> None:
    ran = nao_testbed(line)
    assert ran.status == 2
    assert not ran.out
    assert ran.err.startswith("error: ")
    assert USAGE_ERRORS[line] in ran.err
    assert "such as 15" in ran.err or ran.err.endswith(" --help`.\n")
    assert not tree(here)


def test_naoqi_endpoint_lists_its_requirements(
    nao_testbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    ran = nao_testbed("naoqi serve")
    assert ran.status == 2
    assert "pip install '.[naoqi]'" in ran.err
    assert "with Python 3.11 or 3.12 on Linux" in ran.err


def test_every_number_option_uses_the_plain_type() -> None:
    """Every command is registered by `experiments.common.options.Commands`."""
    commands = [command for _, command in all_commands()]
    assert len(commands) > 15
    assert all(isinstance(command, PlainNumbers) for command in commands)
