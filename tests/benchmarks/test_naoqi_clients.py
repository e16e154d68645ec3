"""Clients of `naoqi serve`: every cycle runs, and the server ends."""

import multiprocessing
import sys
from pathlib import Path

import pytest

pytest.importorskip("qi", reason="the extra naoqi is not installed")
from benchmarks import naoqi_clients
from benchmarks.naoqi_clients import OTHERS, company, compare, main, measure, soak
from nao_testbed.models import TestbedError


@pytest.mark.slow
def test_two_clients_run_every_cycle_and_the_server_ends(tmp_path: Path) -> None:
    found = measure(2, 1.0, tmp_path)
    assert [one["due"] for one in found["clients"]] == [50, 50]
    assert all(0.0 < one["median_ms"] <= one["worst_ms"] for one in found["clients"])
    assert found["server"]["clients"] == 2
    assert found["server"]["exit_code"] == 143
    assert found["server"]["before"]["threads"] >= 1


@pytest.mark.slow
def test_a_client_is_compared_with_itself_beside_others(tmp_path: Path) -> None:
    found = compare(1, 0.5, tmp_path)
    assert found["alone"]["ratio"] == 1.0
    assert found["20 clients"]["counts"][0] >= OTHERS
    calls, connections = found["hostile"]["counts"]
    assert calls == 10 * connections > 0
    assert all(one["median_ms"] > 0.0 for one in found.values())


@pytest.mark.slow
def test_clients_come_and_die_and_the_server_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seconds in {"CYCLE_S": 3.0, "MEASURED_S": 0.5, "PAUSE_S": 0.1}.items():
        monkeypatch.setattr(naoqi_clients, name, seconds)
    found = soak(2, tmp_path)
    assert found["hostile_calls"] == 10 * found["connections"] > 0
    assert found["cycles_of_20"] > 20
    assert found["killed"] == 2
    assert found["exit_code"] == 143
    assert found["clients"] > 2 * (20 + 1 + 1)
    assert capsys.readouterr().out.count('"minute"') == 2


def leave(*_given: object) -> None:
    """Leave at once, as a program that cannot connect."""


def test_clients_that_leave_too_early_are_reported() -> None:
    counts = multiprocessing.get_context("spawn").Array("q", 2)
    with (
        pytest.raises(TestbedError, match="ended too early"),
        company(leave, "", counts),
    ):
        pass


@pytest.mark.parametrize(
    ("option", "value"),
    [("--clients", "0"), ("--blocks", "0"), ("--seconds", "nan"), ("--minutes", "0")],
)
def test_a_value_out_of_range_is_refused(
    option: str,
    value: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["naoqi_clients", option, value])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert f"{option} is {value}; give a " in capsys.readouterr().err
