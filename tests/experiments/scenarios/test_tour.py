"""The scenario of the tour runs as printed there."""

import re
from pathlib import Path

import pytest

from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from nao_testbed.experiments.scenarios.reading.load import load_scenario

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow(covers=True)
@pytest.mark.scenario
@pytest.mark.requirement("SY-1", "SY-9")
def test_tour_scenario_holds_and_prints_the_documented_text(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "start" / "tour.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.M | re.S)
    path = tmp_path / "hello.yaml"
    path.write_text(block, encoding="utf-8")
    run = run_scenario(load_scenario(path), tmp_path)
    assert run.result.all_hold
    for verdict in run.result.verdicts[:-1]:  # the last are the invariants
        # Its row: line of the file, start of the expectation, value seen.
        begin = verdict.expectation.partition(",")[0]
        row = f"{verdict.line} {begin}"
        pattern = rf"^ *{re.escape(row.strip())}.* holds +{re.escape(verdict.seen)}"
        assert re.search(pattern.replace(r"\ ", r"\s+"), text, flags=re.M), row
    assert (tmp_path / "sound.wav").stat().st_size > 6 * 16_000 * 2 * 0.9
