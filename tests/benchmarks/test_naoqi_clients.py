"""Clients of `naoqi serve`: every cycle runs, and the server ends."""

from pathlib import Path

import pytest

pytest.importorskip("qi", reason="the extra naoqi is not installed")
from benchmarks.naoqi_clients import measure


@pytest.mark.slow
def test_two_clients_run_every_cycle_and_the_server_ends(tmp_path: Path) -> None:
    found = measure(2, 1.0, tmp_path)
    assert [one["due"] for one in found["clients"]] == [50, 50]
    assert all(0.0 < one["median_ms"] <= one["worst_ms"] for one in found["clients"])
    assert found["server"]["clients"] == 2
    assert found["server"]["exit_code"] == 143
    assert found["server"]["before"]["threads"] >= 1
