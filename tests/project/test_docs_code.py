"""Links, names and tables of the pages; their blocks are in `test_doc_blocks.py`."""

import re
import subprocess

from tests.project.doc_blocks import ROOT

WRITTEN = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
    for path in ROOT.glob(pattern)
)
GENERATED = {
    ROOT / "docs" / "reference" / name
    for name in (
        "command_line.md",
        "run_columns.md",
        "scenario_keys.md",
        "sweep_keys.md",
    )
}
"""Pages of the built site only; `test_site.py` builds it with all links."""


def slug(heading: str) -> str:
    """Return the anchor that a heading has on a forge."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def test_links_of_pages_have_targets() -> None:
    wrong = []
    found = 0
    for page in WRITTEN:
        text = page.read_text(encoding="utf-8")
        for link, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", text):
            target = page.parent / link if link else page
            found += 1
            if target.resolve() in GENERATED:
                continue
            if not target.exists():
                wrong.append(f"{page.name}: {link}")
            elif anchor:
                heads = re.findall(
                    r"^#+ (.*)$", target.read_text("utf-8"), re.MULTILINE
                )
                if anchor not in map(slug, heads):
                    wrong.append(f"{page.name}: {link}#{anchor}")
    assert found > 100
    assert not wrong


def test_a_name_that_links_to_a_module_is_defined_in_it() -> None:
    wrong = []
    found = 0
    for page in WRITTEN:
        text = page.read_text(encoding="utf-8")
        for name, link in re.findall(r"\[`(\w+)`\]\(([^)#]+\.py)\)", text):
            source = (page.parent / link).read_text(encoding="utf-8")
            found += 1
            if not re.search(rf"^(class |def )?{name}\b", source, re.MULTILINE):
                wrong.append(f"{page.name}: {name} is not in {link}")
    assert found
    assert not wrong


def test_pages_named_in_files_exist() -> None:
    """By path from the root; messages, docstrings and tests included."""
    named = subprocess.run(
        ["git", "grep", "-hoE", r"\bdocs/[a-z_/]+\.(md|csv|png|gif)\b"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    names = set(named.stdout.split())
    assert len(names) > 30
    assert not [name for name in names if not (ROOT / name).exists()]


def test_every_row_of_a_table_belongs_to_a_head() -> None:
    """An empty line ends a table: later rows would be plain text."""
    head = re.compile(r"(?<=\n\n)\|.*\n(?!\|[ :|-]+\|\n)")
    wrong = {
        page.name: rows
        for page in WRITTEN
        if (rows := head.findall("\n" + page.read_text(encoding="utf-8")))
    }
    assert not wrong


def test_paths_in_the_architecture_exist() -> None:
    """Every path in it, such as `controllers/registry.py` or `sim/sensors/`."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", text)
    assert len(paths) > 20
    assert not [path for path in paths if not (ROOT / path).exists()]


USER_PAGES = sorted(
    page
    for folder in ("", "start/", "guides/", "guides/logs/", "concepts/")
    for page in (ROOT / "docs").glob(f"{folder}*.md")
)
MOST_WORDS = 1500
"""Words of a user page; protocols and histories are in `docs/measured/`."""


def test_a_page_for_users_is_short() -> None:
    assert len(USER_PAGES) > 30
    words = {page.name: len(page.read_text("utf-8").split()) for page in USER_PAGES}
    assert not {name: n for name, n in words.items() if n > MOST_WORDS}


def test_a_measured_page_has_a_record_of_dates_and_commits() -> None:
    """Except the generated list of tests."""
    wrong = []
    for page in (ROOT / "docs" / "measured").glob("*.md"):
        record = page.read_text("utf-8").partition("\n## Record\n")[2]
        rows = re.findall(r"^\| .+ \| \d+ \w+ \| [0-9a-f]{8} \|$", record, re.MULTILINE)
        if not rows and page.name != "requirements.md":
            wrong.append(page.name)
    assert not wrong


def test_the_folders_of_the_docs_are_small() -> None:
    folders = [ROOT / "docs", *(p for p in (ROOT / "docs").rglob("*") if p.is_dir())]
    for folder in folders:
        entries = [p.name for p in folder.iterdir() if p.name != "__pycache__"]
        assert len(entries) <= 12, folder
