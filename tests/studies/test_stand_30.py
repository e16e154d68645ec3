"""Tables of Stand-30 from made-up trials."""

from pathlib import Path

import pandas as pd
import pytest

from nao_testbed.models import BadInput
from studies.stand_30 import Stand30Cfg, run_stand_30, tables

PLAIN, COOL = "policy:/a/ppo_g1_29dof.onnx", "policy:/a/ppo_g1_29dof.onnx+cool=nudge"


def made_up(robots: int = 3) -> pd.DataFrame:
    """Return trials of robots, of which the third falls without a shift."""
    rows = []
    for engine, gain in (("mujoco", 1.0), ("pybullet", 1.2)):
        for robot in range(robots):
            for text in (PLAIN, COOL):
                is_cool = text == COOL
                fell = robot == 2 and not is_cool
                watts = (20.0 if is_cool else 40.0 + 10.0 * robot) * gain
                rows.append(
                    {
                        "robot": robot,
                        "controller": text,
                        "engine": engine,
                        "error": None,
                        "fell": fell,
                        "legs_power_w": None if fell else watts,
                        "least_power_w": None if fell else 10.0 * gain,
                        "power_w.knee": 5.0,
                        "least_w.knee": 4.0,
                        "power_w.ankle": 30.0,
                        "least_w.ankle": 6.0,
                        "hottest_degc": 70.0 + 20.0 * robot,
                        "time_to_80_degc_s.knee": None,
                        "time_to_80_degc_s.ankle": 600.0 if robot == 1 else None,
                        "drift_m": 0.03 if is_cool else 0.01,
                        "accepted_share": 0.5 if is_cool and robot else None,
                    }
                )
    return pd.DataFrame(rows)


def rows_of(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def first_of(table: str) -> list[str]:
    """Return the cells of the first row, on the first engine."""
    return [cell.split(" · ")[0] for cell in rows_of(table)[0]]


def test_values_are_those_of_robots_that_stand() -> None:
    heat, cool, agreement = tables([made_up()])
    assert first_of(heat) == [
        "ppo_g1",
        "3",
        "1",
        "40.0, 50.0",
        "10.0, 10.0",
        "75, 80",
        "ankle, 24.0 W (2 of 2)",
        "70.0, 90.0",
        "ankle, 10.0 min (1 of 2)",
        "1.0, 1.0",
    ]
    assert first_of(cool) == [
        "ppo_g1+cool=nudge",
        "0",
        "0.50, 0.40",
        "0.50, 0.50",
        "1",
        "2.0, 2.0, 2.0",
    ]
    assert rows_of(agreement) == [
        ["ppo_g1", "2", "1.20, 1.20", "0 of 2"],
        ["ppo_g1+cool=nudge", "3", "1.20, 1.20, 1.20", "0 of 3"],
    ]


def test_five_robots_have_a_median_and_a_band() -> None:
    heat, cool, _ = tables([made_up(6)])
    assert rows_of(heat)[0][1:3] == ["6 · 6", "1 · 1"]
    assert first_of(heat)[3] == "70.0 (42.0 to 88.0)"
    assert first_of(cool)[2] == "0.29 (0.23 to 0.48)"


def test_pushes_have_their_own_table() -> None:
    pushed = made_up()
    pushed["push.size_n"] = 100.0
    (table,) = tables([pushed])
    assert first_of(table) == [
        "ppo_g1",
        "3",
        "3",
        "1",
        "33",
        "40.0, 50.0",
    ]


def test_a_policy_on_one_engine_has_no_agreement() -> None:
    frame = made_up()
    found = list(tables([frame[frame["engine"] == "mujoco"]]))
    assert len(rows_of(found[-1])) == 0


def test_a_folder_without_sweeps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no folder stand_30_g1"):
        run_stand_30(Stand30Cfg(out=tmp_path, robots=0, pushed=0))
