"""The command `naoqi serve`: errors, warnings and exit."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nao_testbed.experiments.server.naoqi.run_serve import ServeCfg
from tests.experiments.server.naoqi.conftest import TIMEOUT_S, serve
from tests.messages import Messages, each

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


@pytest.mark.slow
def test_host_beyond_loopback_warns_and_accepts_programs(tmp_path: Path) -> None:
    json_file = tmp_path / "ended.json"
    served = serve(tmp_path, "--host", "0.0.0.0", "--json", str(json_file))
    port = served.url.rpartition(":")[2]
    ran = subprocess.run(
        [sys.executable, "-c", APPLICATION, f"tcp://127.0.0.1:{port}"],
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    served.process.send_signal(signal.SIGTERM)
    _, err = served.process.communicate(timeout=TIMEOUT_S)
    said = [line for line in ran.stdout.splitlines() if not line.startswith("[")]
    assert said == ["8", "True"], ran.stderr  # except messages of qi
    assert "no authentication" in err
    assert served.process.returncode == 128 + signal.SIGTERM
    assert json.loads(json_file.read_text("utf-8"))["clients"] >= 1


@pytest.mark.slow
def test_command_ends_after_its_duration_with_0(tmp_path: Path) -> None:
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "nao_testbed.experiments.cli", "naoqi", "serve"),
            *("--port", "0", "--seconds", "4", "--speed", "4"),
            *("--out", str(tmp_path / "run"), "--json", "-"),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "no authentication" not in ran.stderr
    assert (tmp_path / "run" / "meta.json").exists()
    ended = json.loads(ran.stdout)
    assert ended["ended"] == "ended"
    assert ended["sim_s"] == pytest.approx(4.0)
    assert ended["slots"] == 195, "the 205 slots to the start posture are not timed"


def test_messages(messages: Messages) -> None:
    messages(
        a_value_that_cannot_be=each(
            ServeCfg,
            speed=[0.0],
            port=[99_999],
            host=["nowhere"],
            seconds=[float("nan")],
        )
    )
