"""Transmitter settings of a scenario determine when a group starts."""

from dataclasses import replace

import pytest

from nao_testbed.experiments.scenarios.playing.runner import run_scenario
from tests.experiments.scenarios.helpers import Load

SCENARIO = """
posture: Stand
transmitter: {settings}
motions: {{look: {{from: Crouch, angles_deg: {{HeadYaw: [[0.4, 10]]}}}}}}
lights: {{green: {{steps: [{{at_s: 0, leds: [Chest], colour: "#00ff00"}}]}}}}
sounds: {{hi: {{text: Hi}}}}
commands:
  hello:
    {{motion: look, light: green, sound: hi,
     points: {{motion: 20, light: 10, sound: 70}}}}
behaviours:
  - {{name: a, schema: move, with: {{command: hello}}, needs: [All motors, Chest, TTS]}}
expect:
  - {{group: hello, starts_after: initial motion, empty_slots: {empty}}}
  - {{happens: {{group_ended: hello, reason: done}}}}
"""


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("SY-21", "SY-22")
@pytest.mark.parametrize(
    ("settings", "empty"),
    [
        ("{enable: expected}", 0),
        ("{enable: early, early_s: 0.3}", 0),
        # The command's delay of one slot, and 0.10 s for the sound.
        ("{enable: at end}", 11),
        ("{enable: expected, late_s: {sound: 0.3}}", 30),
        ("{enable: at end, late_s: {sound: 0.3}}", 41),
        ("{enable: at end, conversion_s: {sound: 0.2}}", 21),
        (
            "{buses: {a: [motion], b: [light], c: [sound]}, mode: elected, "
            "enable: at end, late_s: {sound: 0.3}}",
            41,
        ),
    ],
)
def test_group_starts_as_late_as_the_settings_require(
    load: Load, settings: str, empty: int
) -> None:
    scenario = load(SCENARIO.format(settings=settings, empty=empty))
    run = run_scenario(replace(scenario, duration_ticks=300), proves=False)
    assert run.result.all_hold, [verdict.seen for verdict in run.result.verdicts]
