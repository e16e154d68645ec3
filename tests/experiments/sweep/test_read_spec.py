"""Sweep files: meaning, and errors with their lines."""

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from pytest_regressions.data_regression import DataRegressionFixture

from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import Push
from nao_testbed.experiments.heat.published import load_preset
from nao_testbed.experiments.sweep.spec import (
    Fixed,
    Grid,
    Normal,
    SweepSpec,
    Uniform,
    Values,
)
from nao_testbed.experiments.sweep.spec_file import FastForwardForm
from nao_testbed.experiments.sweep.spec_file.read_spec import SWEEPS, read_spec
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial
from nao_testbed.experiments.sweep.trial_store import robot_digest
from nao_testbed.models import BadInput, default_robot_folder, load_robot
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import Payload
from nao_testbed.sim.recording.run_meta import plain
from tests.experiments.common.known_names import without_lists
from tests.experiments.sweep.files import ANKLES, SHORT, TWO_LEG, spec_of

LEAST = "name: least\ncontroller: fixed\n"


def values_of(spec: SweepSpec, column: str) -> Values:
    (found,) = [p.values for p in spec.parameters if column in p.columns]
    return found


def wrong(folder: Path, text: str) -> str:
    with pytest.raises(BadInput) as refused:
        spec_of(folder, text)
    said = str(refused.value).replace(f"{folder / 'sweep.yaml'}:", "")
    return without_lists(said.replace(str(folder), "FOLDER"))


# -- meaning ------------------------------------------------------------------------


def test_the_minimal_file_is_one_default_heat_trial(
    tmp_path: Path,
) -> None:
    (trial,) = spec_of(tmp_path, LEAST).trials()
    cfg = trial.trial_cfg()
    assert (cfg.controller, cfg.posture, cfg.duration_s) == ("fixed", "PoseInit", 900.0)
    assert cfg.robot_folder == default_robot_folder()
    assert cfg.fast_forward == FastForwardCfg()
    assert cfg.simulation.world.friction == 0.7
    assert cfg.simulation.other_start_degc == 30.0
    assert not cfg.simulation.misalignment_deg


def test_lists_are_grids_and_mappings_are_distributions(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, ANKLES)
    assert values_of(spec, "friction") == Grid((0.5, 0.7, 0.9))
    assert values_of(spec, "slope_deg") == Uniform(-2.0, 2.0)
    assert values_of(spec, "minutes") == Fixed(15.0)
    clipped = Normal(0.0, 0.7, (-2.0, 2.0))
    assert values_of(spec, "misalignment_deg.RKneePitch") == clipped
    assert spec.points == 3 * 2 * 2
    assert spec.n_trials == 48


def test_a_group_is_drawn_by_joint_except_named_joints(
    tmp_path: Path,
) -> None:
    spec = spec_of(tmp_path, ANKLES)
    legs = load_robot(default_robot_folder()).leg_joints
    drawn = {p.columns for p in spec.drawn if p.name.startswith("misalignment")}
    others = [joint for joint in legs if joint != "LAnklePitch"]
    assert drawn == {(f"misalignment_deg.{joint}",) for joint in others}
    values = spec.drawn_for(0)
    assert len({values[f"misalignment_deg.{joint}"] for joint in others}) == 11


def test_joints_on_one_motor_start_at_one_temperature(tmp_path: Path) -> None:
    values = spec_of(tmp_path, ANKLES).drawn_for(0)
    hips = {values[f"start_degc.{side}HipYawPitch"] for side in "LR"}
    knees = {values[f"start_degc.{side}KneePitch"] for side in "LR"}
    assert (len(hips), len(knees)) == (1, 2)


def test_a_list_for_a_group_is_one_grid(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, f"{LEAST}misalignment_deg: {{Left leg: [0, 1, 2]}}\n")
    assert spec.n_trials == 3
    last = list(spec.trials())[-1].by_name("misalignment_deg")
    assert set(last.values()) == {2.0}
    assert set(last) == {
        f"L{j}" for j in ("HipRoll", "HipPitch", "KneePitch", "AnklePitch", "AnkleRoll")
    }


