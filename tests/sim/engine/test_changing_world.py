"""Changes of the world during a stand: ground, temperature, pushes."""

import numpy as np
import pytest

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

UP = np.array([0.0, 0.0, 0.0, 1.0])


def stand(robot: Robot, world: WorldCfg | None = None) -> SimulatedRobot:
    cfg = SimulationCfg(world=world or WorldCfg())
    return SimulatedRobot(robot, cfg, "StandInit")


@pytest.mark.slow
def test_a_slowly_tilted_ground_equals_a_fixed_slope(nao: Robot) -> None:
    """The centre of pressure moves as if the robot had been placed on that slope."""
    turned, placed = stand(nao), stand(nao, WorldCfg(slope_deg=2.0))
    try:
        for slope in np.linspace(0.0, 2.0, 101)[1:]:
            turned.engine.set_ground(0.7, float(slope))
            turned.step(10)
        for sim in (turned, placed):
            sim.step(1500)
        assert not turned.has_fallen()
        np.testing.assert_allclose(
            turned.engine.ground_normal, placed.engine.ground_normal
        )
        up_turned = turned.truth().base_quaternion
        assert 2.0 * np.arcsin(abs(up_turned[1])) > np.deg2rad(1.0), "no lean"
        load = [sim.read().fsr.sum() for sim in (turned, placed)]
        # 53 N of weight; the feet stick in a different state.
        np.testing.assert_allclose(load[0], load[1], atol=2.0)
    finally:
        turned.close()
        placed.close()


def test_without_friction_a_slope_lets_the_robot_slide(nao: Robot) -> None:
    """Distance from rest: s = g sin(α) t² / 2."""
    sim = stand(nao, WorldCfg(slope_deg=5.0, friction=0.9))
    try:
        sim.step(500)
        before = sim.truth().base_position
        sim.engine.set_ground(0.0, 5.0)
        sim.step(300)
        moved = float(np.linalg.norm(sim.truth().base_position - before))
        expected = 0.5 * 9.81 * np.sin(np.deg2rad(5.0)) * 0.3**2
        assert moved == pytest.approx(expected, rel=0.1)
    finally:
        sim.close()


def test_a_motor_cools_from_a_set_temperature(nao: Robot) -> None:
    sim = stand(nao)
    try:
        motor = nao.motor_names.index("HeadYaw")
        energy = sim.heating.joule_energy.copy()
        others = np.delete(sim.heating.temperature, motor)
        sim.set_temperature("HeadYaw", 80.0)
        assert sim.heating.temperature[motor] == pytest.approx(80.0)
        np.testing.assert_array_equal(np.delete(sim.heating.temperature, motor), others)
        np.testing.assert_array_equal(sim.heating.joule_energy, energy)
        assert sim.read().temperature[motor] == pytest.approx(80.0, abs=1.0)
        sim.advance_heat(np.zeros(len(nao.motors)), 60.0)
        assert 30.0 < sim.heating.temperature[motor] < 80.0
        with pytest.raises(UnknownName, match="Did you mean 'HeadYaw'"):
            sim.set_temperature("HeadYow", 50.0)
        with pytest.raises(BadInput, match="5000"):
            sim.set_temperature("HeadYaw", 5000.0)
    finally:
        sim.close()


def test_a_push_at_the_centre_of_mass_gives_its_momentum(nao: Robot) -> None:
    """In the air a force F during t changes the total momentum by F t."""
    sim = stand(nao, WorldCfg(gravity=0.0))
    try:
        masses = np.array([link.mass for link in nao.links])

        def momentum() -> np.ndarray:
            v = [sim.engine.link_twist(link.name)[0] for link in nao.links]
            return np.asarray(masses @ np.array(v))

        sim.engine.set_ground(0.0, 0.0)
        before = momentum()
        force = np.array([3.0, 1.0, 20.0])
        for _ in range(100):
            sim.push_com("torso", force)
            sim.step(1)
        np.testing.assert_allclose(momentum() - before, force * 0.1, atol=0.02)
    finally:
        sim.close()


@pytest.mark.parametrize("name", ["pybullet", "mujoco"])
def test_a_pending_push_is_part_of_a_snapshot(nao: Robot, name: EngineName) -> None:
    """The push acts once after each restore; one after the snapshot does not act."""
    engine = make_engine(nao, WorldCfg(engine=name, gravity=0.0))
    try:
        engine.place(nao.posture("Stand").angles, np.array([0.0, 0.0, 2.0]), UP)

        def momenta() -> list[float]:
            """Return the robot's forward momentum after each of four steps, in N·s."""
            found = []
            for _ in range(4):
                engine.step()
                found.append(
                    float(masses @ [engine.link_twist(x)[0][0] for x in links])
                )
            return found

        def push() -> None:
            engine.push("torso", np.array([15.0, 0.0, 0.0]), engine.link_com("torso"))

        links = [link.name for link in nao.links]
        masses = np.array([link.mass for link in nao.links])
        calm = engine.save()
        push()
        pushed = engine.save()
        first = momenta()
        for _ in range(2):
            push()
            engine.restore(pushed)
            assert momenta() == first
        np.testing.assert_allclose(first, 0.015, rtol=1e-3)
        push()
        engine.restore(calm)
        assert momenta() == [0.0] * 4
    finally:
        engine.close()


@pytest.mark.parametrize("force", [[1.0, 2.0], 1.0])
@pytest.mark.parametrize("name", ["pybullet", "mujoco"])
def test_an_invalid_push_is_rejected_and_not_queued(
    nao: Robot, name: EngineName, force: object
) -> None:
    sim = stand(nao, WorldCfg(engine=name))
    try:
        for push in (sim.push, sim.push_com):
            with pytest.raises(BadInput, match="three numbers"):
                push("torso", np.asarray(force))
        sim.step(1)
        assert np.isfinite(sim.q).all()
    finally:
        sim.close()


@pytest.mark.slow
@pytest.mark.scenario
def test_a_looser_solver_gives_the_same_stand(nao: Robot) -> None:
    """Compare 20 s with feet pressed against each other on both settings.

    The touch-down differs slightly; afterwards the feet do not creep on either.
    """
    worlds = (WorldCfg(), WorldCfg(solver_residual=1e-5))
    tau2, angles, crept = [], [], []
    for world in worlds:
        cfg = SimulationCfg(world=world, misalignment_deg={"LAnklePitch": 2.0})
        sim = SimulatedRobot(nao, cfg, "PoseInit")
        sim.step(2_000)
        settled = sim.truth().q
        sim.step(18_000)
        tau2.append(sim.mean_square.sum())
        angles.append(sim.truth().q)
        crept.append(np.abs(angles[-1] - settled).max())
        sim.close()
    assert tau2[1] == pytest.approx(tau2[0], rel=1e-3)
    assert not np.array_equal(angles[0], angles[1]), "the setting had no effect"
    assert max(crept) < np.deg2rad(0.001), crept
