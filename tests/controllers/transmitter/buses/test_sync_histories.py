"""Random histories of streams violate no invariant."""

import random
from collections.abc import Sequence
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import Executed
from nao_testbed.controllers.transmitter.buses.bus import Watch
from nao_testbed.controllers.transmitter.receipt import EndReason, NotReceived
from nao_testbed.models import Robot
from tests.controllers.transmitter.buses.histories import Life, run_history
from tests.controllers.transmitter.transmitter_world import BUSES

T = TypeVar("T")
HISTORIES, STEPS = 300, 30
WAYS = [(buses, watch) for buses in BUSES for watch in Watch]


class Seeded:
    """Chooses by a seeded generator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def choose(self, options: Sequence[T]) -> T:
        return self._random.choice(options)


class Drawn:
    """Chooses by hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def choose(self, options: Sequence[T]) -> T:
        return self._data.draw(st.sampled_from(options))


@pytest.mark.slow
@pytest.mark.requirement(
    "SY-8", "SY-14", "SY-15", "SY-18", "SY-24", "I-23", "I-24", "SY-4", "SY-13"
)
def test_random_histories_pass_all_invariants(nao: Robot) -> None:
    """Together they contain every end reason and every refusal."""
    reasons: set[EndReason | None] = set()
    refusals: set[NotReceived | None] = set()
    for seed in range(HISTORIES):
        life = Life(nao, *WAYS[seed % len(WAYS)])
        try:
            run_history(life, Seeded(seed), STEPS)
        except AssertionError as error:
            error.add_note(f"in history {seed}")
            raise
        reasons |= {receipt.reason for receipt in life.receipts}
        refusals |= {receipt.refused for receipt in life.receipts}
    assert reasons == set(EndReason)
    assert refusals == {None, *NotReceived}


@given(data=st.data(), way=st.sampled_from(WAYS))
@settings(
    max_examples=40,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@pytest.mark.requirement("I-23", "I-24", "SY-13")
def test_small_drawn_histories_pass_all_invariants(
    nao: Robot, data: st.DataObject, way: tuple[str, Watch]
) -> None:
    life = Life(nao, *way)
    run_history(life, Drawn(data), 12)


@pytest.mark.slow
@pytest.mark.requirement("SY-24")
def test_buses_and_watch_mode_do_not_change_the_slots(nao: Robot) -> None:
    """The same history on one, two and three buses, watching and elected."""
    for seed in range(20):
        lives = []
        for buses, watch in WAYS:
            life = Life(nao, buses, watch)
            life.may_close = False
            run_history(life, Seeded(seed), STEPS)
            receipts = [(x.started_tick, x.ended_tick) for x in life.receipts]
            written = [(x.tick, x.resource) for x in life.stage.told(Executed)]
            lives.append((receipts, sorted(written)))
        assert all(life == lives[0] for life in lives)
