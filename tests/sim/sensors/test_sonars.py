"""Sonars: distance of a wall, absence of echoes, no side effects."""

import dataclasses
from typing import cast

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.sensors import SensorCfg
from nao_testbed.sim.sensors.sonars import Sonars, cone_rays
from tests.sim.conftest import Simulate

EXACT = SimulationCfg(sensors=SensorCfg(noise=False, resolution=False))
GAP = np.deg2rad(10.1)  # rad: no direction of the cone is farther from a ray
PERIOD = 100  # ticks


def put_wall(
    sim: SimulatedRobot,
    ahead: float,
    y: float = 0.0,
    width: float = 3.0,
    turn: float = 0.0,
) -> None:
    """Put a wall with its middle `ahead` of the world's origin."""
    from nao_testbed.sim.engine.bullet import p
    from nao_testbed.sim.engine.bullet_engine import BulletEngine

    assert isinstance(sim.engine, BulletEngine)
    client = sim.engine._client
    size = [0.05, width / 2.0, 0.5]
    shape = p.createCollisionShape(p.GEOM_BOX, halfExtents=size, physicsClientId=client)
    p.createMultiBody(
        baseCollisionShapeIndex=shape,
        basePosition=[ahead + 0.05, y, 0.5],
        physicsClientId=client,
    )


def places(sim: SimulatedRobot) -> FloatArray:
    """Return where the sonars are in the world, (n_sonars, 3)."""
    position, R = sim.engine.link_pose("torso")
    return np.array([position + R @ one.position for one in sim.robot.sonars])


def test_an_empty_room_gives_no_echo(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, EXACT, "Stand")
    assert_array_equal(sim.read().sonar, [2.55, 2.55])
    sim.step(PERIOD)
    assert_array_equal(sim.read().sonar, [2.55, 2.55])


@pytest.mark.requirement("JD-23")
@pytest.mark.parametrize("ahead", [0.4, 1.0, 2.0])
def test_a_wall_is_measured_at_its_distance(
    nao: Robot, simulate: Simulate, ahead: float
) -> None:
    """Rays are `GAP` apart, so r <= d / cos(GAP)."""
    sim = simulate(nao, EXACT, "Stand")
    put_wall(sim, ahead)
    sim.step(PERIOD)
    distance = ahead - places(sim)[:, 0]
    heard = sim.read().sonar
    assert (heard >= distance - 1e-6).all()
    assert (heard <= distance / np.cos(GAP)).all()


def test_an_object_on_the_left_reads_on_the_left(
    nao: Robot, simulate: Simulate
) -> None:
    sim = simulate(nao, EXACT, "Stand")
    put_wall(sim, 0.8, y=0.6, width=0.5)
    sim.step(PERIOD)
    left, right = sim.read().sonar
    assert left < 1.2
    assert right == 2.55


class Facets:
    """Every ray hits a surface at 1 m whose normal is turned by an angle."""

    def __init__(self, degrees: float) -> None:
        self.turn = rotation_from_rpy(np.array([0.0, 0.0, np.deg2rad(degrees)]))

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        return np.zeros(3), np.eye(3)

    def cast(
        self, origin: FloatArray, directions: FloatArray, reach: float
    ) -> tuple[FloatArray, FloatArray]:
        flat = directions * (1.0, 1.0, 0.0)  # so that a turn about z is the incidence
        flat /= np.linalg.norm(flat, axis=1)[:, None]
        return np.ones(len(directions)), -flat @ self.turn.T


@pytest.mark.parametrize(("degrees", "heard"), [(0.0, 1.0), (30.0, 1.0), (46.0, 2.55)])
def test_an_oblique_surface_gives_no_echo(
    nao: Robot, degrees: float, heard: float
) -> None:
    """Up to 45 degrees of incidence there is an echo."""
    sonar = np.zeros(2)
    Sonars(nao, resolution=False).read(cast(Engine, Facets(degrees)), sonar)
    assert_array_equal(sonar, [heard, heard])


def test_the_robot_gives_no_echo(nao: Robot, simulate: Simulate) -> None:
    """In StandZero both arms are stretched forward into the beams."""
    sim = simulate(nao, EXACT, "StandZero")
    assert_array_equal(sim.read().sonar, [2.55, 2.55])


def test_too_near_reads_the_minimum_range(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, EXACT, "Stand")
    put_wall(sim, 0.15)
    sim.step(PERIOD)
    assert_array_equal(sim.read().sonar, [0.20, 0.20])


def test_readings_come_in_steps_and_ten_times_a_second(
    nao: Robot, simulate: Simulate
) -> None:
    sim = simulate(nao, SimulationCfg(), "Stand")
    put_wall(sim, 1.0)
    sim.step(PERIOD - 1)
    assert_array_equal(sim.read().sonar, [2.55, 2.55])
    sim.step(1)
    heard = sim.read().sonar
    assert (heard < 1.1).all()
    assert_allclose(np.rint(heard / 0.01) * 0.01, heard, atol=1e-12)


def test_sonar_changes_no_state(nao: Robot, simulate: Simulate) -> None:
    """The run equals that of a robot without sonars bit for bit."""
    ends = []
    for robot in (nao, dataclasses.replace(nao, sonars=())):
        sim = simulate(robot, SimulationCfg(), "Stand")
        sim.step(300)
        truth, seen = sim.truth(), sim.read()
        ends.append([truth.q, truth.v, truth.motor_torque, seen.gyro, seen.current])
    for mine, its in zip(*ends, strict=True):
        assert_array_equal(mine, its)


def test_the_rays_fill_the_cone() -> None:
    """No direction inside is farther than `GAP` from a ray, none leaves the cone."""
    rays = cone_rays(np.deg2rad(60.0))
    assert_allclose(np.linalg.norm(rays, axis=1), 1.0, atol=1e-12)
    assert np.arccos(rays[:, 0]).max() == pytest.approx(np.deg2rad(30.0))
    rng = np.random.default_rng(0)
    z = rng.uniform(np.cos(np.deg2rad(30.0)), 1.0, 4000)
    turn = rng.uniform(0.0, 2.0 * np.pi, 4000)
    across = np.sqrt(1.0 - z**2)
    inside = np.stack([z, across * np.cos(turn), across * np.sin(turn)], axis=1)
    nearest = np.arccos(np.clip((inside @ rays.T).max(axis=1), -1.0, 1.0))
    assert nearest.max() < GAP
