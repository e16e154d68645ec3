"""The Python blocks of a page run, one after another, as a reader would type them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    "docs/postures_cool.md",
    "docs/replay.md",
    "docs/reservations.md",
    "docs/scenarios.md",
    "docs/schemas.md",
    "docs/sweeps.md",
    "docs/synchrony.md",
)
LINKED = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/tour.md")
WRITTEN = sorted(
    path
    for folder in ("", "docs", "examples", "examples/third_party_controller")
    for path in (ROOT / folder).glob("*.md")
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page_runs(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    assert blocks, "nothing was found: the page would hold for naught"
    names: dict[str, object] = {}
    for block in blocks:
        line = text.count("\n", 0, block.start(1))
        code = "\n" * line + block.group(1)  # errors name the line of the page
        exec(compile(code, page, "exec"), names)


@pytest.mark.parametrize("page", [*LINKED, *PAGES])
def test_a_page_links_to_files_that_are_there(page: str) -> None:
    here = ROOT / page
    links = re.findall(r"\]\(([^)#:]+)\)", here.read_text(encoding="utf-8"))
    assert links
    assert not [link for link in links if not (here.parent / link).exists()]


def test_a_name_that_links_to_a_module_is_defined_in_it() -> None:
    wrong = []
    found = 0
    for page in WRITTEN:
        text = page.read_text(encoding="utf-8")
        for name, link in re.findall(r"\[`(\w+)`\]\(([^)#]+\.py)\)", text):
            source = (page.parent / link).read_text(encoding="utf-8")
            found += 1
            if not re.search(rf"^(class |def )?{name}\b", source, re.MULTILINE):
                wrong.append(f"{page.name}: {name} is not in {link}")
    assert found
    assert not wrong


def test_every_row_of_a_table_belongs_to_a_head() -> None:
    """An empty line ends a table: what follows it is read as text with bars."""
    head = re.compile(r"(?<=\n\n)\|.*\n(?!\|[ :|-]+\|\n)")
    wrong = {
        page.name: rows
        for page in WRITTEN
        if (rows := head.findall("\n" + page.read_text(encoding="utf-8")))
    }
    assert not wrong


def test_what_the_architecture_names_is_there() -> None:
    """Every path in it, such as `controllers/registry.py` or `sim/sensors/`."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text)
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]
