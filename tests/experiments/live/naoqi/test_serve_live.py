"""`naoqi serve --live`: refused options, and a user beside a program.

The server runs in its own process while a program moves the head through `qi`.
"""

import importlib.util
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from typer.testing import CliRunner

from nao_testbed.experiments.cli import app
from nao_testbed.models import BadInput
from nao_testbed.models.system import KILL
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.common.browser import browser, listen  # noqa: F401
from tests.processes import send_to_all

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("qi", reason="qi is not installed: extra `naoqi`")
pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

WAIT_MS = 180_000
"""Generous for a software renderer on a busy machine."""
PROGRAM = """
import sys
import qi
session = qi.Session()
session.connect(sys.argv[1])
motion = session.service("ALMotion")
try:
    while True:
        motion.angleInterpolation("HeadYaw", [0.6, -0.6], [0.5, 1.5], True)
except RuntimeError as error:
    print("READ", error, flush=True)
motion.setAngles("HeadYaw", 0.3, 1.0)
print("SUMMARY", repr(motion.getSummary()), flush=True)
"""


def refused(*words: str) -> str:
    result = CliRunner().invoke(app, ["naoqi", "serve", *words])
    assert isinstance(result.exception, BadInput), result.output
    return str(result.exception)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--no-browser",), "--no-browser needs --live; add it"),
        (("--page-port", "0"), "--page-port needs --live; add it"),
        (("--live", "--log", "runs/none"), "--live has no effect with --log"),
    ],
)
def test_incompatible_options_are_refused(words: tuple[str, ...], part: str) -> None:
    assert part in refused(*words)


def test_missing_page_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "viser" else find(name),
    )
    said = refused("--live")
    assert "`nao-testbed naoqi serve --live` needs viser" in said
    assert "pip install '.[live]'" in said


@pytest.mark.slow(covers=False)
def test_port_in_use_is_refused_before_recording(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "nao_testbed.experiments.cli",
                    "naoqi",
                    "serve",
                ),
                *("--live", "--no-browser", "--port", "0", "--page-port", port),
                *("--out", str(tmp_path / "run")),
            ],
            capture_output=True,
            encoding="utf-8",
            timeout=180,
            check=False,
        )
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"error: cannot listen on 127.0.0.1 port {port}")
    assert "Give another --page-port" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "run").exists()


@dataclass
class Served:
    process: subprocess.Popen[str]
    nao: str
    page: str
    folder: Path


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "nao_testbed.experiments.cli", "naoqi", "serve"),
            *("--live", "--no-browser", "--port", "0", "--page-port", "0"),
            *("--out", str(folder), "--json", str(tmp_path / "ended.json")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    assert process.stdout is not None
    nao, page = (process.stdout.readline().strip() for _ in range(2))
    try:
        yield Served(process, nao, page, folder)
    finally:
        if process.poll() is None:
            send_to_all(process, KILL)
        process.communicate()


@pytest.mark.slow(covers=False)
@pytest.mark.requirement("JD-23")
def test_user_takes_the_head_from_a_program(
    served: Served,
    browser: "Browser",  # noqa: F811
    tmp_path: Path,
) -> None:
    """Without the 3-D view; a request without the key is refused."""
    action = Request(
        served.page.partition("?")[0] + "do",
        data=b'{"robot": 0, "do": "Take", "resource": "Head"}',
    )
    with pytest.raises(HTTPError, match="403"):
        urlopen(action, timeout=60)
    page = browser.new_page(viewport={"width": 1024, "height": 900})
    page.set_default_timeout(WAIT_MS)
    heard = listen(page)
    page.route("**/view/*", lambda route: route.abort())
    page.goto(served.page)
    page.get_by_text("hottest:").first.wait_for()
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, served.nao],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    head = page.locator('.group[data-name="Head"]')
    head.get_by_text("naoqi client 1/angleInterpolation").wait_for()
    pad = page.get_by_label("head pad")
    pad.click(position={"x": 60, "y": 60})
    page.get_by_text("NO_TOKEN; held by naoqi client 1/").first.wait_for()
    page.get_by_label("Take Head").click()
    page.get_by_text("Head taken from naoqi client 1/").first.wait_for()
    head.get_by_text("you", exact=True).wait_for()
    page.get_by_text("HeadYaw was taken away by operator").first.wait_for()
    pad.click(position={"x": 60, "y": 60})
    page.get_by_text("HeadYaw and HeadPitch to").first.wait_for()
    page.locator("#tab-sensors").click()
    angle = page.locator('tr[data-joint="HeadYaw"] td[data-reading="q"]')
    page.wait_for_timeout(200)
    for _ in range(300):
        if float(angle.inner_text()) > 40.0:
            break
        page.wait_for_timeout(200)
    assert float(angle.inner_text()) > 40.0
    told, _ = program.communicate(timeout=WAIT_MS / 1000.0)
    assert "READ ALMotion::angleInterpolation: " in told
    assert "HeadYaw was taken away by operator" in told
    assert "HeadYaw is busy (operator): setAngles had no effect" in told
    page.get_by_text("naoqi client 1 left").first.wait_for()
    assert not [fault for fault in heard.faults if "ERR_FAILED" not in fault]
    page.close()
    send_to_all(served.process, signal.SIGINT)
    assert served.process.wait(timeout=180) == 130
    run = read_run(served.folder)
    assert run.state == "stopped by the user (Ctrl-C)"
    assert any("Head taken from naoqi client 1/" in str(one) for one in run.events)
    assert json.loads((tmp_path / "ended.json").read_text("utf-8"))["clients"] == 1
