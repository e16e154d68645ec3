"""Write the notebooks from the percent scripts beside them, or check that they agree.

    python docs/make_notebooks.py           # notebooks/*.py -> notebooks/*.ipynb
    python docs/make_notebooks.py --check   # say which differ, exit with 1

A notebook is kept without outputs and with cell names that do not change, so that a
diff shows what was changed. Who edits in Jupyter saves both files at once, by jupytext
(`notebooks/jupytext.toml`); then this brings the notebook back to its kept form.
"""

import json
import sys
from pathlib import Path
from typing import Any

import jupytext

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
METADATA = {
    "kernelspec": {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python", "version": "3.11"},
}


def notebook_text(script: Path) -> str:
    """Return the text of the notebook that a percent script is."""
    cells = []
    for i, cell in enumerate(jupytext.read(script, fmt="py:percent").cells):
        tags = cell.metadata.get("tags")
        entry: dict[str, Any] = {
            "cell_type": cell.cell_type,
            "id": f"cell-{i:02d}",
            "metadata": {"tags": list(tags)} if tags else {},
            "source": cell.source.splitlines(keepends=True),
        }
        if cell.cell_type == "code":
            entry |= {"execution_count": None, "outputs": []}
        cells.append(dict(sorted(entry.items())))
    notebook = {
        "cells": cells,
        "metadata": METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write or check every notebook; return the exit status."""
    differs = []
    for script in sorted(NOTEBOOKS.glob("*.py")):
        text, path = notebook_text(script), script.with_suffix(".ipynb")
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
