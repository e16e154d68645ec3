"""The JSON Schema of scenario files accepts what the loader accepts."""

from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped] # ships no types
import pytest

from nao_testbed.experiments.common.form_parts import plain
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS
from nao_testbed.experiments.scenarios.reading.scenario_file import (
    ScenarioFile,
    scenario_schema,
)
from nao_testbed.models.files.yaml_forms import read_file
from nao_testbed.models.files.yaml_tree import read_tree
from tests.experiments.scenarios.helpers import HEAD
from tests.experiments.scenarios.reading import test_bad_files as bad

DRAFT = jsonschema.Draft202012Validator
SHIPPED = sorted(SCENARIOS.folder.glob("*.yaml"))

RIGHT = """
robot: nao
body: H25
world: {friction: 0.7, slope_deg: 2}
simulation: {misalignment_deg: {LAnklePitch: 1.0}, start_degc: {HeadYaw: 60}}
reservations: {preemption: by_priority, retry_s: 0.5}
transmitter: {buses: {main: [motion, light, sound]}, enable: at end, ttl_s: 5}
motions:
  tilt:
    from: Stand
    interpolation: linear
    postures: [[1.5, Stand]]
    joints: [Legs]
    angles_deg: {HeadPitch: [[0.5, 20], [1, 0]]}
    stops_s: [1.0]
lights: {eyes: {steps: [{at_s: 0, leds: [Left eye], colour: "#00ff00", fade_s: 0.3}]}}
sounds: {hi: {text: Hi, volume: 0.5}, beep: {tone_hz: 440, length_s: 0.2}}
commands: {hello: {light: eyes, sound: hi, points: {light: 30, sound: 70}}}
transitions: [{from: Stand, to: Crouch, motion: tilt}]
behaviours:
  - {name: a, schema: example, needs: [Head], policy: lock, priority: 0, start_s: 0}
  - name: life
    schema: choose
    start: waits
    policy: {name: pause, within_s: 0.5}
    children: [{name: b, schema: example, rates: {CPU: 10}}]
events:
  - {at_s: 5.0, start: life, name: go}
  - {when: {degc_above: {HeadYaw: 75}}, after_s: 1, say: I am hot}
  - {at_s: 1, push: {link: torso, newton: [30, 0, 0], for_s: 0.2}}
  - {at_s: 1, ground: {friction: 0.3}}
expect:
  - {at_s: 0.8, holds: {HeadYaw: a, LHand: null}, waiters: {HeadYaw: [b]}}
  - {happens: {group_ended: hello, reason: done}, at_s: 1.7}
  - {never: {fallen: true}}
  - {order: [{started: a}, {said: Hi}]}
  - {joint: [Head, Legs], degc_below: 80}
  - {group: hello, starts_after: initial motion, empty_slots: 0, skew_slots: 0}
  - {owner: a, executed: [1, 9], refused: 0}
"""


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = scenario_schema()
    DRAFT.check_schema(schema)
    assert schema["$schema"] == DRAFT.META_SCHEMA["$id"]
    return DRAFT(schema)


def tree_of(path: Path, text: str) -> Any:
    path.write_text(HEAD + text, encoding="utf-8")
    return plain(read_tree(path))


def test_schema_accepts_every_kind_of_entry(validator: Any, tmp_path: Path) -> None:
    path = tmp_path / "right.yaml"
    tree = tree_of(path, RIGHT)
    assert read_file(path, ScenarioFile).form_errors == ()
    validator.validate(tree)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_schema_accepts_the_shipped_scenarios(validator: Any, path: Path) -> None:
    validator.validate(plain(read_tree(path)))


@pytest.mark.parametrize(
    "text",
    [
        "colour: red\n",
        "seed: 1.5\n",
        "duration: 3\n",
        "behaviours: [{name: a}]\n",
        "behaviours: [{name: a, schema: b, children: [{name: c, schma: d}]}]\n",
        "events: [{at_s: 1, shove: torso}]\n",
        "events: [{at_s: 1, start: a, stop: b}]\n",
        "events: [{at_s: -1, start: a}]\n",
        "events: [{at_s: 1, push: {link: torso, newton: [1, 0], for_s: 1}}]\n",
        "expect: [{never: fallen}]\n",
        "expect: [{happens: {said: Hi, fallen: true}}]\n",
        "expect: [{order: [{said: Hi}]}]\n",
        "transmitter: {enable: sometimes}\n",
        "lights: {red: {steps: []}}\n",
    ],
)
def test_schema_refuses_what_the_form_refuses(
    validator: Any, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "wrong.yaml"
    tree = tree_of(path, text)
    assert read_file(path, ScenarioFile).form_errors
    assert not validator.is_valid(tree)


@pytest.mark.parametrize("name", bad.FILES)
def test_schema_is_no_stricter_than_the_form(
    validator: Any, tmp_path: Path, name: str
) -> None:
    """A line marked by an editor is also an error in `scenario check`."""
    path = tmp_path / "bad.yaml"
    tree = tree_of(path, bad.FILES[name])
    if not validator.is_valid(tree):
        assert read_file(path, ScenarioFile).form_errors


def test_every_schema_key_has_a_description() -> None:
    unexplained = [
        f"{name}.{key}"
        for name, form in scenario_schema()["$defs"].items()
        for key, field in form.get("properties", {}).items()
        if "description" not in field and "$ref" not in field
    ]
    assert unexplained == []
