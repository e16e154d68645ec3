"""The command: what it refuses, what it warns of, how it ends."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.server.naoqi.run_serve import ServeCfg
from models import BadInput

APPLICATION = """
import sys
import qi
app = qi.Application(["me", "--qi-url=" + sys.argv[1]])
app.start()
class Mine:
    def twice(self, value):
        return 2 * value
app.session.registerService("Mine", Mine())
print(app.session.service("Mine").twice(4), flush=True)
print(app.session.service("ALMotion").ping(), flush=True)
"""


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"speed": 0.0}, "--speed"),
        ({"port": 99_999}, "--port"),
        ({"host": "nowhere"}, "--host"),
        ({"seconds": float("nan")}, "--seconds"),
    ],
)
def test_a_value_that_cannot_be_is_refused(values: Any, part: str) -> None:
    with pytest.raises(BadInput, match=part):
        ServeCfg(**values)


@pytest.mark.slow
def test_beyond_loopback_it_warns_and_it_ends_by_itself_with_0(tmp_path: Path) -> None:
    serve = [sys.executable, "-m", "experiments.cli", "naoqi", "serve", "--port", "0"]
    json_file = str(tmp_path / "ended.json")
    options = ["--host", "0.0.0.0", "--seconds", "40", "--speed", "4"]
    with subprocess.Popen(
        [*serve, *options, "--out", str(tmp_path / "run"), "--json", json_file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip().rpartition(":")[2]
        ran = subprocess.run(
            [sys.executable, "-c", APPLICATION, f"tcp://127.0.0.1:{port}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        _, err = process.communicate(timeout=120)
    said = [line for line in ran.stdout.splitlines() if not line.startswith("[")]
    assert said == ["8", "True"], ran.stderr  # but for what qi logs
    assert process.returncode == 0
    assert "no authentication" in err
    assert (tmp_path / "run" / "meta.json").exists()
    ended = json.loads(Path(json_file).read_text())
    assert ended["ended"] == "ended"
    assert ended["clients"] >= 1
    assert ended["sim_s"] == pytest.approx(40.0)
    assert ended["slots"] == 4000
