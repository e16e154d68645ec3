"""The live page in a browser: view and steer robots without external requests.

The command runs in its own process, and Ctrl-C ends it.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from nao_testbed.models.system import KILL
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.common.browser import browser, listen  # noqa: F401
from tests.processes import send_to_all

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

WAIT_MS = 180_000
"""Generous for a software renderer on a busy machine."""


LIVE = (
    sys.executable,
    "-c",
    "import sys; sys.argv[0] = 'nao-testbed'; "
    "from nao_testbed.experiments.cli import main; main()",
    *("live", "--no-browser", "--port", "0"),
)
"""As the command, which forks its robots; other programs start new processes."""


@dataclass
class Live:
    process: subprocess.Popen[str]
    url: str
    folder: Path


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with run_live("--controllers", "smart", "--out", folder=tmp_path / "live") as found:
        yield found


@contextmanager
def run_live(*words: str, folder: Path) -> Iterator[Live]:
    """Run the command with `folder` as its last word; end it afterwards."""
    process = subprocess.Popen(
        [*LIVE, *words, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        yield Live(process, process.stdout.readline().strip(), folder)
    finally:
        if process.poll() is None:
            send_to_all(process, KILL)
        process.communicate()


def wait_until(page: "Page", is_so: Callable[[], bool]) -> None:
    """Poll for slow changes, since the content policy forbids `wait_for_function`."""
    for _ in range(100):
        if is_so():
            return
        page.wait_for_timeout(200)
    assert is_so()


@pytest.mark.slow(covers=False)
@pytest.mark.requirement("JD-23")
def test_user_watches_steers_and_ends_a_robot(
    live: Live,
    browser: "Browser",  # noqa: F811
) -> None:
    page = browser.new_page(viewport={"width": 1024, "height": 640})
    page.set_default_timeout(WAIT_MS)
    heard = listen(page)
    page.goto(live.url)
    page.get_by_text("hottest:").first.wait_for()
    assert "LAnklePitch" in page.locator("#robots").inner_text()
    page.frame_locator("#view").locator("canvas").first.wait_for()
    pad = page.get_by_label("head pad")
    pad.click(position={"x": 60, "y": 60})
    page.get_by_text("NO_TOKEN; held by posture").first.wait_for()
    page.get_by_label("Take Head").click()
    page.get_by_text("Head taken from posture").first.wait_for()
    pad.click(position={"x": 60, "y": 60})
    page.get_by_text("HeadYaw and HeadPitch to").first.wait_for()
    slider = page.locator('input[data-joint="HeadYaw"]')
    wait_until(page, lambda: float(slider.input_value()) > 40.0)
    page.get_by_label("text", exact=True).fill("<img src=x onerror=alert(1)>")
    page.get_by_role("button", name="Say", exact=True).click()
    page.get_by_text("refused '<img src=x onerror=alert(1)>'").first.wait_for()
    assert page.locator('img[src="x"]').count() == 0
    page.get_by_role("button", name="Heat", exact=True).click()
    page.get_by_text("HeadYaw is set to 70").first.wait_for()
    page.get_by_role("button", name="Push", exact=True).click()
    page.get_by_text("pushed with 5 N").first.wait_for()
    here = urlsplit(live.url).netloc
    hosts = {
        urlsplit(url.removeprefix("blob:")).netloc
        for url in heard.asked
        if not url.startswith("data:")
    }
    assert hosts == {here}
    assert not [fault for fault in heard.faults if "WebGL" not in fault]
    os.kill(live.process.pid, signal.SIGINT)
    assert live.process.wait(timeout=180) == 130
    page.close()
    for name in ("smart",):
        run = read_run(live.folder / name)
        assert run.state == "done"
        assert len(run.frame) > 10
        assert any("Head taken" in str(event) for event in run.events)


@pytest.mark.slow(covers=False)
def test_nothing_covers_the_robots_on_a_phone(
    live: Live,
    browser: "Browser",  # noqa: F811
) -> None:
    """The control panel of viser is hidden, since the page replaces it."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_default_timeout(WAIT_MS)
    page.goto(live.url)
    inside = page.frame_locator("#view")
    inside.locator("canvas").first.wait_for()
    inside.get_by_text("Save Canvas").wait_for(state="attached")
    assert not inside.get_by_text("Save Canvas").is_visible()
    page.close()


