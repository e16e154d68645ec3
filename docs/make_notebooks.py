"""Write the notebooks from the percent scripts beside them, or check that they agree.

    python docs/make_notebooks.py           # notebooks/*.py -> notebooks/*.ipynb
    python docs/make_notebooks.py --run     # and run those that lack their outputs
    python docs/make_notebooks.py --check   # say which differ, exit with 1

A notebook is kept with its outputs, figures in few colours, and with cell names that do
not change, so that a diff shows what was changed. Where a cell of code was changed, all
outputs of its notebook go until it is run again. Who edits in Jupyter saves both files
at once, by jupytext (`notebooks/jupytext.toml`); then this brings the notebook back to
its kept form.
"""

import base64
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jupytext

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
SHOWN = ("text/markdown", "text/html", "image/png", "text/plain")
"""Forms of an output that are kept."""
COLOURS = 48
"""Of a kept figure."""
METADATA = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python", "version": "3.11"},
}


Outputs = list[dict[str, Any]]


def notebook_text(script: Path, outputs: Sequence[Outputs] = ()) -> str:
    """Return the text of the notebook that a percent script is.

    Args:
        script: to be read.
        outputs: of its cells of code, in their order; none: as before a run.
    """
    cells = []
    left = list(outputs)
    for i, cell in enumerate(jupytext.read(script, fmt="py:percent").cells):
        tags = cell.metadata.get("tags")
        entry: dict[str, Any] = {
            "cell_type": cell.cell_type,
            "id": f"cell-{i:02d}",
            "metadata": {"tags": list(tags)} if tags else {},
            "source": cell.source.splitlines(keepends=True),
        }
        if cell.cell_type == "code":
            found = left.pop(0) if left else []
            entry |= {"execution_count": None, "outputs": found}
        cells.append(dict(sorted(entry.items())))
    notebook = {
        "cells": cells,
        "metadata": METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def kept_outputs(script: Path, path: Path) -> list[Outputs]:
    """Return the outputs that a notebook has of this very code; else none."""
    if not path.exists():
        return []
    kept = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in kept if cell["cell_type"] == "code"]
    script_cells = jupytext.read(script, fmt="py:percent").cells
    asked = [cell.source for cell in script_cells if cell.cell_type == "code"]
    is_same = ["".join(cell["source"]) for cell in code] == asked
    return [cell["outputs"] for cell in code] if is_same else []


def run(text: str) -> list[Outputs]:
    """Run a notebook and return the outputs of its cells of code, made small."""
    import nbformat  # noqa: PLC0415  # of a run only
    from nbclient import NotebookClient  # noqa: PLC0415  # likewise

    notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]  # its own
    NotebookClient(
        notebook, timeout=1800, resources={"metadata": {"path": str(NOTEBOOKS)}}
    ).execute()
    return [
        small(cell["outputs"])
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def small(outputs: Outputs) -> Outputs:
    """Return outputs without counters, and with figures in few colours."""
    kept: Outputs = []
    for output in outputs:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            text = _lines(output["text"])
            kept.append({"name": "stdout", "output_type": "stream", "text": text})
        elif "data" in output:
            data = {k: v for k, v in output["data"].items() if k in SHOWN}
            if "image/png" in data:
                data = {"image/png": _few_colours(data["image/png"])}
            else:
                data = {kind: _lines(text) for kind, text in sorted(data.items())}
            kept.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return kept


def _lines(text: str) -> list[str]:
    """Return the lines of a text, as notebooks keep it, so that a diff shows them."""
    return text.splitlines(keepends=True)


def _few_colours(png: str) -> str:
    from PIL import Image  # noqa: PLC0415  # of a run only

    image = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    file = io.BytesIO()
    image.quantize(COLOURS).save(file, format="PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode("ascii")


def main() -> int:
    """Write, run or check every notebook; return the exit status."""
    differs = []
    for script in sorted(NOTEBOOKS.glob("*.py")):
        path = script.with_suffix(".ipynb")
        outputs = kept_outputs(script, path)
        if "--run" in sys.argv and not any(outputs):
            outputs = run(notebook_text(script))
        text = notebook_text(script, outputs)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        differs.append(path.name)
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
    for name in differs:
        print(f"{name} {'differs' if '--check' in sys.argv else 'written'}")
    return 1 if differs and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
