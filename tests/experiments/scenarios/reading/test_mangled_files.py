"""Any mangled file is either read or refused with an error."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from nao_testbed.experiments.common.form_parts import plain
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, load_scenario
from nao_testbed.models import BadInput
from nao_testbed.models.files.yaml_forms import FileErrors
from tests.experiments.scenarios.helpers import HEAD
from tests.experiments.scenarios.reading.test_schema import RIGHT

FILES = sorted(SCENARIOS.folder.glob("*.yaml"))
TEXTS = [HEAD + RIGHT, *(path.read_text("utf-8") for path in FILES)]
TREES = [plain(YAML().load(text)) for text in TEXTS]
Place = tuple[str | int, ...]

JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 1000),
    st.floats(-10.0, 100.0),
    st.sampled_from(["a", "Head", "life/dance", "", " ", "lock", "#00ff00", "State"]),
    st.just([]),
    st.just({}),
    st.lists(st.integers(0, 3), max_size=3),
    st.dictionaries(st.sampled_from(["name", "at_s", "when", "x"]), st.integers(0, 9)),
)


def places(tree: Any, above: Place = ()) -> list[Place]:
    """Return the places of all values in a tree."""
    items: list[tuple[str | int, Any]] = []
    if isinstance(tree, dict):
        items = list(tree.items())
    elif isinstance(tree, list):
        items = list(enumerate(tree))
    found = []
    for key, value in items:
        found += [(*above, key), *places(value, (*above, key))]
    return found


def mangle(tree: Any, place: Place, how: str, junk: Any) -> None:
    """Replace, remove, double or rename a value, if it still exists."""
    try:
        for key in place[:-1]:
            tree = tree[key]
        value = tree[place[-1]]
    except (KeyError, IndexError, TypeError):
        return
    if isinstance(tree, str):
        return  # the value is a character of a replaced text
    if how == "replace":
        tree[place[-1]] = junk
    elif how == "remove":
        del tree[place[-1]]
    elif isinstance(tree, list):
        tree.append(copy.deepcopy(value))
    elif isinstance(tree, dict):
        tree[f"{place[-1]}s"] = tree.pop(place[-1])


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_mangled_file_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    tree = copy.deepcopy(data.draw(st.sampled_from(TREES)))
    known = places(tree)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.sampled_from(known))
        how = data.draw(st.sampled_from(["replace", "remove", "double"]))
        mangle(tree, place, how, data.draw(JUNK))
    path = tmp_path / "mangled.yaml"
    YAML().dump(tree, path)
    try:
        scenario = load_scenario(path)
    except FileErrors as refused:
        for error in refused.errors:
            assert error.path == path
            assert error.problem.strip()
    except BadInput as other:
        raise AssertionError("an error without its place") from other
    else:
        for behaviour in scenario.behaviours:
            behaviour.check()  # refuses nothing that a file may contain
