"""Notebooks are kept without outputs; nbmake runs them (see the Makefile)."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS, "nothing was found: the laws below hold for naught"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stripped(path: Path) -> None:
    """Outputs make every diff unreadable, and show numbers of some older commit."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code
    for cell in code:
        assert cell["outputs"] == [], cell["id"]
        assert cell["execution_count"] is None, cell["id"]
        assert cell["metadata"] == {}, cell["id"]
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_tells_a_story(path: Path) -> None:
    """It begins with a title, and no three cells of code go without a word."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    kinds = "".join(cell["cell_type"][0] for cell in notebook["cells"])
    assert "".join(notebook["cells"][0]["source"]).startswith("# ")
    assert "ccc" not in kinds
