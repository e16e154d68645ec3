"""Notebooks are kept with small outputs, and run with small parameters."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TAG = "parameters"
MOST_BYTES = 250_000

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS, "no notebook found"


@each_notebook
def test_notebook_is_kept_with_small_outputs(path: Path) -> None:
    """Readers see tables and figures; only outputs change."""
    code = code_cells(path)
    assert code
    outputs = [output for cell in code for output in cell["outputs"]]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert "image/png" in kinds, "run docs/make_notebooks.py --run"
    assert kinds <= {"image/png", "text/plain", "text/html", "text/markdown"}
    assert path.stat().st_size < MOST_BYTES
    for cell in code:
        assert cell["execution_count"] is None, cell["id"]
        assert set(cell["metadata"]) <= {"tags"}, cell["id"]
        for output in cell["outputs"]:
            assert output["output_type"] in {"display_data", "stream"}
            assert str(ROOT) not in json.dumps(output), "machine-specific path"
    notebook = read(path)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


@each_notebook
def test_notebook_has_title_and_text_between_code(path: Path) -> None:
    """The first cell is a title; at most two code cells follow each other."""
    cells = read(path)["cells"]
    kinds = "".join(cell["cell_type"][0] for cell in cells)
    assert "".join(cells[0]["source"]).startswith("# ")
    assert "ccc" not in kinds


@each_notebook
def test_parameters_are_in_the_first_cell_and_checked_in_next(
    path: Path,
) -> None:
    """Only names and plain values; the package validates them."""
    first, second, *others = code_cells(path)
    assert first["metadata"] == {"tags": [TAG]}
    assert all(cell["metadata"] == {} for cell in (second, *others))
    values: dict[str, Any] = {}
    exec("".join(first["source"]), {}, values)
    assert values
    text = "".join(second["source"])
    assert re.search(r"^story = \w+Story\(", text, re.MULTILINE)
    for name in values:
        assert name in text, f"{name} is not checked"


@each_notebook
def test_notebook_and_script_agree(path: Path) -> None:
    """jupytext gives the same cells in the same order with the same tags."""
    script = jupytext.read(path.with_suffix(".py"), fmt="py:percent")
    notebook = jupytext.read(path)

    def plain(cells: list[Any]) -> list[tuple[str, str, Any]]:
        return [(c.cell_type, c.source, c.metadata.get("tags", [])) for c in cells]

    assert plain(script.cells) == plain(notebook.cells)


def test_every_script_has_its_notebook() -> None:
    scripts = sorted(path.stem for path in (ROOT / "notebooks").glob("*.py"))
    assert scripts == [path.stem for path in NOTEBOOKS]


def test_notebooks_match_their_generator() -> None:
    maker = ROOT / "docs" / "make_notebooks.py"
    ran = subprocess.run(
        [sys.executable, str(maker), "--check"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


FORMS = ("_repr_markdown_", "_repr_html_", "_repr_png_")


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.parametrize(
    ("number", "parameters", "told", "never"),
    [
        (
            1,
            {"minutes": 0.5, "controllers": ("smart", "fixed")},
            "compared with the published experiment: the duration is 0.5 min, not 15.",
            "at most",
        ),
        (2, {"minutes": 0.25}, "`minheat`", "None of these controllers"),
        (
            2,
            {"controllers": ("constant:0.6", "fixed"), "minutes": 0.25},
            "None of these controllers moves a set-point.",
            "minheat",
        ),
        (3, {"minutes": 3.0}, "", "NaN"),
        (4, {}, "", "NaN"),
        (5, {"robots": 2, "seconds": 3.0}, "of 2 robots", "of 10 robots"),
        (6, {"seconds": 1.0, "tries": 4}, "", "NaN"),
    ],
)
def test_notebook_runs_and_its_text_follows_the_parameters(
    number: int,
    parameters: dict[str, Any],
    told: str,
    never: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Text names no number or controller of another experiment."""
    monkeypatch.chdir(ROOT / "notebooks")
    script = jupytext.read(NOTEBOOKS[number - 1].with_suffix(".py"), fmt="py:percent")
    cells = [cell for cell in script.cells if cell.cell_type == "code"]
    space: dict[str, Any] = {}
    words: list[str] = []
    for cell in cells:
        *body, last = ast.parse(cell.source).body
        exec(ast.unparse(ast.Module(body, [])), space)
        if isinstance(last, ast.Expr):
            value = eval(ast.unparse(last), space)
            shown = [getattr(value, form)() for form in FORMS if hasattr(value, form)]
            words += [str(form) for form in shown if isinstance(form, str)]
        else:
            exec(ast.unparse(last), space)
        if cell is cells[0]:
            space.update(parameters)
    assert told in " ".join(words)
    assert never not in " ".join(words)
