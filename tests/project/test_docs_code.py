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


def test_what_the_architecture_names_is_there() -> None:
    """Every path in it, such as `controllers/registry.py` or `sim/sensors/`."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text)
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]
