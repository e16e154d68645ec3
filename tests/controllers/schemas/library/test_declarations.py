"""What the schemas of the library declare."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from ruamel.yaml import YAML

from nao_testbed.controllers.schemas import Activation, SchemaInfo, State
from nao_testbed.controllers.schemas.registry import BUILT_IN, schema_class
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.schemas.library.body import Body

ROOT = Path(__file__).resolve().parents[4]
OURS = [name for name, where in BUILT_IN.items() if ".library." in where]


def info_of(name: str) -> SchemaInfo:
    return schema_class(name).info


def numbers() -> list[tuple[str, str]]:
    """Return schema and parameter of all that are numbers."""
    return [
        (name, one.name)
        for name in OURS
        for one in fields(info_of(name).parameters)
        if get_type_hints(info_of(name).parameters)[one.name] in (float, int)
    ]


@pytest.mark.parametrize("name", OURS)
def test_it_is_woken_in_any_state_and_ends_without_a_trace(
    robot: Robot, name: str
) -> None:
    body = Body.of(robot)
    try:
        body.begin(name)
    except (UnknownName, BadInput):
        return  # what its defaults name is not in this library, or nothing is given
    body.slot(10)
    body.runtime.sleep(name, body.tick)
    body.slot(2)
    assert not [path for path in body.runtime.paths if body.runtime.may_act(path)]
    body.hold("next", "All motors", "Stiffness", "Leds", "TTS")


@pytest.mark.parametrize(("schema", "parameter"), numbers())
@pytest.mark.parametrize("value", [float("nan"), -1e12, 1e12])
def test_no_number_is_taken_from_outside_its_range(
    schema: str, parameter: str, value: float
) -> None:
    given: dict[str, Any] = {parameter: value}
    with pytest.raises(BadInput, match=rf"^{parameter} is .*; give "):
        info_of(schema).parameters(**given)


@pytest.mark.parametrize("name", OURS)
def test_each_output_says_what_it_means_and_in_which_unit(name: str) -> None:
    for output in info_of(name).outputs:
        assert output.about.endswith(".")
        unit = output.name.rpartition("_")[2]
        units = {"s": "s", "m": "m", "rad": "rad", "degc": "°C", "watts": "W"}
        assert output.unit == units.get(unit, output.unit)
        assert output.initial is not None


def test_the_page_of_schemas_names_every_one() -> None:
    page = (ROOT / "docs" / "concepts" / "schemas.md").read_text(encoding="utf-8")
    assert not [name for name in BUILT_IN if f"`{name}`" not in page]


def test_the_yaml_of_the_page_is_a_behaviour(nao: Robot) -> None:
    page = (ROOT / "docs" / "concepts" / "schemas.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    data = YAML(typ="safe").load(block)
    children = tuple(Activation(**child) for child in data["children"])
    body = Body.of(nao)
    body.begin(
        data["schema"], name=data["name"], parameters=data["with"], children=children
    )
    body.runtime.modulate("mind", {"hears": "ball"}, 0)
    body.slot(30)
    assert body.state("mind/wave") is State.WINNER
    assert not body.failures()
