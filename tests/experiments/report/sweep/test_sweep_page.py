"""The page of a sweep: one file, alone or with runs; sorted in a browser."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nao_testbed.experiments.cli import main
from tests.experiments.common.browser import listen
from tests.experiments.report.conftest import MARKUP
from tests.experiments.report.test_page_text import Reader

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Copy = Callable[[str], Path]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr(
        "nao_testbed.experiments.report.write.heat_figures", lambda *_: []
    )
    monkeypatch.setattr(
        "nao_testbed.experiments.sweep.summary.section._figures", lambda *_: []
    )

    def run(*words: object) -> tuple[int, str, str]:
        argv = ["nao-testbed", "report", *map(str, words), "--no-replay"]
        monkeypatch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run


def test_page_is_one_file_of_escaped_text(sweep_page: Path) -> None:
    text = sweep_page.read_text(encoding="utf-8")
    page = Reader(text)
    assert sweep_page.name == "report.html"
    assert "<h1>Sweep: pairs</h1>" in text
    assert not page.all("b")
    assert MARKUP not in text
    assert "BadInput: &lt;b&gt;bold&lt;/b&gt;" in text
    assert "slope_deg: {uniform: [-2, 2]}" in text, "the sweep file is missing"
    assert len(page.all("svg")) == 2
    assert len(page.all("caption")) == len(page.all("table")) == 8
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))


@pytest.mark.slow(covers=True)
def test_sweep_and_runs_share_a_page(
    report: Run, sweep_folder: Path, copy_of: Copy, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    run = copy_of("run")
    assert report(run, sweep_folder, "--out", out) == (0, f"{out}\n", "")
    text = out.read_text(encoding="utf-8")
    assert "<h1>1 run and 1 sweep: run, pairs</h1>" in text
    first, second = text.index('id="run1"'), text.index('id="run2"')
    assert first < text.index("run: Heat experiment") < second
    assert second < text.index("pairs: Sweep")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"table.parquet": "PAR1"}, "table.parquet cannot be read"),
        ({"sweep.json": "{"}, "there is no table"),
        ({"sweep.json": '{"format": 2}'}, "has format 2; this version reads 1."),
        ({"notes.txt": ""}, "or sweep wrote"),
    ],
)
def test_folder_without_a_sweep_is_refused(
    report: Run, tmp_path: Path, files: dict[str, str], says: str
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    status, out, err = report(folder)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert says in err
    assert not (folder / "report.html").exists()


# -- in a browser -------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(browser: "Browser", sweep_page: Path) -> Iterator["Page"]:
    context = browser.new_context(offline=True)
    page = context.new_page()
    heard = listen(page)
    page.goto(sweep_page.as_uri())
    page.locator("details", has_text="All 30 trials").locator("summary").click()
    yield page
    context.close()
    assert heard.asked == [sweep_page.as_uri()]
    assert not heard.faults


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ("Joule loss, J", ("100", "5000")),
        ("× fixed", ("0.10", "1.00")),
        ("controller", ("fixed", "smart")),
    ],
)
def test_click_sorts_and_second_click_reverses(
    page: "Page", head: str, rows: tuple[str, str]
) -> None:
    table = page.locator("table", has_text="All 30 trials")
    heads = table.locator("thead th")
    place = heads.all_inner_texts().index(head)
    cells = table.locator(f"tbody tr > :nth-child({place + 1})")
    for low, high in (rows, rows[::-1]):
        heads.nth(place).get_by_role("button").click()
        texts = cells.all_inner_texts()
        numbers = [text for text in texts if text != "–"]
        assert (texts[0], numbers[-1]) == (low, high)
        assert "–" not in texts[: len(numbers)], "missing values must be last"
    assert table.locator("th[aria-sort=descending]").count() == 1


@pytest.mark.slow
def test_page_fits_a_phone_and_unfolds_in_print(page: "Page") -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
