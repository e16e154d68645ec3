import itertools
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image

from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.experiments.heat.figures.posed_robot import (
    FROM,
    LIGHT,
    Pose,
    aim,
    dressed,
    last_pose,
    outline,
    standing_pose,
)
from nao_testbed.experiments.heat.figures.robot_picture import (
    draw_robot_picture,
    robot_figure,
)
from nao_testbed.experiments.heat.figures.robot_view import (
    RobotView,
    colour_of,
    lamp,
    view_robot,
    view_robots,
)
from nao_testbed.models import Robot, UnknownName, default_robot_folder, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg, misalignment_of
from nao_testbed.sim.sensors.drawing.meshes import (
    Shape,
    drum_of,
    drums,
    read_body,
)
from tests.models.load.test_numbers import FRAME, spoilt

HEIGHT = 240  # pixels: enough to distinguish the joints
LEG = ("HipRoll", "HipPitch", "KneePitch", "AnkleRoll", "AnklePitch")
COLD, HOT = 30.0, 75.0
DRUM = 0.14  # both ends of a drum may show: its length over the robot's height


@pytest.fixture(scope="module")
def view() -> RobotView:
    return view_robot(load_robot(default_robot_folder()), "PoseInit", HEIGHT)


@pytest.fixture
def cold(view: RobotView) -> dict[str, float]:
    return dict.fromkeys(view.drums, COLD)