def test_the_file_overrides_the_preset(tmp_path: Path) -> None:
    preset = load_preset("document")
    text = f"{LEAST}preset: document\nmisalignment_deg: {{LAnklePitch: 1.5}}\n"
    (trial,) = spec_of(tmp_path, text).trials()
    errors = trial.by_name("misalignment_deg")
    assert errors == preset.misalignment_deg | {"LAnklePitch": 1.5}
    assert trial.by_name("effort_limit_nm") == preset.effort_limits
    assert trial.by_name("start_degc") == preset.start_degc
    assert trial.trial_cfg().effort_limits == preset.effort_limits


def test_a_payload_is_a_grid_or_drawn_and_0_is_none(tmp_path: Path) -> None:
    loads = "{torso: [0, 2], 'l_gripper@0,0,-0.05': {uniform: [0.1, 0.5]}}"
    spec = spec_of(tmp_path, f"{LEAST}payload_kg: {loads}\nrobots: 2\n")
    column = "payload_kg.l_gripper@0,0,-0.05"
    drawn = [float(spec.drawn_for(robot)[column]) for robot in (0, 1)]
    assert 0.1 < min(drawn) < max(drawn) < 0.5
    in_hand = Payload.at("l_gripper@0,0,-0.05", drawn[0])
    without, loaded, *_ = (
        trial.trial_cfg().simulation.world.payloads for trial in spec.trials()
    )
    assert set(without) == {in_hand}
    assert set(loaded) == {in_hand, Payload.at("torso", 2.0)}


@pytest.mark.requirement("ST-27")
def test_an_obstacle_is_a_grid_or_drawn_and_none_is_none(tmp_path: Path) -> None:
    """An obstacle must be clear of the robot in the postures of the file."""
    table = "0.3,0.6,0.02@0.27,0,0.3"
    text = f"{LEAST}posture: Stand\nobstacles: {{table: [none, '{table}']}}\n"
    without, there = spec_of(tmp_path, text).trials()
    assert without.trial_cfg().simulation.world.obstacles == ()
    assert there.trial_cfg().simulation.world.obstacles == (
        Obstacle.at("table", table),
    )
    step = "0.1,1,0.1@0.17,0,0.05"  # clear of the feet, but not of a kneeling robot
    drawn = f"obstacles: {{step: {{choice: [none, '{step}']}}}}"
    spec_of(tmp_path, f"{LEAST}posture: Stand\n{drawn}\n")
    with pytest.raises(BadInput, match="'step' overlaps the robot"):
        spec_of(tmp_path, f"{LEAST}posture: [Stand, Sit]\n{drawn}\n")


def test_a_robot_folder_is_relative_to_the_file(tmp_path: Path) -> None:
    shutil.copytree(TWO_LEG, tmp_path / "walker")
    spec = spec_of(tmp_path, SHORT.replace(str(TWO_LEG), "walker"))
    assert spec.robot_name == "two_leg"
    assert spec.robot_digest == robot_digest(TWO_LEG) != robot_digest(None)


def test_pushes_and_fast_forward_reach_the_trial(tmp_path: Path) -> None:
    text = (
        f"{LEAST}pushes: [{{at_s: 7, force_n: [5, 0, 0], link: Head}}]\n"
        "fast_forward: {blocks: 5, bound: 0.01}\n"
    )
    (trial,) = spec_of(tmp_path, text).trials()
    assert trial.trial_cfg().pushes == (
        Push(at_s=7.0, force_n=(5.0, 0.0, 0.0), link="Head"),
    )
    assert trial.trial_cfg().fast_forward == FastForwardCfg(blocks=5, bound=0.01)
    (full,) = spec_of(tmp_path, f"{LEAST}fast_forward: {{full: true}}\n").trials()
    assert full.trial_cfg().fast_forward is None


def test_every_setting_of_fast_forward_can_be_written() -> None:
    assert set(FastForwardForm.model_fields) - {"full"} == set(vars(FastForwardCfg()))


PUSH = """\
name: pushed
controller: [fixed, smart]
friction: [0.2, 0.7]
push:
  direction_deg: [0, 90]
  size_n: {uniform: [5, 20]}
  at_s: [6, 7]
  link: Head
robots: 3
"""


def test_a_push_is_drawn_and_crossed_as_other_parameters_are(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, PUSH)
    trials = list(spec.trials())
    assert len(trials) == 3 * 2 * 2 * 2 * 2
    for trial in trials:
        (push,) = trial.trial_cfg().pushes
        d = np.deg2rad(float(trial.parameters["push.direction_deg"]))
        size = float(trial.parameters["push.size_n"])
        assert 5.0 <= size <= 20.0
        np.testing.assert_allclose(
            push.force_n, (size * np.cos(d), size * np.sin(d), 0.0), atol=1e-12
        )
        assert (push.at_s, push.link) == (trial.parameters["push.at_s"], "Head")
        assert trial.trial_cfg().quiet_s == 1.0


