"""Shell completion: the program prints one candidate per line."""

import sys
from pathlib import Path

import pytest

from nao_testbed.experiments.cli import main

TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"


@pytest.mark.parametrize(
    ("line", "candidates"),
    [
        ("heat --posture Stand", ["StandInit", "StandZero", "Stand"]),
        (f"heat --robot {TWO_LEG} --posture ", ["Stand", "Straight"]),
        ("heat --controllers fixed,sm", ["fixed,smart"]),
        ("heat --misalign LAn", ["LAnklePitch=", "LAnkleRoll="]),
        ("heat --preset d", ["document"]),
        ("heat --heating ", ["one-node", "two-node", "bare-motor"]),
        ("naoqi serve --engine m", ["mujoco"]),
        ("sweep fifty", ["fifty_robots", "fifty_robots_pushed"]),
        ("scenario run hot", ["hot_dance"]),
        ("live hot", ["hot_dance"]),
        ("posture-search PoseI", ["PoseInit"]),
        ("posture-search Stand --keep LAn", ["LAnklePitch", "LAnkleRoll"]),
        ("identify log.csv --joint LAn", ["LAnklePitch", "LAnkleRoll"]),
        ("xray --posture PoseI", ["PoseInit"]),
        ("xray --engine m", ["mujoco"]),
        ("xray --feet a", ["anywhere"]),
    ],
)
def test_completion_returns_the_values(
    line: str,
    candidates: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = f"nao-testbed {line}"
    monkeypatch.setattr(sys, "argv", ["nao-testbed"])
    monkeypatch.setenv("_NAO_TESTBED_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.split() == candidates
