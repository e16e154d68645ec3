"""Declarations of the library's schemas."""

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
    """Return schema and name of every numeric parameter."""
    return [
        (name, one.name)
        for name in OURS
        for one in fields(info_of(name).parameters)
        if get_type_hints(info_of(name).parameters)[one.name] in (float, int)
    ]


@pytest.mark.parametrize("name", OURS)
def test_schema_starts_in_any_state_and_releases_everything(
    robot: Robot, name: str
) -> None:
    body = Body.of(robot)
    try:
        body.begin(name)
    except (UnknownName, BadInput):
        return  # its defaults are not in this library, or a parameter is missing
    body.slot(10)
    body.runtime.sleep(name, body.tick)
    body.slot(2)
    assert not [path for path in body.runtime.paths if body.runtime.may_act(path)]
    body.hold("next", "All motors", "Stiffness", "Leds", "TTS")


@pytest.mark.parametrize(("schema", "parameter"), numbers())
@pytest.mark.parametrize("value", [float("nan"), -1e12, 1e12])
def test_number_out_of_range_is_rejected(
    schema: str, parameter: str, value: float
) -> None:
    given: dict[str, Any] = {parameter: value}
    with pytest.raises(BadInput, match=rf"^{parameter} is .*; give "):
        info_of(schema).parameters(**given)


@pytest.mark.parametrize("name", OURS)
def test_each_output_has_a_description_and_a_unit(name: str) -> None:
    for output in info_of(name).outputs:
        assert output.about.endswith(".")
        unit = output.name.rpartition("_")[2]
        units = {"s": "s", "m": "m", "rad": "rad", "degc": "°C", "watts": "W"}
        assert output.unit == units.get(unit, output.unit)
        assert output.initial is not None


def test_page_of_schemas_lists_every_schema() -> None:
    page = (ROOT / "docs" / "concepts" / "schemas.md").read_text(encoding="utf-8")
    assert not [name for name in BUILT_IN if f"`{name}`" not in page]


def test_yaml_example_of_the_page_runs(nao: Robot) -> None:
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
