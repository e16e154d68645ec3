"""Fixtures for page tests in a real browser; without one, the tests are skipped."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Start Chromium for one module, since its event loop occupies the thread."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@dataclass
class Heard:
    """Requests, console messages and errors of a page."""

    asked: list[str] = field(default_factory=list)
    """URLs of its requests."""
    said: list[str] = field(default_factory=list)
    """Its console messages."""
    faults: list[str] = field(default_factory=list)
    """Errors of its scripts, and errors on the console."""


def listen(page: "Page") -> Heard:
    """Return the requests and messages of `page` from now on."""
    heard = Heard()
    page.on("request", lambda request: heard.asked.append(request.url))
    page.on("pageerror", lambda error: heard.faults.append(str(error)))
    page.on("console", lambda said: heard.said.append(said.text))
    page.on(
        "console",
        lambda said: heard.faults.append(said.text) if said.type == "error" else None,
    )
    return heard
