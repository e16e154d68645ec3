"""A push is a force on a link from its start to its end."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import (
    Push,
    TrialCfg,
    check_in_time,
    check_pushes,
    pusher,
    run_trial,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from tests.messages import Messages, each


@pytest.mark.parametrize(
    ("direction_deg", "force_n"),
    [
        (0.0, (4.0, 0.0, 0.0)),
        (90.0, (0.0, 4.0, 0.0)),
        (180.0, (-4.0, 0.0, 0.0)),
        (-90.0, (0.0, -4.0, 0.0)),
    ],
)
def test_a_direction_turns_from_front_to_left(
    direction_deg: float, force_n: tuple[float, ...]
) -> None:
    push = Push.towards(direction_deg, 4.0)
    assert_allclose(push.force_n, force_n, atol=1e-12)


def test_a_push_after_the_end_is_rejected() -> None:
    """Otherwise a controller would seem to withstand a push that never acted."""
    push = Push(at_s=5.0, duration_s=0.2)
    check_in_time((push,), 5.2)
    with pytest.raises(BadInput, match=r"ends at 5.2 s, .* lasts 5.1 s"):
        check_in_time((push,), 5.1)


def test_without_pushes_there_is_no_callback(two_leg: Robot) -> None:
    assert pusher((), two_leg) is None


def test_momentum_is_force_times_duration(two_leg: Robot) -> None:
    """In free fall nothing else acts along x: m v = F t."""
    world = WorldCfg(gravity=0.0, friction=0.0)
    sim = SimulatedRobot(two_leg, SimulationCfg(world=world), "Stand")
    try:
        push = Push(at_s=0.02, duration_s=0.05, force_n=(2.0, 0.0, 0.0))
        disturb = pusher((push,), two_leg)
        assert disturb is not None
        for _ in range(100):
            disturb(sim)
            sim.step(1)
        momentum = sum(
            link.mass * sim.engine.link_twist(link.name)[0][0] for link in two_leg.links
        )
    finally:
        sim.close()
    assert_allclose(momentum, 2.0 * 0.05, rtol=0.02)  # links turn about their own axes


@pytest.mark.slow
def test_fast_forward_waits_for_the_push(two_leg: Robot) -> None:
    cfg = TrialCfg(
        controller="fixed",
        robot_folder=two_leg.folder,
        posture="Stand",
        duration_s=60.0,
        simulation=SimulationCfg(),
        fast_forward=FastForwardCfg(not_before_s=3.0),
        pushes=(Push(at_s=8.0, force_n=(0.0, 0.0, -1.0)),),
    )
    result = run_trial(cfg)
    assert not result.fell
    assert 11.2 <= result.physics_s < 30.0
    assert np.isclose(result.sim_s, 60.0)


def test_messages(messages: Messages, two_leg: Robot) -> None:
    messages(
        a_push_without_meaning=each(
            Push,
            at_s=[-1.0, float("nan")],
            duration_s=[0.0],
            force_n=[(1.0, float("inf"), 0.0), (1.0, 0.0)],
        ),
        a_direction_or_size_out_of_range=each(
            Push.towards,
            (361.0, 1.0),
            (float("nan"), 1.0),
            (0.0, -1.0),
            (0.0, 10_001.0),
            (0.0, float("nan")),
        ),
        an_unknown_link=lambda: check_pushes((Push(link="torzo"),), two_leg),
    )
