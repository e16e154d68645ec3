"""The page in a real browser without network access."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from tests.experiments.common.browser import listen

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Frame, Page, ViewportSize

LATEST_MS = 120_000
"""Limit for hanging pages; an idle machine needs less than a tenth."""
POLL_MS = 250
SMALL: "ViewportSize" = {
    "width": 460,
    "height": 460,
}  # rendering is slow without a graphics card

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(browser: "Browser", page_file: Path) -> Iterator["Page"]:
    """The page opened from its file; errors and requests are checked at the end."""
    context = browser.new_context(offline=True, color_scheme="dark", viewport=SMALL)
    page = context.new_page()
    page.set_default_timeout(LATEST_MS)
    heard = listen(page)
    page.goto(page_file.as_uri())
    yield page
    context.close()
    assert [url for url in heard.asked if not url.startswith(("data:", "blob:"))] == [
        page_file.as_uri()
    ]
    assert not heard.faults


@pytest.fixture(scope="module")
def replay(page: "Page") -> "Frame":
    page.locator(".stage").scroll_into_view_if_needed()
    slider = page.frame_locator(".stage iframe").locator("[role=slider]")
    slider.wait_for(state="attached")
    (frame,) = page.frames[1:]
    return frame


def seen(page: "Page") -> np.ndarray:
    picture = page.locator(".stage").screenshot()
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"), dtype=int)


def test_replay_slider_sets_the_time(page: "Page", replay: "Frame") -> None:
    """A click stops the replay; positions on the bar map linearly to 3 s."""
    bar = replay.locator(".mantine-Slider-trackContainer").first
    clock = replay.locator("input").first
    told_s = np.nan
    for part in (0.5, 0.2, 0.9):
        wanted = pytest.approx(3.0 * part, abs=0.1)
        for number in range(LATEST_MS // POLL_MS):
            if number % 20 == 0:  # click again: the scene may not have loaded yet
                box = bar.bounding_box()  # the page may have grown
                assert box is not None
                middle = box["y"] + box["height"] / 2.0
                page.mouse.click(box["x"] + part * box["width"], middle)
            page.wait_for_timeout(POLL_MS)
            told_s = float(clock.input_value())
            if told_s == wanted:
                break
        assert told_s == wanted
    page.wait_for_timeout(POLL_MS)
    assert float(clock.input_value()) == told_s, "the replay continues after a click"


def test_replay_shows_robots_in_colours(page: "Page", replay: "Frame") -> None:
    for _ in range(LATEST_MS // POLL_MS):
        image = seen(page)[:-50]  # without the bar
        is_colourful = np.ptp(image, axis=2) > 60
        if is_colourful[:, image.shape[1] // 2 :].mean() > 1e-3:
            break
        page.wait_for_timeout(POLL_MS)
    else:
        pytest.fail("no coloured joint is visible")
    assert image.std() > 10.0, "blank canvas"
    assert image[5, -5].mean() < 60, "the background is as dark as the page"


def test_page_fits_a_phone_and_paper(page: "Page") -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.emulate_media(media="print")
    assert not page.locator(".stage").is_visible()
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert ink == "rgb(0, 0, 0)"
    page.emulate_media(media="screen")
