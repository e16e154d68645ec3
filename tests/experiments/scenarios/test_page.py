"""Documentation pages of scenarios: their files are valid and every key is named."""

import io
import re
from pathlib import Path

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from docs.site_pages import scenario_keys_page
from nao_testbed.controllers.arbitration.policies import policy_classes
from nao_testbed.experiments.scenarios.reading.behaviours import BehaviourForm
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.scenarios.reading.scenario_file import (
    ReservationsForm,
    ScenarioFile,
    SimulationForm,
    TransmitterForm,
    WorldForm,
)
from nao_testbed.experiments.scenarios.vocabulary.conditions import CONDITIONS
from nao_testbed.experiments.scenarios.vocabulary.events import ACTIONS
from nao_testbed.experiments.scenarios.vocabulary.expectations import EXPECTATIONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "scenarios.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
WHOLE = [block for block in BLOCKS if block.startswith("name:")]
PARTS = [block for block in BLOCKS if not block.startswith("name:")]


def with_part(whole: str, part: str) -> str:
    """Return a whole file with its sections replaced by those of a part."""
    yaml = YAML()
    tree = yaml.load(whole)
    for key in yaml.load(part):
        tree.pop(key, None)
    text = io.StringIO()
    yaml.dump(tree, text)
    return text.getvalue() + part


def test_page_has_complete_files_and_parts() -> None:
    assert WHOLE
    assert PARTS


@pytest.mark.parametrize("text", [*WHOLE, *(with_part(WHOLE[0], p) for p in PARTS)])
def test_files_of_the_page_are_valid(tmp_path: Path, text: str) -> None:
    path = tmp_path / "page.yaml"
    path.write_text(text, "utf-8")
    load_scenario(path)


def keys_of_forms() -> set[str]:
    forms: list[type[BaseModel]] = [
        *(ScenarioFile, BehaviourForm, WorldForm, SimulationForm),
        *(ReservationsForm, TransmitterForm),
        *CONDITIONS.values(),
        *ACTIONS.values(),
        *EXPECTATIONS.values(),
    ]
    return {
        field.alias or name
        for form in forms
        for name, field in form.model_fields.items()
    }


def code_in(text: str) -> set[str]:
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`\n]+)`", text))))


def test_reference_names_every_key_and_page_every_policy() -> None:
    assert keys_of_forms() - code_in(scenario_keys_page()) == set()
    assert set(policy_classes()) <= code_in(TEXT)


def test_tables_of_the_page_name_only_existing_keys() -> None:
    """Each row of a table starts with keys."""
    rows = re.findall(r"^\| (`.*?) \|", TEXT, re.MULTILINE)
    named = {key for row in rows for key in re.findall(r"`(\w+)`", row)}
    assert named <= keys_of_forms()


def test_printed_run_on_the_page_matches_its_file() -> None:
    shown = TEXT.partition("`run` prints")[2].partition("```\n\n")[0]
    lines = WHOLE[0].splitlines()
    numbers = [int(n) for n in re.findall(r"^ +(\d+)   \w", shown, re.MULTILINE)]
    first = lines.index("expect:") + 2
    assert numbers == list(range(first, len(lines) + 1))
