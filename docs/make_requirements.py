"""Write docs/measured/requirements.md: what must hold, and which tests hold it.

The catalogue is `docs/requirements.csv`; a test names what it holds by a marker:

    @pytest.mark.requirement("ST-14", "ST-15")
    def test_forces_balance_the_weight() -> None: ...

The markers are read from the source of the tests, which is not run. `--check` writes
nothing and fails when the document is stale, a requirement that is not said to be open
has no test, or a test names an unknown requirement.
"""

import argparse
import ast
import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

HEADER = """\
# Requirements and their tests

This page lists requirements, their places in the source documents
([references](../../REFERENCES.md)) and the tests that check them. `make docs` writes it
from `docs/requirements.csv` and the markers in `tests/`.
"""
TABLE = """
| id | what must hold | place | tests |
| --- | --- | --- | --- |
"""
DOCUMENTS = {
    "ST": "Joints of variable stiffness [ES2659053T3]",
    "RM": "Manager of resources [ES2535273T3]",
    "AR": "Arbiter with tokens [US11660748B1]",
    "SY": "Effectors that act in synchrony [CN1396856]",
    "JD": "Dynamic hierarchy of schemas [jdec-urjc]",
    "I": "Invariants of every trace",
}
"""Beginning of an id, before the dash, to the document that it is drawn from."""


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One line of the catalogue."""

    id: str
    place: str
    """Where in the document it comes from."""
    claim: str
    """What must hold, in our words."""
    open: str = ""
    """What of it does not work yet, in its own words; empty when all of it holds."""


@dataclass(frozen=True, kw_only=True)
class MarkedTest:
    """A test and the requirements that it names."""

    path: str
    """File, relative to the root of the project."""
    name: str
    requirements: tuple[str, ...]


def read_catalogue(path: Path) -> tuple[Requirement, ...]:
    """Read the catalogue, in its order."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(Requirement(**row) for row in csv.DictReader(file))


def find_tests(root: Path) -> tuple[MarkedTest, ...]:
    """Return the tests under `root`/tests that name a requirement, sorted by file."""
    found: list[MarkedTest] = []
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        place = path.relative_to(root).as_posix()
        found += _tests_in(tree.body, place, _ids_of_module(tree))
    return tuple(found)


def render(catalogue: Sequence[Requirement], tests: Sequence[MarkedTest]) -> str:
    """Return the text of docs/measured/requirements.md: one table for each document."""
    text = HEADER
    for document, requirements in groupby(catalogue, key=_document):
        text += f"\n## {document}\n{TABLE}"
        text += "".join(_line(requirement, tests) for requirement in requirements)
    return text


def complaints(
    catalogue: Sequence[Requirement], tests: Sequence[MarkedTest], text: str | None
) -> Iterator[str]:
    """Yield what is wrong with the document and the markers.

    Args:
        catalogue: what must hold.
        tests: the tests that name a requirement.
        text: the present document, None when there is none.
    """
    known = {requirement.id for requirement in catalogue}
    held = {id_ for test in tests for id_ in test.requirements}
    for test in tests:
        for id_ in sorted(set(test.requirements) - known):
            yield (
                f"{test.path}: {test.name} names the requirement {id_!r}, which is not "
                f"in docs/requirements.csv; correct the marker or add a line there."
            )
    for requirement in catalogue:
        if requirement.id.partition("-")[0] not in DOCUMENTS:
            yield (
                f"{requirement.id} in docs/requirements.csv is of no known document; "
                f"begin its id with one of {', '.join(DOCUMENTS)}, or add a document "
                "to docs/make_requirements.py."
            )
        if requirement.id not in held and not requirement.open:
            yield (
                f"{requirement.id} has no test: {requirement.claim} Mark the test that "
                f'holds it with @pytest.mark.requirement("{requirement.id}").'
            )
    if text != render(catalogue, tests):
        yield (
            "docs/measured/requirements.md is stale; run `make docs` and look at "
            "its diff."
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the document, or with --check compare it; 0 when nothing is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; compare")
    options = parser.parse_args(arguments)
    catalogue = read_catalogue(ROOT / "docs" / "requirements.csv")
    tests = find_tests(ROOT)
    target = ROOT / "docs" / "measured" / "requirements.md"
    if not options.check:
        target.write_text(render(catalogue, tests), encoding="utf-8")
        return 0
    text = target.read_text(encoding="utf-8") if target.exists() else None
    wrong = list(complaints(catalogue, tests, text))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def _document(requirement: Requirement) -> str:
    """Return the title of the document that a requirement is drawn from."""
    family = requirement.id.partition("-")[0]
    return DOCUMENTS.get(family, f"Unknown document {family!r}")


def _line(requirement: Requirement, tests: Sequence[MarkedTest]) -> str:
    """Return the line of the table: the tests that hold it, and what is open."""
    holding = ", ".join(
        f"[{test.name}](../../{test.path})"
        for test in tests
        if requirement.id in test.requirements
    )
    if requirement.open:
        still_open = f"**open**: {requirement.open}"
        holding = f"{still_open} Held: {holding}" if holding else still_open
    return (
        f"| {requirement.id} | {requirement.claim} | {requirement.place} "
        f"| {holding or '**none**'} |\n"
    )


def _tests_in(
    body: Sequence[ast.stmt], path: str, inherited: Mapping[str, None], prefix: str = ""
) -> Iterator[MarkedTest]:
    """Yield the marked tests of a module or class, with the marks it hands down."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            ids = {**inherited, **_ids_of_markers(node.decorator_list)}
            yield from _tests_in(node.body, path, ids, f"{prefix}{node.name}.")
        elif isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef
        ) and node.name.startswith("test"):
            ids = {**inherited, **_ids_of_markers(node.decorator_list)}
            if ids:
                yield MarkedTest(
                    path=path, name=prefix + node.name, requirements=tuple(ids)
                )


def _ids_of_module(tree: ast.Module) -> dict[str, None]:
    """Return the ids of `pytestmark = ...`, in order and once each."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "pytestmark"
            for target in node.targets
        ):
            if isinstance(node.value, ast.List | ast.Tuple):
                return _ids_of_markers(node.value.elts)
            return _ids_of_markers([node.value])
    return {}


def _ids_of_markers(expressions: Sequence[ast.expr]) -> dict[str, None]:
    """Return the ids in calls of `pytest.mark.requirement`, in order and once each."""
    return {
        argument.value: None
        for call in expressions
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) == "pytest.mark.requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


if __name__ == "__main__":
    sys.exit(main())
