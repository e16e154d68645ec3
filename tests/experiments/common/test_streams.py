"""Commands with closed standard streams or an ASCII-only terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

START = (
    "from nao_testbed.experiments.common.streams import *; prepare_standard_streams(); "
)
CLOSED = ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "<&- 2>&-"]
TWO_LEG = Path(__file__).parents[2] / "data" / "two_leg"


def run_python(code: str, redirections: str = "", **environment: str) -> str:
    """Run code in a new process; return its stdout."""
    line = f'"$0" -c "$1" {redirections}'
    ran = subprocess.run(
        ["bash", "-c", line, sys.executable, START + code],
        check=True,
        capture_output=True,
        env={**os.environ, **environment},
    )
    return ran.stdout.decode()


@pytest.mark.parametrize("closed", CLOSED)
def test_file_does_not_reuse_a_closed_stream_number(
    tmp_path: Path, closed: str
) -> None:
    path = tmp_path / "data"
    code = (
        f"import os, sys; file = open({str(path)!r}, 'w'); print('lost?'); "
        "os.write(1, b'lost?'); print('lost?', file=sys.stderr); "
        "os.write(2, b'lost?'); sys.stdin.isatty(); file.write(str(file.fileno()))"
    )
    run_python(code, closed)
    assert int(path.read_text("utf-8")) > 2


def test_characters_missing_in_ascii_are_replaced() -> None:
    code = "print('80 \\u00b0C')"
    assert run_python(code, PYTHONIOENCODING="ascii") == "80 ?C\n"
    assert run_python(code, PYTHONIOENCODING="utf-8") == "80 \u00b0C\n"


def test_json_is_utf_8_in_any_locale() -> None:
    code = """print_data('[\\"80 \\u00b0C\\"]')"""
    assert json.loads(run_python(code, PYTHONIOENCODING="ascii")) == ["80 °C"]


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-", ""])
def test_heat_runs_with_closed_standard_streams(tmp_path: Path, closed: str) -> None:
    out = tmp_path / "out"
    line = f"heat --robot {TWO_LEG} --posture Stand --minutes 0.01 --out {out}"
    subprocess.run(
        ["bash", "-c", f'"$0" -m experiments.cli {line} {closed}', sys.executable],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"},
    )
    assert (out / "heat.json").exists()