def test_controllers_meet_the_same_pushes(tmp_path: Path) -> None:
    pushes: dict[str, list[tuple[int, Push]]] = {"fixed": [], "smart": []}
    for trial in spec_of(tmp_path, PUSH).trials():
        (push,) = trial.trial_cfg().pushes
        pushes[trial.controller].append((trial.robot, push))
    assert pushes["fixed"] == pushes["smart"]
    assert len({push.force_n for _, push in pushes["fixed"]}) == 3 * 2


def test_pushes_of_a_robot_that_settles_once_follow_each_other(tmp_path: Path) -> None:
    text = PUSH.replace("{uniform: [5, 20]}", "[5, 10]").replace("[6, 7]", "6")
    spec = spec_of(tmp_path, text)
    assert spec.pushes_of_one == 4
    settled = [(t.robot, t.parameters["friction"], t.controller) for t in spec.trials()]
    assert all(len(set(settled[i : i + 4])) == 1 for i in range(0, len(settled), 4))


def test_a_drawn_push_after_the_end_is_rejected(tmp_path: Path) -> None:
    text = PUSH.replace("[6, 7]", "{normal: [890, 100]}")
    trials = list(spec_of(tmp_path, f"{text}seed: 1\n").trials())
    with pytest.raises(BadInput, match="push earlier"):
        [trial.trial_cfg() for trial in trials]


def test_without_a_drawn_push_trials_keep_their_names(tmp_path: Path) -> None:
    """A folder of an earlier version can be resumed."""
    (trial,) = spec_of(tmp_path, LEAST).trials()
    assert not [name for name in trial.parameters if name.startswith("push")]
    data = vars(trial)
    before = {k: v for k, v in data.items() if k not in {"key", "policy_digest"}}
    assert before.keys() == {
        "number",
        "robot",
        "parameters",
        "seed",
        "pushes",
        "fast_forward",
        "robot_folder",
        "robot_digest",
    }
    kept = plain(before | {"number": 0, "robot_folder": None})
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False)
    assert trial.key.endswith(hashlib.sha256(text.encode()).hexdigest()[:12])


def test_fewer_robots_are_the_first_ones(tmp_path: Path) -> None:
    all_of_them = list(spec_of(tmp_path, PUSH).trials())
    two = list(read_spec(tmp_path / "sweep.yaml", robots=2).trials())
    assert [t.key for t in two] == [t.key for t in all_of_them[: len(two)]]
    assert {trial.robot for trial in two} == {0, 1}


@pytest.mark.parametrize("name", SWEEPS.names())
def test_shipped_sweeps_are_valid(name: str) -> None:
    if name.startswith(("stand_30", "pushed_")):  # policies of another package
        pytest.importorskip("holosoma_inference")
    spec = read_spec(SWEEPS.named(name))
    assert spec.about
    assert next(spec.trials()).trial_cfg().duration_s > 0.0


# -- errors -------------------------------------------------------------------------

