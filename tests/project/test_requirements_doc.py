"""docs/make_requirements.py reads the markers of the tests as pytest does."""

from pathlib import Path

import pytest

from docs.make_requirements import (
    DOCUMENTS,
    ROOT,
    MarkedTest,
    Requirement,
    complaints,
    find_tests,
    read_catalogue,
    render,
)

CATALOGUE = (
    Requirement(id="ST-1", place="fig. 1", claim="It stands."),
    Requirement(id="ST-2", place="fig. 2", claim="It heats up."),
)
BOTH = (
    MarkedTest(path="tests/test_a.py", name="test_it", requirements=("ST-1", "ST-2")),
)


def marked_in(folder: Path, source: str) -> tuple[MarkedTest, ...]:
    (folder / "tests" / "deep").mkdir(parents=True)
    file = folder / "tests" / "deep" / "test_sample.py"
    file.write_text(f"import pytest\n{source}", encoding="utf-8")
    return find_tests(folder)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            '@pytest.mark.requirement("ST-1", "ST-2")\ndef test_f(): ...',
            [("test_f", ("ST-1", "ST-2"))],
        ),
        (
            '@pytest.mark.slow\n@pytest.mark.requirement("ST-1")\n'
            '@pytest.mark.requirement("ST-2")\ndef test_f(): ...',
            [("test_f", ("ST-1", "ST-2"))],
        ),
        (
            'pytestmark = [pytest.mark.slow, pytest.mark.requirement("ST-1")]\n'
            "def test_f(): ...\n"
            '@pytest.mark.requirement("ST-2")\ndef test_g(): ...',
            [("test_f", ("ST-1",)), ("test_g", ("ST-1", "ST-2"))],
        ),
        (
            '@pytest.mark.requirement("ST-1")\nclass TestC:\n'
            "    def test_f(self): ...\n    def helper(self): ...",
            [("TestC.test_f", ("ST-1",))],
        ),
        ('def test_f():\n    """Holds ST-1."""', []),
        ('@pytest.mark.requirement("ST-1")\ndef helper(): ...', []),
    ],
)
def test_markers_are_found(
    tmp_path: Path, source: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    found = marked_in(tmp_path, source)
    assert [(test.name, test.requirements) for test in found] == expected
    assert all(test.path == "tests/deep/test_sample.py" for test in found)


def test_a_fresh_and_complete_document_passes() -> None:
    assert not list(complaints(CATALOGUE, BOTH, render(CATALOGUE, BOTH)))


@pytest.mark.parametrize("text", [None, "old"])
def test_a_stale_document_is_named(text: str | None) -> None:
    (complaint,) = complaints(CATALOGUE, BOTH, text)
    assert "make docs" in complaint


def test_a_requirement_without_test_is_named() -> None:
    tests = (MarkedTest(path="t.py", name="test_it", requirements=("ST-1",)),)
    (complaint,) = complaints(CATALOGUE, tests, render(CATALOGUE, tests))
    assert complaint.startswith("ST-2 has no test: It heats up.")


def test_an_open_requirement_has_a_text_and_needs_no_test() -> None:
    catalogue = (
        Requirement(id="JD-18", place="3.2", claim="Servers.", open="The log server."),
        Requirement(id="JD-23", place="3.4", claim="A screen.", open="The screen."),
    )
    tests = (MarkedTest(path="t.py", name="test_it", requirements=("JD-18",)),)
    text = render(catalogue, tests)
    assert not list(complaints(catalogue, tests, text))
    assert "| 3.2 | **open**: The log server. Held: [test_it](../../t.py) |" in text
    assert "| 3.4 | **open**: The screen. |" in text


def test_an_unknown_requirement_is_named() -> None:
    tests = (*BOTH, MarkedTest(path="t.py", name="test_x", requirements=("ST-9",)))
    (complaint,) = complaints(CATALOGUE, tests, render(CATALOGUE, tests))
    assert "t.py" in complaint
    assert "'ST-9'" in complaint


def test_each_document_has_its_own_table() -> None:
    catalogue = (*CATALOGUE, Requirement(id="RM-1", place="claim 1", claim="It rests."))
    text = render(catalogue, BOTH)
    assert text.index("[ES2659053T3]") < text.index("| ST-1 |") < text.index("| ST-2 |")
    assert text.index("| ST-2 |") < text.index("[ES2535273T3]") < text.index("| RM-1 |")
    assert text.count("| id |") == 2
    assert "| RM-1 | It rests. | claim 1 | **none** |" in text


def test_a_requirement_of_an_unknown_document_is_named() -> None:
    tests = (MarkedTest(path="t.py", name="test_it", requirements=("XY-1",)),)
    catalogue = (Requirement(id="XY-1", place="fig. 1", claim="It flies."),)
    (complaint,) = complaints(catalogue, tests, render(catalogue, tests))
    assert complaint.startswith("XY-1 in docs/requirements.csv is of no known document")
    assert "ST, RM, AR" in complaint


def test_the_catalogue_has_every_item_of_each_document_once() -> None:
    items = {
        "ST": range(1, 31),
        "RM": range(1, 68),
        "AR": range(1, 33),
        "SY": range(1, 29),
        "JD": range(1, 27),
        "I": (14, *range(22, 30)),  # the model of the rules decides the others
    }
    assert set(items) == set(DOCUMENTS)
    listed = [one.id for one in read_catalogue(ROOT / "docs" / "requirements.csv")]
    assert listed == [f"{d}-{k}" for d, numbers in items.items() for k in numbers]


def test_each_claim_is_one_sentence_that_fits_a_table() -> None:
    for one in read_catalogue(ROOT / "docs" / "requirements.csv"):
        assert one.place, one.id
        assert one.claim.endswith("."), one.id
        assert len(one.claim) <= 200, one.id
        assert "|" not in one.claim + one.place + one.open, one.id
        assert not one.open or one.open.endswith("."), one.id
