"""Product code names no joint, link or posture of one robot: these are data.

A string counts if it is such a name or contains one as a word. Postures that are also
verbs ("Stand up.") count only alone. Docstrings and comments do not count: they state
the robot on which a number was measured.
"""

import ast
import re
from functools import cache
from pathlib import Path

from nao_testbed.models import load_robot
from tests.project.sources import parsed, walk

ROOT = Path(__file__).parents[2]
ROOMS = ("controllers", "sim", "experiments", "models", "src/nao_testbed", "studies")
ALLOWED = (
    "experiments/server/naoqi/",  # the interface of that robot
    "sim/naoqi/",  # its driver
    "experiments/heat/published.py",  # published data of that robot
    "studies/predict_published/",  # and derived data
    "studies/preset_search.py",
    "studies/example_log.py",  # a synthetic log of that robot, for a notebook
)
VERBS = {"Stand", "Sit", "Crouch"}


@cache
def names() -> tuple[set[str], re.Pattern[str]]:
    """Return the names, and a pattern of those that count within a text."""
    nao = load_robot("nao")
    known = {*nao.joint_names, *(link.name for link in nao.links), *nao.postures}
    return known, re.compile(rf"(?<!\w)({'|'.join(sorted(known - VERBS))})(?!\w)")


def docstrings(tree: ast.Module) -> set[ast.expr]:
    """Return strings that are statements: docstrings of all kinds."""
    return {node.value for node in walk(tree) if isinstance(node, ast.Expr)}


def found(text: str) -> list[str]:
    """Return the strings in a module that name a part of the robot."""
    tree, (known, words) = parsed(text), names()
    spoken = docstrings(tree)
    return [
        node.value
        for node in walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if node not in spoken and (node.value in known or words.search(node.value))
    ]


def test_product_code_names_no_part_of_a_robot() -> None:
    files = {
        path.relative_to(ROOT).as_posix(): path
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if not any(parent.is_symlink() for parent in path.parents)
    }
    assert len(files) > 300
    assert all(any(file.startswith(a) for file in files) for a in ALLOWED)
    literals = [
        f"{file}: {text!r}"
        for file, path in files.items()
        if not file.startswith(ALLOWED)
        for text in found(path.read_text("utf-8"))
    ]
    assert not literals, f"{len(literals)} names:\n" + "\n".join(literals)


def test_pages_name_no_joint_of_a_robot() -> None:
    joints = re.compile(rf"\b({'|'.join(load_robot('nao').joint_names)})\b")
    pages = [
        p for end in ("js", "html", "j2") for p in ROOT.glob(f"experiments/**/*.{end}")
    ]
    assert len(pages) > 10
    named = {p.name: joints.findall(p.read_text("utf-8")) for p in pages}
    assert not {name: found for name, found in named.items() if found}


def test_names_are_found() -> None:
    code = '''"""LKneePitch."""
say(f"turn {x} of HeadYaw=1"); go("Stand"); tell("Stand up."); x = "torso@0,0,0"
'''
    assert sorted(found(code)) == [" of HeadYaw=1", "Stand", "torso@0,0,0"]
