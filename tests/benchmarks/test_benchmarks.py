"""The micro-benchmarks with tiny sizes: validity of the measurement."""

import math
import sys

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks import run_bench
from benchmarks.figures import Figure
from benchmarks.references import BareMutex
from benchmarks.reservations import (
    RequestCostCfg,
    ReservationBenchCfg,
    measure_reservations,
)
from benchmarks.transmitter import TransmitterBenchCfg, measure_transmitter
from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.models import Robot, TestbedError

RESERVATIONS = ReservationBenchCfg(
    blocks=2,
    block_s=0.002,
    costs=RequestCostCfg(
        resources=(5, 10), waiters=(1, 3), depths=(2, 3), blocks=2, repeats=2
    ),
)
TRANSMITTER = TransmitterBenchCfg(waiting=(2, 20), groups=8, blocks=2, block_s=0.002)
TARGETS = {
    "bare_over_pairs": None,
    "bare_over_questions": None,
    "bare_over_transmitter": None,
    "bare_pairs": None,
    "bare_slots": None,
    "bare_tests": None,
    "cost_depth_3": 2.0,
    "cost_set_executor_3": 2.0,
    "cost_owners_3": 2.0,
    "cost_resources_10": 2.0,
    "cost_size_32": 2.0,
    "cost_size_8": 2.0,
    "cost_waiters_3": 2.0,
    "gate_over_transmitter": None,
    "gate_questions": None,
    "gate_slots": None,
    "gated_commands": 200.0,
    "group_skew": 0.0,
    "reservation_pairs": 100.0,
    "transmitter_slots": 0.1,
    "transmitter_waiting": 1.5,
}
"""Figures with their targets."""
RATIOS = {name for name in TARGETS if "_over_" in name or name.startswith("cost_")}
OPTIONAL = {"spot_leases", "pairs_over_spot", "commands_over_spot"}


@pytest.fixture(scope="module")
def figures(nao: Robot) -> dict[str, Figure]:
    found = measure_reservations(nao, RESERVATIONS)
    found += measure_transmitter(nao, TRANSMITTER)
    assert len({one.name for one in found}) == len(found)
    return {one.name: one for one in found}


@pytest.mark.requirement("ST-21")
def test_every_figure_is_finite_and_states_its_target(
    figures: dict[str, Figure],
) -> None:
    targets = {name: figures[name].target for name in figures.keys() - OPTIONAL}
    assert targets == TARGETS
    for name, one in figures.items():
        assert math.isfinite(one.value), one
        assert one.low <= one.value <= one.high, one
        assert one.value > 0.0 or name == "group_skew", one
    at_least = {n for n, f in figures.items() if f.is_at_least and f.target}
    assert at_least == {"reservation_pairs", "gated_commands", "transmitter_slots"}
    assert {figures[n].unit for n in (*RATIOS, "transmitter_waiting")} == {"1"}


@pytest.mark.requirement("SY-12", "I-23")
def test_no_measured_group_is_split(figures: dict[str, Figure]) -> None:
    skew = figures["group_skew"]
    assert (skew.low, skew.value, skew.high, skew.blocks) == (0, 0, 0, 8)


def test_the_command_shows_one_part(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    figures: dict[str, Figure],
) -> None:
    monkeypatch.setattr(
        run_bench, "measure_transmitter", lambda *_: [figures["transmitter_slots"]]
    )
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--only", "transmitter"])
    with pytest.raises(SystemExit) as end:
        benchmarks.main()
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert "≥ 0.1 k/s" in shown
    assert "request + release" not in shown


def test_the_bare_mutex_is_an_arbiter() -> None:
    """Otherwise the comparison would be invalid."""
    bare = BareMutex()
    token = bare.take("TTS")
    assert token is not None
    assert bare.take("TTS") is None
    assert bare.is_valid("TTS", token)
    assert not bare.is_valid("TTS", bytes(8))
    assert not bare.is_valid("TTS", None)
    assert not bare.release("TTS", bytes(8))
    assert bare.release("TTS", token)
    assert not bare.is_valid("TTS", token)
    assert bare.take("TTS") is not None


def test_a_gate_without_writes_is_not_measured(
    nao: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Gate, "flush", lambda *_: ())
    with pytest.raises(TestbedError, match="did not write each slot"):
        measure_reservations(nao, RESERVATIONS)
    with pytest.raises(TestbedError, match="no items in some slots"):
        measure_transmitter(nao, TRANSMITTER)


def test_without_a_library_only_its_figures_are_missing(
    nao: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.references.find_spec", lambda _: None)
    found = {one.name for one in measure_reservations(nao, RESERVATIONS)}
    assert "gated_commands" in found
    assert not found & OPTIONAL
