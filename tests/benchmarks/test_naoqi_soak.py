"""Long test of `naoqi serve`: a short one."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("qi", reason="the extra naoqi is not installed")
from benchmarks import naoqi_soak


@pytest.mark.slow
def test_clients_come_and_die_and_the_server_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, seconds in {"CYCLE_S": 3.0, "MEASURED_S": 0.5, "PAUSE_S": 0.1}.items():
        monkeypatch.setattr(naoqi_soak, name, seconds)
    found = naoqi_soak.soak(2, tmp_path)
    assert found["hostile_calls"] == 10 * found["connections"] > 0
    assert found["cycles_of_20"] > 20
    assert found["killed"] == 2
    assert found["exit_code"] == 143
    assert found["clients"] > 2 * (20 + 1 + 1)
    assert capsys.readouterr().out.count('"minute"') == 2


@pytest.mark.parametrize("value", ["0", "1441"])
def test_minutes_out_of_range_are_refused(
    value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["naoqi_soak", "--minutes", value])
    with pytest.raises(SystemExit) as end:
        naoqi_soak.main()
    assert end.value.code == 2
    assert f"--minutes is {value}; give a whole number" in capsys.readouterr().err
