"""The documentation site builds without warnings and loads nothing from elsewhere."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.site_pages import mend_links
from nao_testbed.controllers.interface.robot_interface import READINGS
from tests.project.doc_blocks import ROOT

LOADED = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?(\S+)")
"""Resources that a browser fetches for a page."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed (extra docs)")
    folder = tmp_path_factory.mktemp("site")
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={
            **os.environ,
            "NO_MKDOCS_2_WARNING": "1",
            "PYTHONDONTWRITEBYTECODE": "",  # as make has it
            "PYTHONPATH": path,
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[heat](heat.md#settings)", "[heat](heat.md#settings)"),
        ("[refs](../../REFERENCES.md#a)", "[refs](../references.md#a)"),
        ("[start](../../README.md)", "[start](../index.md)"),
        ("[lesson](../../examples/01_stand.py)", "lesson (`examples/01_stand.py`)"),
        ("[`examples`](../../examples/README.md)", "`examples`"),
        (
            "[a_b](../../tests/test_a.py)",
            '<span title="tests/test_a.py">a_<wbr>b</span>',
        ),
        ("```text\n[a](../../b.py)\n```", "```text\n[a](../../b.py)\n```"),
    ],
)
def test_a_link_leads_to_a_page_or_names_its_file(link: str, shown: str) -> None:
    assert mend_links(link, "guides/live.md") == shown


@pytest.mark.slow
def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    loaded = {
        f"{page.relative_to(site)}: {address}"
        for page in pages
        for address in LOADED.findall(page.read_text(encoding="utf-8"))
    }
    assert len(loaded) > len(pages), "no resource found"
    assert not [one for one in loaded if "//" in one.partition(": ")[2]]
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert not list(site.rglob("*.py*")), "code in the pages"
    assert not [text for text in styles if re.search(r"(@import|url\()\W*http", text)]


@pytest.mark.slow
def test_generated_pages_match_the_program(site: Path) -> None:
    def words(page: str) -> str:
        text = (site / "reference" / page).read_text(encoding="utf-8")
        return " ".join(re.sub(r"<[^>]+>", " ", text).split())

    for name in ("heat", "sweep", "scenario run", "naoqi serve", "resources take"):
        assert f"nao-testbed {name}" in words("command_line.html")
    assert "SimulatedRobot" in words("simulated_robot.html")
    assert READINGS["temperature"].about in words("controller.html")
    assert "Temperature of the heating model" in words("run_columns.html")
    assert "granted" in words("scenario_keys.html")
