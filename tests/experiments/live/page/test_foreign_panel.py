"""Panels of an external package in a browser; the page has no code for them.

The package is on the path with its entry points, like an installed package: the
controller of `examples/third_party_controller`, and a schema.
"""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.common.browser import browser, listen  # noqa: F401
from tests.experiments.live.page.test_page import WAIT_MS, run_live

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("viser", reason="nao-testbed[live] is not installed")

ROOT = Path(__file__).resolve().parents[4]
OURS = ROOT / "examples" / "third_party_controller" / "src"
NAME = "<script>alert(1)"
SCHEMA = """
from nao_testbed.controllers.interface.panel import Line, Panel, Plot, Row
from nao_testbed.controllers.schemas import NoParameters, PerceptiveSchema, SchemaInfo


class Watch(PerceptiveSchema[NoParameters]):
    info = SchemaInfo(
        name="<script>alert(1)", about="Watches.", period_s=0.1
    )

    def perceive(self) -> None:
        pass

    def panel(self) -> Panel:
        newton = float(self.observation.fsr.sum())
        return Panel(
            columns=("N", "<b>said</b>"),
            rows=(Row(name="<img src=x>", values=(newton, "<script>1</script>")),),
            plot=Plot(
                title="both soles", unit="N", lines=(Line(name="f", value=newton),)
            ),
        )
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the package on the path of processes started afterwards."""
    site = tmp_path / "site"
    about = site / "cool_ankles-1.0.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Name: cool-ankles\nVersion: 1.0.0\n", "utf-8")
    (about / "entry_points.txt").write_text(
        "[nao_testbed.controllers]\ncool_ankles = cool_ankles:make_controller\n"
        f"[nao_testbed.schemas]\n{NAME} = sole_watch:Watch\n",
        "utf-8",
    )
    (site / "sole_watch.py").write_text(SCHEMA, "utf-8")
    path = [str(site), str(OURS), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))


@pytest.mark.slow(covers=False)
@pytest.mark.requirement("JD-25")
def test_external_controller_and_schema_show_panels(
    installed: None,
    tmp_path: Path,
    browser: "Browser",  # noqa: F811
) -> None:
    """A setting is changed and an invalid value refused; its text is escaped."""
    words = ("--controllers", "cool_ankles", "--out")
    with run_live(*words, folder=tmp_path / "live") as live:
        page = browser.new_page(viewport={"width": 1024, "height": 900})
        page.set_default_timeout(WAIT_MS)
        page.route("**/view/*", lambda route: route.abort())
        heard = listen(page)
        page.goto(live.url)
        page.get_by_text("hottest:").first.wait_for()
        page.locator("#tab-panels").click()
        card = page.locator(".own", has_text="controller cool_ankles")
        row = card.locator("tbody tr", has_text="LAnklePitch")
        row.wait_for()
        degc, stiffness = (float(x) for x in row.locator("td").all_inner_texts()[1:])
        assert 20.0 < degc < 50.0
        assert 0.3 <= stiffness <= 1.0
        card.locator("svg polyline").nth(3).wait_for(state="attached")
        least = card.locator("input[data-name=least]")
        assert float(least.input_value()) == 0.3
        least.fill("1.5")
        least.press("Enter")
        page.get_by_text("refused: least = 1.5; give a number, at least 0").wait_for()
        least.fill("0.7")
        least.press("Enter")
        page.get_by_text("least of controller cool_ankles is 0.7").wait_for()

        page.locator("#tab-schemas").click()
        page.locator("#schema").select_option(NAME)
        page.locator("#wake").click()
        page.locator(".schema b").filter(has_text=NAME).wait_for()
        page.locator("#tab-panels").click()
        own = page.locator(".own", has_text=f"schema {NAME}")
        own.locator("tbody tr").wait_for()
        name, newton, said = own.locator("td").all_inner_texts()
        assert (name, said) == ("<img src=x>", "<script>1</script>")
        assert 40.0 < float(newton) < 65.0
        assert own.locator("img, script, b").count() == 0
        own.get_by_text("both soles in N").wait_for()
        assert (
            page.locator("body img[src=x], .schema script, #panels script").count() == 0
        )

        page.locator("#controller").select_option("fixed")
        card.wait_for(state="detached")
        assert own.is_visible()
        assert not [fault for fault in heard.faults if "ERR_FAILED" not in fault]
        os.kill(live.process.pid, signal.SIGINT)
        assert live.process.wait(timeout=180) == 130
        page.close()
        events = [str(event) for event in read_run(live.folder / "cool_ankles").events]
        assert any("least of controller cool_ankles is 0.7" in one for one in events)
