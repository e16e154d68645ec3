"""The page as text: self-contained, escaped, with ordered parts."""

import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from nao_testbed.experiments.common.drawing.page import Section, TextBlock, themed_svg
from nao_testbed.experiments.common.drawing.style import INK
from nao_testbed.experiments.report.write import render_page
from tests.experiments.report.conftest import MARKUP

LARGEST = 5_000_000
VOID = {"meta", "link", "img", "br", "input"}


class Reader(HTMLParser):
    """Collects elements and rejects tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]


@pytest.fixture(scope="module")
def text(page_file: Path) -> str:
    return page_file.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Reader:
    return Reader(text)


def test_page_is_one_file_of_limited_size(page_file: Path, text: str) -> None:
    assert page_file.stat().st_size < LARGEST
    assert [path.name for path in page_file.parent.glob("*.html")] == ["report.html"]
    assert not list(page_file.parent.glob(".*")), "temporary files are left"


def test_page_loads_no_external_resources(page: Reader) -> None:
    """Every address in the page is a fragment or embedded data."""
    names = ("src", "href", "xlink:href", "action", "data", "poster", "srcset")
    for _, attributes in page.elements:
        for name in names:
            address = attributes.get(name)
            assert address is None or address.startswith(("data:", "#")), address
    (policy,) = [a for a in page.all("meta") if a.get("http-equiv")]
    assert "default-src 'none'" in (policy["content"] or "")
    assert "http" not in (policy["content"] or "")


def test_names_are_escaped(page: Reader, text: str) -> None:
    assert not page.all("b")
    assert MARKUP not in text
    assert "&lt;b&gt;bold&lt;/b&gt;" in text


def test_names_and_texts_cannot_close_their_element() -> None:
    section = Section(
        name="</script>",
        title="<!-- x",
        lead="a & b",
        warnings=('"><img src=x>',),
        texts=(TextBlock(caption="file", text="</pre><script>alert(1)</script>"),),
    )
    page = Reader(render_page("</title><b>", [section, section], "me"))
    assert not page.all("img", "b")
    assert len(page.all("script")) == 1


def test_headings_are_in_order_and_parts_have_names(page: Reader) -> None:
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert len(page.all("caption")) == len(page.all("table")) >= 5
    assert {cell.get("scope") for cell in page.all("th")} == {"col", "colgroup", "row"}
    for attributes in page.all("img"):
        assert attributes.get("alt")
    for attributes in page.all("div"):
        if attributes.get("role") in {"img", "region"}:
            assert attributes.get("aria-label")
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_page_starts_with_picture_replay_and_results(text: str) -> None:
    """Figures and the other tables follow; extra rows are folded."""
    body = text[text.index("<main>") :]
    parts = (
        *('class="photo"', 'data-replay="replay1"', ">Results<", ">All results ("),
        *(">Figures<", ">Tables<", "Joints, PoseInit", ">Events<", ">Settings<"),
    )
    places = [body.index(part) for part in parts]
    assert places == sorted(places)
    main, folded = (body[places[i] : places[i + 1]] for i in (2, 3))
    assert "time to 80 °C" in main
    assert "computing time" not in main
    assert "computing time" in folded


def test_numbers_of_the_run_are_on_the_page(text: str, page_file: Path) -> None:
    result = json.loads((page_file.parent / "heat.json").read_text(encoding="utf-8"))
    for trial in result["trials"].values():
        row = trial["joints"]["LAnklePitch"]
        assert f">{row['end_degc']:.1f}<" in text
        assert f">{row['mean_abs_effort_nm']:.2f}<" in text
        assert f">{trial['legs_power_w']:.2f} W<" in text


def test_figure_uses_the_colours_of_the_page() -> None:
    figure = Figure(facecolor="white")
    axes = figure.add_subplot()
    axes.plot([0.0, 1.0], [0.0, 1.0], color=INK)
    axes.set_title("<b> & -- $")
    svg = themed_svg(figure, "run1-0")
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    assert "stroke: var(--ink)" in svg
    assert INK not in svg
    assert "#ffffff" not in svg.split("axes_1")[0], "the background must be transparent"
    assert "<!--" not in svg
    found = re.findall(r'\bid="([^"]+)"', svg)
    assert all(name.startswith("run1-0-") for name in found)
    used = re.findall(r'xlink:href="#([^"]+)"|url\(#([^)]+)\)', svg)
    assert {a or b for a, b in used} <= set(found)
