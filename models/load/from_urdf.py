"""Conversion of a URDF to a robot folder that the user completes.

    nao-testbed robot --from-urdf FILE DIR

The URDF is copied in a plain form: massless links on fixed joints (`base_footprint`,
`imu_link`, optical frames) are merged into their parents, and a collision mesh becomes
its bounding box; without a readable file it becomes the box of the link's inertia. Data
that a URDF lacks (motors, gains, heating, soles, postures) are guessed and marked
`estimate`; `convert_urdf` returns a list of the values to replace, and the experiments
that need them.
"""

import csv
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models.errors import BadInput
from nao_testbed.models.files.xml_tree import parse_xml
from nao_testbed.models.load.plain_urdf import (
    end_of,
    mass_of,
    replace_mesh,
    set_transform,
    show_collisions,
    transform_of,
)
from nao_testbed.models.load.shapes import check_primitives
from nao_testbed.models.load.urdf import (
    UrdfTree,
    check_tree,
    read_joint,
    read_link,
    read_urdf,
)

FloatArray = NDArray[np.float64]
GEAR_RATIO, VOLT = 100.0, 48.0
FULL_TORQUE_RAD = 0.1
"""Error at which a guessed servo gives its full torque, in rad."""
ROTOR_OF_GAIN = 4e-5
"""Rotor inertia divided by kp of a guessed servo, in s²: 25 Hz."""
ROTOR_OF_LOAD = 2.0
"""Largest guessed ratio of rotor inertia to the inertia moved by the joint, except in
legs. Heavier rotors in light links, such as fingers, chatter on PyBullet."""
SAME_HEIGHT = 0.02
"""Height in m above the lowest point within which links are soles."""


def convert_urdf(urdf: Path, folder: Path) -> list[str]:
    """Write a robot folder from a URDF, and return sentences about missing data.

    Raises:
        BadInput: the URDF is missing, or the folder exists.
        RobotDataError: the URDF has a joint, link or shape that is not supported.
    """
    if not urdf.is_file():
        raise BadInput(f"{urdf} is not a file; give a URDF.")
    if folder.exists():
        raise BadInput(f"{folder} exists; give a folder that does not.")
    source = parse_xml(urdf)
    for link in source.all("link"):
        check_primitives(link)
    links = {element.text("name"): read_link(element) for element in source.all("link")}
    joints = [read_joint(element) for element in source.all("joint")]
    check_tree(source, links, {joint.name: joint for joint in joints})
    root = ET.parse(urdf).getroot()
    name = re.sub(r"[^\w.-]+", "_", root.get("name", urdf.stem))
    notes = _replace_meshes(root, urdf)
    merged = _merge_frames(root)
    if merged:
        notes.append(f"{len(merged)} massless frames were merged into their parents.")
    for element in list(root):
        if element.tag not in {"link", "joint"}:
            root.remove(element)
    folder.mkdir(parents=True)
    try:
        path = folder / f"{name}.urdf"
        ET.indent(root)
        ET.ElementTree(root).write(path, encoding="utf-8")
        tree = read_urdf(path)
        soles = _soles(root, tree)
        _write_tables(folder, root, tree, soles)
        _write_yaml(folder, name, tree, soles, merged)
    except BaseException:
        shutil.rmtree(folder)
        raise
    return [*notes, *_missing(soles)]


def _missing(soles: dict[str, FloatArray]) -> list[str]:
    return [
        f"contacts.csv: soles guessed as {', '.join(soles)}; check them for every "
        "experiment.",
        "joints.csv: kp, kd, friction and encoder steps are guesses; needed for heat, "
        "sweep, live and scenarios (a robot with too small gains falls).",
        "motor_types.csv, motors.csv: motors, gears and rotors are guesses; needed for "
        "heat, sweep and xray.",
        "heating_*.csv: guesses; needed for temperatures, times and W of heat and "
        "sweep. Until then `thermal: estimate` makes powers relative; identify finds "
        "the constants from a log.",
        "postures.csv: only `zero`; needed for heat in a posture of the robot, live "
        "and scenarios.",
        "force_sensors.csv: empty; needed for controllers that read force sensors.",
        "robot.yaml: groups, imu, sensor_rates and battery are guesses; needed for "
        "live (groups), noise (sensors) and battery life.",
        "robot.yaml: no roles and no protection; needed for the head on the page of "
        "live, legs in tables, schemas that sit or protect, and --protection robot.",
    ]


