"""Every numbered lesson in examples/ runs as a script."""

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SCRIPT = ROOT / "examples" / "18_sweep.py"
IN_PROCESS = [path for path in EXAMPLES if path != SCRIPT]
MAX_LINES = 80
MAX_SECONDS = 300.0
"""Timeout, ten times the longest run on an idle machine."""


def test_readme_lists_every_lesson_once() -> None:
    text = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.py\)", text, re.MULTILINE)
    assert listed == [(path.stem, path.stem) for path in EXAMPLES]
    assert EXAMPLES, "no lesson found"


@pytest.mark.slow
@pytest.mark.parametrize("example", IN_PROCESS, ids=lambda path: path.stem)
def test_example_runs_and_prints(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process, which has imported most of what they import."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip(), "a lesson prints what it shows"
    assert not list(tmp_path.iterdir()), "a lesson leaves no files"


@pytest.mark.slow
def test_example_runs_as_a_script(tmp_path: Path) -> None:
    """That one: its trials are processes, which import it again."""
    ran = subprocess.run(
        [sys.executable, str(SCRIPT)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=MAX_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip(), "a lesson prints what it shows"
    assert not list(tmp_path.iterdir()), "a lesson leaves no files"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_numbered_and_explained(example: Path) -> None:
    text = example.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert ast.get_docstring(ast.parse(text)), "a docstring describes the output"
    assert example.name[:2].isdigit()