@pytest.mark.slow(covers=False)
def test_page_shows_misaligned_joints_and_their_savings(
    tmp_path: Path,
    browser: "Browser",  # noqa: F811
) -> None:
    """Without the 3-D view.

    Ten joints of the preset are misaligned; correcting a hip pitch saves most.
    """
    with run_live(
        "--preset", "document", "--controllers", "fixed", "--out", folder=tmp_path / "l"
    ) as live:
        page = browser.new_page(viewport={"width": 1024, "height": 640})
        page.set_default_timeout(WAIT_MS)
        page.route("**/view/*", lambda route: route.abort())
        heard = listen(page)
        page.goto(live.url)
        page.get_by_text("hottest: LAnklePitch").first.wait_for()
        page.get_by_role("tab", name="Sensors").click()
        page.locator("#chosen", has_text="LAnklePitch").wait_for()  # the hottest joint
        page.locator('tr[data-joint="LHipPitch"]', has_text="0.88").wait_for()
        page.get_by_role("tab", name="Forecast").click()
        page.get_by_role("button", name="Forecast the next 15 minutes").click()
        ankle = page.locator("#fans figure").filter(has_text="LAnklePitch")
        ankle.get_by_text("80 °C in").wait_for()
        page.get_by_label("joint, supposed").select_option("LAnklePitch")
        page.get_by_role("button", name="What if").click()
        ankle.get_by_text("what if:").filter(has_text="80 °C not reached").wait_for()
        page.get_by_text("LAnklePitch ends at").wait_for()
        page.get_by_role("button", name="Apply").click()
        page.get_by_text("the error of LAnklePitch changes to 0°").first.wait_for()
        page.locator("#if-error-now", has_text="now 0.00°").wait_for()

        page.get_by_role("button", name="Correct each joint in turn").click()
        rows = page.locator("#rights tbody tr")
        rows.nth(3).wait_for()  # unchanged, and three joints
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("fixed: stopped").wait_for()
        watts = [float(one) for one in rows.locator("td:last-child").all_inner_texts()]
        names = rows.locator("td:first-child").all_inner_texts()
        assert names[:2] == ["none", "LHipPitch"]
        assert watts[1:] == sorted(watts[1:])
        assert watts[1] < 0.8 * watts[0]
        page.wait_for_timeout(2500)  # a second request too soon is refused
        rows.nth(1).click()
        page.locator("#outcome", has_text="error of LHipPitch 0°").wait_for()
        assert not [fault for fault in heard.faults if "ERR_FAILED" not in fault]
        page.close()


@pytest.mark.slow(covers=False)
@pytest.mark.requirement("JD-23", "JD-24")
def test_two_tabs_show_the_same_robot_and_one_may_close(
    live: Live,
    browser: "Browser",  # noqa: F811
) -> None:
    """Actions of one tab appear in the other; without the 3-D view."""
    context = browser.new_context(viewport={"width": 1024, "height": 900})
    context.set_default_timeout(WAIT_MS)
    context.route("**/view/*", lambda route: route.abort())
    one, two = context.new_page(), context.new_page()
    for page in (one, two):
        page.goto(live.url)
        page.get_by_text("hottest:").first.wait_for()
    two.locator("#tab-sensors").click()
    two.locator('tr[data-joint="HeadYaw"]').click()
    angle = two.locator('tr[data-joint="HeadYaw"] td[data-reading="target"]')
    assert abs(float(angle.inner_text())) < 5.0
    degc = two.get_by_text("True temperature").locator("xpath=following-sibling::dd[1]")
    assert 10.0 < float(degc.inner_text().split()[0]) < 60.0

    one.locator("summary", has_text="Head").click()
    slider = one.locator('input[data-joint="HeadYaw"]')
    slider.fill("40")
    one.get_by_text("NO_TOKEN; held by posture").first.wait_for()
    one.get_by_label("priority").first.fill("0")
    one.get_by_label("Take Head").click()
    one.get_by_text("blocked by: HeadPitch: posture").first.wait_for()
    one.get_by_label("priority").first.fill("6")
    one.get_by_label("Take Head").click()
    two.get_by_text("Head taken from posture").first.wait_for()
    slider.fill("40")
    one.get_by_text("HeadYaw to 40").first.wait_for()
    wait_until(two, lambda: float(angle.inner_text()) > 35.0)

    one.locator("#hot").select_option("HeadYaw")
    one.get_by_role("button", name="Heat", exact=True).click()
    two.get_by_text("HeadYaw is set to 70").first.wait_for()
    wait_until(two, lambda: float(degc.inner_text().split()[0]) > 65.0)
    two.get_by_text("Picture of CameraTop").click()
    two.locator("#picture img").wait_for()
    before = float(angle.inner_text())
    box = two.locator("#picture img").bounding_box()
    assert box is not None
    two.locator("#picture img").click(
        position={"x": 0.95 * box["width"], "y": 0.5 * box["height"]}
    )
    wait_until(two, lambda: -32.0 < float(angle.inner_text()) - before < -20.0)  # 27°

    one.close()
    two.locator("#tab-schemas").click()
    two.locator("#schema").select_option("hot joint watch")
    two.locator("#wake").click()
    two.locator(".schema .state", has_text="winner").wait_for()
    two.locator(".schema").get_by_role("button", name="Deactivate").click()
    two.locator(".schema .state", has_text="slept").wait_for()
    send_to_all(live.process, signal.SIGINT)
    assert live.process.wait(timeout=180) == 130
    assert read_run(live.folder / "smart").state == "done"
    context.close()