def colourful(image: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the mask (h, w) of pixels that are not grey."""
    spread: NDArray[np.int_] = np.ptp(image.astype(int), axis=2)
    return spread > 40


def test_the_robot_is_grey_and_its_temperatures_are_not(
    view: RobotView, cold: dict[str, float]
) -> None:
    assert not colourful(view.painted({})).any()
    warm = colourful(view.painted(dict.fromkeys(cold, 60.0)))
    assert 0.01 < warm.mean() < 0.2


@pytest.mark.parametrize("joint", [side + name for side in "LR" for name in LEG])
def test_a_temperature_changes_pixels_at_its_joint_only(
    view: RobotView, cold: dict[str, float], joint: str
) -> None:
    before = view.painted(cold)
    after = view.painted({**cold, joint: HOT})
    rows, columns = np.nonzero((before != after).any(axis=2))
    assert len(rows) > 10, f"{joint} is not visible"
    column, row = view.centres[joint]
    distance = np.hypot(rows - row, columns - column)
    assert distance.max() < DRUM * HEIGHT
    assert after[rows, columns].mean() > before[rows, columns].mean()


def test_lit_side_of_a_drum_has_the_colour_of_the_scale(
    view: RobotView, cold: dict[str, float]
) -> None:
    image = view.painted(dict.fromkeys(cold, 70.0))
    column, row = (round(x) for x in view.centres["LKneePitch"])
    shown = image[row, column] / 255.0
    expected = np.array(colour_of(70.0))
    # Equal hue: light and shadow scale the three channels equally.
    factor = float(shown @ expected / (expected @ expected))
    assert 0.5 < factor < 1.1
    np.testing.assert_allclose(shown, factor * expected, atol=0.03)


def test_hotter_is_brighter_on_the_whole_scale() -> None:
    weights = np.array([0.2126, 0.7152, 0.0722])
    brightness = [weights @ colour_of(t) for t in np.linspace(25.0, 80.0, 56)]
    assert (np.diff(brightness) > 0.0).all()


def test_temperatures_beyond_the_scale_take_its_ends() -> None:
    assert colour_of(200.0) == colour_of(80.0)
    assert colour_of(-10.0) == colour_of(25.0)


def test_the_whole_robot_is_in_the_picture(view: RobotView) -> None:
    seen = view.rendering.link >= 0
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    assert 0 < rows[0] < rows[-1] < seen.shape[0] - 1
    assert 0 < columns[0] < columns[-1] < seen.shape[1] - 1
    assert np.ptp(rows) > 0.8 * seen.shape[0]


def test_shadow_falls_beside_the_feet_and_fades_to_the_background(
    view: RobotView,
) -> None:
    image = view.painted({}).astype(float).mean(axis=2)
    edge = np.concatenate([image[0], image[-1], image[:, 0], image[:, -1]])
    np.testing.assert_allclose(edge, edge[0], atol=1.0)
    ground = image[int(0.85 * HEIGHT) :]
    assert ((ground < edge[0] - 10.0) & (ground > 150.0)).sum() > 50


@pytest.mark.requirement("ST-23")
@pytest.mark.parametrize("direction", [LIGHT, np.array([1e-3, 0.0, 1.0])])
def test_a_lamp_sees_the_whole_robot(nao: Robot, direction: FloatArray) -> None:
    drawn = dressed(nao, standing_pose(nao, "PoseInit"))
    seen = drawn.render(lamp(drawn.bounds(), direction), is_lit=False).link >= 0
    drawn.close()
    rows, columns = np.nonzero(seen)
    middle = np.array([rows.min() + rows.max(), columns.min() + columns.max()]) / 2.0
    assert middle == pytest.approx(np.array(seen.shape) / 2.0, abs=0.1 * len(seen))
    assert max(np.ptp(rows), np.ptp(columns)) > 0.2 * len(seen)
    assert not seen[[0, -1]].any()
    assert not seen[:, [0, -1]].any()


def test_each_trial_is_named_with_its_hottest_joint(
    view: RobotView, cold: dict[str, float]
) -> None:
    trials = {
        "fixed": {**cold, "LAnklePitch": 80.0},
        "smart": {**cold, "RHipPitch": 45.0},
        "constant:0.6": {**cold, "HeadYaw": 44.0},  # its drum is inside the head
    }
    figure = robot_figure(dict.fromkeys(trials, view), trials, {})
    panels = figure.axes[:3]
    assert [axes.get_title() for axes in panels] == list(trials)
    shown = [axes.texts[0].get_text() for axes in panels]
    assert shown == [
        "LAnklePitch\n80 °C",
        "RHipPitch\n45 °C",
        "hottest: HeadYaw\n44 °C",
    ]
    assert "°C" in figure.axes[3].get_ylabel()


@pytest.mark.slow(covers=True)
def test_a_robot_rejected_by_pybullet_is_drawn(two_leg: Robot, tmp_path: Path) -> None:
    """The robot has 146 links, 140 of them frames; PyBullet accepts 128."""
    pytest.importorskip("mujoco", reason="nao-testbed[mujoco] is not installed")
    frames = "".join(FRAME.format(n=n, on="trunk") for n in range(140))
    robot = load_robot(spoilt(tmp_path, "</robot>", f"{frames}</robot>"))
    pose = standing_pose(two_leg, "Stand")
    (found,), (plain,) = (view_robots(one, [pose], 40) for one in (robot, two_leg))
    np.testing.assert_array_equal(found.painted({}), plain.painted({}))


@pytest.mark.slow(covers=True)
def test_the_picture_needs_no_engine_but_mujoco(
    two_leg: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The picture equals the one with link poses from PyBullet."""
    pytest.importorskip("mujoco", reason="nao-testbed[mujoco] is not installed")
    expected = view_robot(two_leg, "Stand", HEIGHT)
    monkeypatch.setattr(
        "nao_testbed.sim.engine.world.find_spec", lambda name: name == "mujoco"
    )
    for name in (
        "pybullet",
        "nao_testbed.sim.engine.bullet",
        "nao_testbed.sim.engine.bullet_engine",
    ):
        monkeypatch.setitem(sys.modules, name, None)
    found = view_robot(two_leg, "Stand", HEIGHT)
    off = np.abs(found.painted({}).astype(int) - expected.painted({}))
    assert off.mean() < 0.2  # of 255: the height differs by some µm


def with_visuals(robot: Robot, shapes: Sequence[Shape], urdf: Path) -> Path:
    """Write the robot's URDF with these shapes instead, and drums as links."""
    tree = ET.parse(robot.urdf)
    root = tree.getroot()
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    for i, shape in enumerate(shapes):
        corners = shape.points[shape.triangles].reshape(-1, 3).tolist()
        normals = shape.normals.reshape(-1, 3).tolist()
        lines = ["v {} {} {}".format(*p) for p in corners]
        lines += ["vn {} {} {}".format(*n) for n in normals]
        lines += [
            f"f {k}//{k} {k + 1}//{k + 1} {k + 2}//{k + 2}"
            for k in range(1, len(corners), 3)
        ]
        path = urdf.with_name(f"{i}.obj")
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        if shape.joint is None:
            (link,) = root.findall(f"link[@name='{shape.link}']")
        else:
            name = drum_of(shape.joint)
            link = ET.fromstring(
                f'<link name="{name}"><inertial><mass value="1e-6"/><inertia ixx="1e-9"'
                ' iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            )
            joint = f'<joint name="{name}" type="fixed"><parent link="{shape.link}"/>'
            root.extend([link, ET.fromstring(f'{joint}<child link="{name}"/></joint>')])
        grey = shape.rgb[0] / 255.0
        link.append(
            ET.fromstring(
                f'<visual><geometry><mesh filename="{path}"/></geometry><material name='
                f'"m{i}"><color rgba="{grey} {grey} {grey} 1"/></material></visual>'
            )
        )
    ET.indent(tree)  # PyBullet cuts lines at a thousand letters
    tree.write(urdf)
    return urdf


@pytest.mark.slow(covers=True)
def test_a_drawing_matches_pybullet(nao: Robot, tmp_path: Path) -> None:
    """Compare link, depth and brightness of each pixel for the same shapes.

    PyBullet samples with an offset of half a pixel, visible along edges.
    """
    bullet_engine = pytest.importorskip("nao_testbed.sim.engine.bullet_engine")
    pose = standing_pose(nao, "PoseInit")
    where = (pose.q, pose.base_position, pose.base_quaternion)
    drawn = dressed(nao, pose)
    (camera,) = aim([outline(drawn, FROM, pose.base_position)], 480)
    mine = drawn.render(camera)
    frames = {link.name: drawn.link_pose(link.name) for link in nao.links}
    body = read_body(nao)
    urdf = with_visuals(
        nao, (*body.shapes, *drums(nao, body, frames)), tmp_path / nao.urdf.name
    )
    engine = bullet_engine.BulletEngine(replace(nao, urdf=urdf), WorldCfg())
    engine.place(*where)
    its = engine.render(camera)
    engine.close()
    drawn.close()
    both = (mine.link >= 0) & (its.link >= 0)
    assert both.mean() > 0.2
    assert ((mine.link >= 0) == (its.link >= 0)).mean() > 0.99
    names = np.array(mine.links)[mine.link], np.array(its.links)[its.link]
    assert (names[0] == names[1])[both].mean() > 0.98
    depth = np.abs(mine.depth[both] - its.depth[both])
    assert np.quantile(depth, 0.9) < 0.003  # m
    grey = np.abs(mine.rgb[both, 0].astype(int) - its.rgb[both, 0])
    assert np.quantile(grey, 0.9) < 10  # of 255


@pytest.mark.slow(covers=True)
def test_the_drums_of_an_ankle_show_its_hotter_motor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two motors drive pitch and roll of a G1's ankle; the label is the hotter one."""
    seen: dict[str, object] = {}

    def figure(views: object, trials: object, *_: object) -> Figure:
        seen.update(trials=trials, rows=_[-1])
        return Figure()

    monkeypatch.setattr(
        "nao_testbed.experiments.heat.figures.robot_picture.robot_figure", figure
    )
    given = {"left_ankle_a": 70.0, "left_ankle_b": 40.0, "left_knee": 30.0}
    path = tmp_path / "robot.png"
    draw_robot_picture(load_robot("g1"), {"fixed": given}, "bent", path)
    ankle = ("left_ankle_pitch", "left_ankle_roll")
    shown = {**dict.fromkeys(ankle, 70.0), "left_knee": 30.0}
    assert seen["trials"] == {"fixed": shown}
    rows = {**dict.fromkeys(ankle, "left_ankle_a"), "left_knee": "left_knee"}
    assert seen["rows"] == {"fixed": rows}


@pytest.mark.slow(covers=True)
def test_the_file_of_another_robot_is_written(two_leg: Robot, tmp_path: Path) -> None:
    path = tmp_path / "robot.png"
    temperatures = dict.fromkeys(two_leg.joint_names, 60.0)
    draw_robot_picture(
        two_leg, {"fixed": temperatures}, "Stand", path, settings={"seed": 3}
    )
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"))
        assert image.info["Description"] == '{"seed": 3}'
    assert colourful(pixels).sum() > 500


def test_an_unknown_posture_is_named(two_leg: Robot, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Handstand"):
        draw_robot_picture(two_leg, {"fixed": {}}, "Handstand", tmp_path / "robot.png")


# -- the last true pose --------------------------------------------------------------


@pytest.fixture(scope="module")
def fall() -> tuple[Robot, Pose]:
    """Pose of the NAO after a backward fall from a slope of 25°."""
    robot = load_robot(default_robot_folder())
    world = WorldCfg(slope_deg=25.0)
    sim = SimulatedRobot(robot, SimulationCfg(world=world), "PoseInit")
    loop = Loop(sim, make_controller("fixed"), robot.posture("PoseInit").angles)
    while not sim.has_fallen():
        loop.cycle()
    truth = sim.truth()
    sim.close()
    return robot, Pose(
        q=truth.q,
        base_position=truth.base_position,
        base_quaternion=truth.base_quaternion,
    )


@pytest.fixture(scope="module")
def fallen(fall: tuple[Robot, Pose]) -> RobotView:
    """Drawn on the slope."""
    robot, pose = fall
    (view,) = view_robots(robot, [pose], HEIGHT, slope_deg=25.0)
    return view


@pytest.mark.slow(covers=True)
def test_a_fallen_robot_is_drawn_in_its_pose(
    fall: tuple[Robot, Pose], fallen: RobotView
) -> None:
    """The drawn body is not upright and matches the engine's pose."""
    robot, pose = fall
    view = fallen
    picture = view.rendering
    head, foot = (
        picture.positions(picture.sees(link)).mean(axis=0)
        for link in ("Head", "l_ankle")
    )
    engine = make_engine(robot, WorldCfg())
    engine.place(pose.q, pose.base_position, pose.base_quaternion)
    for seen, link in ((head, "Head"), (foot, "l_ankle")):
        np.testing.assert_allclose(seen, engine.link_com(link), atol=0.08)
    engine.close()
    assert head[2] - foot[2] < 0.3, "the robot is upright"


@pytest.mark.slow(covers=True)
def test_a_slope_is_seen_in_profile(fallen: RobotView) -> None:
    """Its lines are drawn and rise towards +x at the slope of the ground."""
    image = fallen.painted({}).astype(float).mean(axis=2)
    right = image[:, -HEIGHT // 4 :]
    assert np.ptp(right[:, HEIGHT // 8]) > 5.0, "no ground line"
    camera = fallen.rendering.camera
    ahead = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.1 * np.tan(np.deg2rad(25.0))]])
    (left, low), (there, high) = camera.project(ahead)[0]
    assert low - high > 0.3 * abs(there - left), "the ground looks level"


@pytest.mark.slow(covers=True)
def test_robots_of_one_picture_have_one_scale(fall: tuple[Robot, Pose]) -> None:
    robot, pose = fall
    stands = standing_pose(robot, "PoseInit")
    views = view_robots(robot, [stands, pose], HEIGHT)
    first, second = (view.rendering.camera for view in views)
    assert first.fov_deg == second.fov_deg
    assert (first.width, first.height) == (second.width, second.height)
    for view in views:
        seen = view.rendering.link >= 0
        edge = (seen[0], seen[-1], seen[:, 0], seen[:, -1])
        assert not np.concatenate(edge).any()


def test_the_last_row_tells_the_pose(fall: tuple[Robot, Pose]) -> None:
    robot, pose = fall
    error_deg = {"LKneePitch": 2.0}
    encoder = pose.q - misalignment_of(robot, error_deg)
    columns = {
        f"q.{n}": [0.0, a] for n, a in zip(robot.joint_names, encoder, strict=True)
    }
    for name, parts, values in (
        ("base_position", "xyz", pose.base_position),
        ("base_quaternion", "xyzw", pose.base_quaternion),
    ):
        columns |= {f"{name}.{c}": [0.0, v] for c, v in zip(parts, values, strict=True)}
    frame = pd.DataFrame(columns, index=[0.0, 0.36])
    found = last_pose(frame, robot, error_deg)
    assert found is not None
    np.testing.assert_allclose(found.q, pose.q)
    np.testing.assert_array_equal(found.base_position, pose.base_position)
    np.testing.assert_array_equal(found.base_quaternion, pose.base_quaternion)
    assert last_pose(frame.drop(columns="base_position.z"), robot, {}) is None
    assert last_pose(frame.iloc[:0], robot, {}) is None


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("shape", [(760, 418), (760, 610), (760, 1300)])
@pytest.mark.parametrize("place", [(5.0, 5.0), (400.0, 5.0), (200.0, 750.0)])
def test_all_labels_are_in_the_picture_and_none_on_the_head(
    view: RobotView, shape: tuple[int, int], place: tuple[float, float]
) -> None:
    """Lying or standing robots, with the hottest joint anywhere in the picture."""
    height, width = shape
    size = 2 * height, 2 * width
    robot = replace(
        view,
        rendering=replace(view.rendering, link=np.full(size, -1)),
        ground=np.ones(size),
        light=np.ones(size),
        drums={},
        centres={"LHand": place},
    )
    trials = {
        name: {"LHand": 60.0}
        for name in ("fixed", "minheat:PoseInit=0.25+Crouch=0.1+warm", "nudge")
    }
    remarks = {"nudge": "shut down at 874.56 s, fell at 875.12 s", "fixed": "fell"}
    figure = robot_figure(dict.fromkeys(trials, robot), trials, remarks, 3.0)
    figure.draw_without_rendering()
    for axes in figure.axes[:3]:
        image = axes.images[0].get_window_extent()
        for text in [axes.title, *axes.texts]:
            box = Text.get_window_extent(text)
            assert figure.bbox.containsx(box.x0), text
            assert figure.bbox.containsx(box.x1), text
            assert figure.bbox.containsy(box.y0), text
            assert figure.bbox.containsy(box.y1), text
            if text.get_text().startswith(("shut down", "fell")):
                assert box.y0 >= image.y1
                assert not box.overlaps(Text.get_window_extent(axes.title))
    titles = [Text.get_window_extent(axes.title) for axes in figure.axes[:3]]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(titles))


def test_time_of_fall_is_in_the_picture(
    view: RobotView, cold: dict[str, float]
) -> None:
    trials = {"fixed": cold, "smart": cold}
    views = dict.fromkeys(trials, view)
    remarks = {
        "smart": "fell at 0.36 s",
        "fixed": "shut down at 888.2 s, fell at 888.7 s",
    }
    figure = robot_figure(views, trials, remarks, 25.0)
    fixed, smart = (
        [text.get_text() for text in axes.texts] for axes in figure.axes[:2]
    )
    assert "fell at 0.36 s" in smart
    assert "fell at 0.36 s" not in fixed
    (remark,) = (text for text in fixed if text.startswith("shut down"))
    assert "\n" in remark, "the text must fit one line"
    assert "888.2 s" in remark
    assert "888.7 s" in remark, "keep number and unit together"
    assert "ground slope 25°, uphill ahead of the robot" in fixed