MISTAKES = """\
name: mistakes
minuts: 15
slope_deg: {uniform: [-2, 52]}
friction: []
controller: [fixd, smart, "constant:3", "smart:Stood=0.1"]
posture: Stan
misalignment_deg:
  LAnklPitch: [0, 1, 2]
  legs: {normal: [0, -0.7]}
  Left leg: {unifrm: [1, 2]}
start_degc: {HeadYaw: [30, 30]}
pushes: [{force_n: [5, 0], linc: torso}]
robots: 0
gear_friction: [1, -1]
heating: two
preset: documnt
"""
ALONE = (
    "misalignment_deg: {LLeg: 1, Left leg: 2}",
    "start_degc: {LHipYawPitch: 40, RHipYawPitch: 41}",
    "minutes: 0",
    "minutes: 1e9",
    "robots: 9\nfriction: {normal: [0.1, 0.5]}",
    "control_period: [0.02, 0.0205]",
    "pushes: [{force_n: [1, 0, 0], link: torsoo}]",
    "minutes: [0.5, 0.1]\npushes: [{at_s: 6, force_n: [5, 0, 0]}]",
    "pushes: [{force_n: [1e308, 0, 0]}]",
    "pushes: [{at_s: 1e308, force_n: [1, 0, 0]}]",
    "fast_forward: {block_s: 1e308}",
    "control_period: 1e308",
    "controller: smart",
    "controler: smart",
    "posture: {uniform: [1, 2]}",
    "slope_deg: steep",
    "robot: nowhere",
    "effort_limit_nm: {Legs: 0}",
    "obstacles: {t: '1,1@2,0,0', w: [none, '1,0,1@2,0,0'], b: '1,1,1@0,0,0.5'}",
    "payload_kg: {torsoo: 1, 'torso@0,0': 1, l_gripper: [0, 60]}",
    "push: {direction_deg: [0, left], size_n: -5}",
    "push: {direction_deg: 720, size_n: [5, 1e9], duration_s: 0, at_s: -1}",
    "push: {direction_deg: [], force_n: 5, quiet_s: 0}",
    "push: {direction_deg: {normal: [0, 200]}, size_n: 5, link: torsoo}\nrobots: 50",
    "push: {direction_deg: 0, size_n: 5, at_s: {uniform: [6, 900]}}",
)


def test_mistakes_are_reported_with_their_lines(
    tmp_path: Path, data_regression: DataRegressionFixture
) -> None:
    """All errors of a file at once; `pytest --regen-all` rewrites the messages."""
    files = {"all at once": MISTAKES} | {more: f"{LEAST}{more}\n" for more in ALONE}
    said = {name: wrong(tmp_path, text).splitlines() for name, text in files.items()}
    data_regression.check(said)
    lines = [int(line.partition(":")[0]) for line in said["all at once"]]
    assert lines == sorted(lines)


# -- cases --------------------------------------------------------------------------

CASES = """\
name: cases
controller: [fixed, smart]
minutes: 0.25
slope_deg: {uniform: [-2, 2]}
payload_kg: {torso: 0}
push: {direction_deg: [0, 90], size_n: 5, link: torso, again_s: 0}
robots: 2
cases:
"""


def test_a_case_sets_columns_at_every_point_of_the_grid(tmp_path: Path) -> None:
    text = f"{CASES}  plain: {{}}\n  up: {{slope_deg: 4, payload_kg.torso: 1}}\n"
    text += "  twice: {push.again_s: 0.5, push.link: Head}\n"
    spec = spec_of(tmp_path, text)
    assert spec.points == 3 * 2 * 2
    by_case: dict[str, list[SweepTrial]] = {}
    for trial in spec.trials([1]):
        by_case.setdefault(str(trial.parameters["case"]), []).append(trial)
    drawn = spec.drawn_for(1)["slope_deg"]
    assert {t.parameters["slope_deg"] for t in by_case["plain"]} == {drawn}
    assert {t.parameters["slope_deg"] for t in by_case["up"]} == {4.0}
    assert {t.setting.payload_kg["torso"] for t in by_case["up"]} == {1.0}
    first, second = by_case["twice"][0].trial_cfg().pushes
    assert (first.link, second.link, second.force_n) == ("Head", "Head", first.force_n)
    assert second.at_s == first.end_s + 0.5
    assert all(len(t.trial_cfg().pushes) == 1 for t in by_case["plain"])
    assert len({t.key for t in spec.trials()}) == spec.n_trials


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("{slope_deg: steep}", "9: slope_deg is 'steep'; give a number."),
        ("{slope_deg: 60}", "9: slope = 60.0 degrees; give -30 to 30."),
        ("{push.link: 3}", "9: push.link is 3.0; give a name."),
        ("{push.link: Hed}", "9: Link 'Hed' is not in robot 'nao'."),
        ("{push.direction_deg: 3}", "9: a case cannot set 'push.direction_deg'"),
        ("{minutes: 1}", "9: a case cannot set 'minutes'"),
        ("{push.againn_s: 1}", "9: Column 'push.againn_s' is not in this sweep"),
        ("{push.again_s: -1}", "9: push again_s is -1 s; give the time"),
        ("{push.again_s: 9}", "9: a push ends at 15.4 s, but the trial lasts 15 s"),
    ],
)
def test_errors_in_a_case_are_reported_with_their_line(
    tmp_path: Path, case: str, said: str
) -> None:
    assert wrong(tmp_path, f"{CASES}  one: {case}\n").startswith(said)