@pytest.mark.slow(covers=False)
@pytest.mark.requirement("JD-23")
def test_recording_is_scrubbed_to_an_event(
    live_run: Path,
    browser: "Browser",  # noqa: F811
    tmp_path: Path,
) -> None:
    """A joint is heated at 0.4 s of 0.8 s; without the 3-D view."""
    folder = Path(shutil.copytree(live_run, tmp_path / "run"))
    with run_live("--replay", folder=folder) as shown:
        page = browser.new_page(viewport={"width": 1024, "height": 900})
        page.set_default_timeout(WAIT_MS)
        page.route("**/view/*", lambda route: route.abort())
        page.goto(shown.url)
        page.get_by_text("hottest:").first.wait_for()
        page.locator('tr[data-joint="HeadYaw"]').click()
        title = page.get_by_text("True temperature")
        degc = title.locator("xpath=following-sibling::dd[1]")
        assert float(degc.inner_text().split()[0]) < 35.0
        page.get_by_role("button", name="HeadYaw is set to 70").click()
        page.locator("#clock", has_text="0.4 of 0.8 s").wait_for()
        page.get_by_label("forward 1 s").click()
        page.locator("#clock", has_text="0.8 of 0.8 s").wait_for()
        assert float(degc.inner_text().split()[0]) > 60.0
        page.get_by_role("button", name="HeadYaw is set to 70").click()
        page.locator("#clock", has_text="0.4 of 0.8 s").wait_for()
        scrubber = page.get_by_label("time", exact=True)
        scrubber.fill("0")
        page.locator("#clock", has_text="0.0 of 0.8 s").wait_for()
        assert float(degc.inner_text().split()[0]) < 35.0
        assert not page.locator("#tab-steer").is_visible()
        page.get_by_role("button", name="Video").click()
        page.locator("#going", has_text="video.mp4").wait_for()
        assert (shown.folder / "video.mp4").stat().st_size > 10_000

        page.get_by_label("forward 1 s").click()
        page.locator("#clock", has_text="0.8 of 0.8 s").wait_for()
        page.get_by_role("button", name="Live from here").click()
        page.locator("#tab-steer").wait_for()  # the same address with another server
        page.get_by_text("hottest: HeadYaw").first.wait_for()
        page.get_by_role("button", name="Take").first.click()
        page.get_by_text("Head taken").wait_for()
        page.close()
        os.kill(shown.process.pid, signal.SIGINT)
        assert shown.process.wait(timeout=180) == 130


SCENARIO = """
name: looking
about: One looks around.
duration_s: 600
posture: Stand
reservations: {preemption: by_priority}
behaviours:
  - {name: Looker, schema: look around, with: {for_s: 500.0}, policy: lock}
expect:
  - {never: {fallen: true}}
"""


@pytest.mark.slow(covers=False)
@pytest.mark.requirement("JD-23")
def test_scenario_holds_the_head_until_it_is_preempted(
    browser: "Browser",  # noqa: F811
    tmp_path: Path,
) -> None:
    """The refusal names the holder; without the 3-D view."""
    file = tmp_path / "looking.yaml"
    file.write_text(SCENARIO, "utf-8")
    with run_live(str(file), "--out", folder=tmp_path / "live") as live:
        page = browser.new_page(viewport={"width": 1024, "height": 900})
        page.set_default_timeout(WAIT_MS)
        page.route("**/view/*", lambda route: route.abort())
        page.goto(live.url)
        page.get_by_text("scenario looking: 600 s").first.wait_for()
        head = page.locator('.group[data-name="Head"]')
        head.get_by_text("Looker").wait_for()
        pad = page.get_by_label("head pad")
        pad.click(position={"x": 60, "y": 60})
        page.get_by_text("NO_TOKEN; held by Looker").first.wait_for()
        page.get_by_label("priority").first.fill("0")
        page.get_by_label("Take Head").click()
        page.get_by_text("blocked by: HeadPitch: Looker").first.wait_for()
        page.get_by_label("priority").first.fill("9")
        page.get_by_label("Take Head").click()
        page.get_by_text("Head taken from Looker").first.wait_for()
        head.get_by_text("you", exact=True).wait_for()
        page.locator("#tab-who").click()
        row = page.locator("#holds tr", has_text="Head (2)")
        row.get_by_text("operator (9, lock)").wait_for()
        row.get_by_text("Looker (").wait_for()  # the scenario waits
        spans = page.locator("#spans .span", has_text="Head").locator(".bar span")
        assert spans.all_inner_texts() == ["Looker", "operator"]
        row.click()
        page.locator("#holds tr", has_text="HeadYaw").wait_for()
        page.get_by_text("scenario looking: 600 s").first.wait_for()
        page.close()
        os.kill(live.process.pid, signal.SIGINT)
        assert live.process.wait(timeout=180) == 130
        assert live.process.stderr is not None
        assert "ended early: stopped at" in live.process.stderr.read()
    assert (live.folder / "fixed" / "scenario.json").exists()
