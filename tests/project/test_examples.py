"""Every numbered lesson in examples/ runs, as a reader would run it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MAX_LINES = 80
MAX_SECONDS = 60.0


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_and_says_something(example: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env=None,
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip(), "a lesson prints what it shows"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_numbered(example: Path) -> None:
    lines = example.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    assert example.name[:2].isdigit()