def _merge_frames(root: ET.Element) -> dict[str, tuple[str, FloatArray]]:
    """Merge massless links on fixed joints; return their links and (3,) places."""
    merged: dict[str, tuple[str, FloatArray]] = {}
    while True:
        links = {link.attrib["name"]: link for link in root.findall("link")}
        joints = root.findall("joint")
        fixed = [j for j in joints if j.get("type") == "fixed"]
        moved = {end_of(joint, "child") for joint in joints}
        for joint in fixed:
            parent, child = end_of(joint, "parent"), end_of(joint, "child")
            is_only = sum(end_of(j, "parent") == parent for j in joints) == 1
            if mass_of(links[child]) == 0.0:
                break
            if parent not in moved and mass_of(links[parent]) == 0.0 and is_only:
                root.remove(links[parent])
                root.remove(joint)
                return merged | _merge_frames(root)
        else:
            return merged
        T = transform_of(joint)
        merged[child] = (parent, T[:3, 3])
        for body in links[child]:
            if body.tag in {"collision", "visual"}:
                set_transform(body, T @ transform_of(body))
                links[parent].append(body)
        for below in joints:
            if end_of(below, "parent") == child:
                set_transform(below, T @ transform_of(below))
                next(e for e in below if e.tag == "parent").set("link", parent)
        root.remove(links[child])
        root.remove(joint)


def _replace_meshes(root: ET.Element, urdf: Path) -> list[str]:
    """Replace collision meshes by boxes; visuals become copies of the collisions."""
    boxes, hulls = 0, []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
        for body in link.findall("collision"):
            mesh = body.find("geometry/mesh")
            name = "" if mesh is None else mesh.attrib["filename"]
            kind = replace_mesh(link, body, urdf)
            boxes += kind == "mesh"
            hulls += [name] if kind == "inertia" else []
    show_collisions(root)
    notes = [f"{boxes} collision meshes became their bounding boxes."] if boxes else []
    if hulls:
        notes.append(
            f"warning: {len(hulls)} collision meshes are missing or not STL, OBJ or "
            f"DAE ({hulls[0]}); boxes of the links' inertia replace them."
        )
    return notes


def _corners(body: ET.Element) -> FloatArray:
    """Return the corners (8, 3) of a shape's box in the link frame."""
    (shape,) = next(e for e in body if e.tag == "geometry")
    a = shape.attrib
    if shape.tag == "box":
        half = np.array([float(x) for x in a["size"].split()]) / 2.0
    else:
        r = float(a["radius"])
        cap = r if shape.tag != "cylinder" else 0.0
        half = np.array([r, r, cap + float(a.get("length", 0.0)) / 2.0])
    T = transform_of(body)
    signs = np.array(list(product((-1.0, 1.0), repeat=3)))
    corners: FloatArray = (signs * half) @ T[:3, :3].T + T[:3, 3]
    return corners


def _place_links(root: ET.Element, tree: UrdfTree) -> dict[str, FloatArray]:
    """Return the (4, 4) frame of each link, parents first, at angles 0."""
    world = {tree.root: np.eye(4)}
    todo = root.findall("joint")
    while todo:
        joint = next(j for j in todo if end_of(j, "parent") in world)
        frame = world[end_of(joint, "parent")]
        world[end_of(joint, "child")] = frame @ transform_of(joint)
        todo.remove(joint)
    return world


def _moved_inertias(root: ET.Element, tree: UrdfTree) -> dict[str, float]:
    """Return the inertia in kg·m² moved by each joint, about the joint axis."""
    world = _place_links(root, tree)
    joint_of = {end_of(j, "child"): j for j in root.findall("joint")}
    moved = dict.fromkeys(tree.joints, 0.0)
    for link in root.findall("link"):
        inertial, name = link.find("inertial"), link.attrib["name"]
        while inertial is not None and name in joint_of:
            joint = joint_of[name]
            axis = joint.find("axis")
            text = "1 0 0" if axis is None else axis.attrib["xyz"]
            T = np.linalg.inv(world[name]) @ world[link.attrib["name"]]
            T = T @ transform_of(inertial)
            a = np.array([float(x) for x in text.split()]) @ T[:3, :3]
            i = {k: float(x) for e in inertial.iter("inertia") for k, x in e.items()}
            rows = [["ixx", "ixy", "ixz"], ["ixy", "iyy", "iyz"], ["ixz", "iyz", "izz"]]
            tensor = np.array([[i.get(key, 0.0) for key in row] for row in rows])
            lever = np.cross(a, T[:3, 3] @ T[:3, :3])
            moved[joint.attrib["name"]] += float(
                a @ tensor @ a + mass_of(link) * (lever @ lever)
            )
            name = end_of(joint, "parent")
    return moved


def _soles(root: ET.Element, tree: UrdfTree) -> dict[str, FloatArray]:
    """Return the lowest links and the corners (4, 3) of their lowest shapes."""
    world = _place_links(root, tree)
    bottoms: dict[str, tuple[float, FloatArray]] = {}
    for link in root.findall("link"):
        name = link.attrib["name"]
        T = world[name]
        bodies = [_corners(body) for body in link.findall("collision")]
        if not bodies:
            continue
        points = np.vstack(bodies) @ T[:3, :3].T + T[:3, 3]
        low = points[:, 2].min()
        points = points[points[:, 2] < low + SAME_HEIGHT]
        (x, y, _), (x2, y2, _) = points.min(axis=0), points.max(axis=0)
        ground = np.array([[x2, y2, low], [x2, y, low], [x, y2, low], [x, y, low]])
        bottoms[name] = (low, (ground - T[:3, 3]) @ T[:3, :3])
    if not bottoms:
        raise BadInput(
            f"{tree.path.name} has no collision shapes, so its soles are unknown; give "
            "the feet a <collision>."
        )
    lowest = min(low for low, _ in bottoms.values())
    soles = {n: p for n, (low, p) in bottoms.items() if low < lowest + SAME_HEIGHT}
    above = {end_of(j, "child"): end_of(j, "parent") for j in root.findall("joint")}
    for name in list(soles):  # an ankle above a foot is not a sole
        inner = above.get(name)
        while inner is not None:
            soles.pop(inner, None)
            inner = above.get(inner)
    return soles


def _write(path: Path, rows: Sequence[Mapping[str, object]], columns: str = "") -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        names = columns.split(",") if columns else list(rows[0])
        table = csv.DictWriter(file, names, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def _write_tables(
    folder: Path, root: ET.Element, tree: UrdfTree, soles: dict[str, FloatArray]
) -> None:
    guess = {"source": "guess", "status": "estimate"}
    limits = {j.attrib["name"]: j.find("limit") for j in root.findall("joint")}
    moved, legs = _moved_inertias(root, tree), set()
    above = {joint.child: joint for joint in tree.joints.values()}
    for sole in soles:
        link = sole
        while link in above:
            legs.add(above[link].name)
            link = above[link].parent
    joints, motors, types, one_node, two_node = [], [], [], [], []
    for name, joint in tree.moving.items():
        limit = limits[name]
        effort, speed = (
            float("nan" if limit is None else limit.get(key, "nan"))
            for key in ("effort", "velocity")
        )
        is_given = 0.0 < effort < 1e4 and 0.0 < speed < 1e3
        effort = effort if 0.0 < effort < 1e4 else 50.0
        speed = speed if 0.0 < speed < 1e3 else 10.0
        kp, Kt = effort / FULL_TORQUE_RAD, VOLT / (1.5 * speed * GEAR_RATIO)
        if name not in legs:
            kp = min(kp, ROTOR_OF_LOAD * max(moved[name], 1e-6) / ROTOR_OF_GAIN)
        kp = float(f"{kp:.6g}")
        R = VOLT * Kt * GEAR_RATIO / (1.5 * effort)
        joints.append(
            {
                "name": name,
                "motor": joint.mimics or name,
                "lower": joint.lower,
                "upper": joint.upper,
                "max_velocity": speed,
                "effort_limit": effort,
                "kp": kp,
                "kd": float(f"{0.02 * kp:.6g}"),
                "friction": 0.01 * effort,
                "presliding_stiffness": kp / 2.0,
                "servo_step": 0,
                "encoder_step": 0,
                "source": "urdf",
                "status": "published" if is_given else "estimate",
                "servo_status": "estimate",
            }
        )
        if joint.mimics:
            continue
        motors.append(
            {"name": name, "type": name, "gear_ratio": GEAR_RATIO, "one_node": name}
            | guess
        )
        types.append(
            {
                "type": name,
                "stall_torque": 1.5 * effort / GEAR_RATIO,
                "no_load_speed": 1.5 * speed * GEAR_RATIO,
                "torque_constant": Kt,
                "terminal_resistance": R,
                "rotor_inertia": ROTOR_OF_GAIN * kp / GEAR_RATIO**2,
            }
            | guess
        )
        one_node.append(
            {
                "group": name,
                "torque_constant": Kt * GEAR_RATIO,
                "resistance": R,
                "conductance": 0.4,
                "heat_capacity": 200,
                "ambient_degc": 30,
            }
            | guess
        )
        two_node.append(
            {
                "type": name,
                "joule_constant": R / Kt**2,
                "resistance_winding_housing": 0.5,
                "resistance_housing_ambient": 1.5,
                "time_constant_winding": 30,
                "time_constant_housing": 600,
                "max_winding_degc": 120,
            }
            | guess
        )
    contacts = [
        {"name": f"{link}_{k}", "link": link, "x": x, "y": y, "z": z}
        | {"effector": link, "fsr": ""}
        | guess
        for link, points in soles.items()
        for k, (x, y, z) in enumerate(points.round(6).tolist())
    ]
    zero = {n: min(max(0.0, j.lower), j.upper) for n, j in tree.moving.items()}
    for file, rows in (
        ("joints", joints),
        ("motors", motors),
        ("motor_types", types),
        ("heating_one_node", one_node),
        ("heating_two_node", two_node),
        ("contacts", contacts),
        ("postures", [{"name": "zero"} | zero | guess]),
    ):
        _write(folder / f"{file}.csv", rows)
    columns = "name,link,x,y,z,range_newton,step_newton,noise_newton,source,status"
    _write(folder / "force_sensors.csv", [], columns)


def _write_yaml(
    folder: Path,
    name: str,
    tree: UrdfTree,
    soles: dict[str, FloatArray],
    merged: dict[str, tuple[str, FloatArray]],
) -> None:
    feet = ", ".join(soles)
    at: tuple[str, FloatArray] = (tree.root, np.zeros(3))
    known = {link.name for link in tree.links}
    frames = [merged[n] for n in merged if "imu" in n.lower() and merged[n][0] in known]
    link, place = (frames or [at])[0]
    text = f"""# From {tree.path.name}. Numbers without comment are guesses.
name: {name}
urdf: {tree.path.name}
base_link: {tree.root}
total_mass: {sum(link.mass for link in tree.links):.6f} # of the URDF
thermal: estimate # Kt, R and heating of the motors are not known
contact_threshold: 0.010
feet: [{feet}]
groups:
  body: [{", ".join(tree.moving)}]
imu:
  link: {link}
  position: [{", ".join(f"{x:.6g}" for x in place)}]
  accelerometer_range: 156.9
  accelerometer_noise: 0.05
  accelerometer_gain_error: 0.01
  gyro_range: 34.9
  gyro_noise: 0.005
  gyro_gain_error: 0.01
sensor_rates:
  encoder_period: 0.002
  current_period: 0.002
  imu_period: 0.002
  fsr_period: 0.002
  temperature_period: 1.0
  current_noise: 0.05
  temperature_step: 1.0
battery:
  nominal_volt: {VOLT}
  max_volt: 54.6
  max_discharge_ampere: 20.0
  capacity_watt_hour: 400.0
typical_postures:
  zero: {{effectors: [{feet}], offset: 0.25}}
"""
    (folder / "robot.yaml").write_text(text, encoding="utf-8")
