"""Harmful YAML is rejected at once with its line, in every reader."""

import dataclasses
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nao_testbed.experiments.scenarios.reading.load import load_scenario
from nao_testbed.experiments.sweep.spec_file.read_spec import read_spec
from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.files import fast_yaml, yaml_tree
from nao_testbed.models.files.yaml_forms import FileErrors
from nao_testbed.models.files.yaml_tree import (
    MAX_ALIAS_VALUES,
    MAX_DEPTH,
    read_tree,
    tree_of,
)
from nao_testbed.models.load.library_files import load_library

AT_ONCE_S = 5.0
"""Limit in s; expanding these files would take minutes or all memory."""
HERE = Path("here.yaml")
ROOT = Path(__file__).resolve().parents[3]
Door = Callable[[Path, str], object]


@pytest.fixture(params=["scenario", "sweep", "library", "robot"])
def door(request: pytest.FixtureRequest, nao: Robot) -> Door:
    """Write a text and read it with the command's reader."""

    def write(path: Path, text: str) -> Path:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    doors: dict[str, Door] = {
        "scenario": lambda f, text: load_scenario(write(f / "a.yaml", text)),
        "sweep": lambda f, text: read_spec(write(f / "a.yaml", text)),
        "library": lambda f, text: (
            write(f / "library" / "a.yaml", text),
            load_library(dataclasses.replace(nao, folder=f)),
        ),
        "robot": lambda f, text: load_robot(write(f / "robot.yaml", text).parent),
    }
    return doors[request.param]


def bomb(levels: int) -> str:
    """Return a text whose every line repeats the previous one ten times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for i in range(1, levels):
        lines.append(f"a{i}: &a{i} [{', '.join(10 * [f'*a{i - 1}'])}]")
    return "\n".join(lines)


ODD = [
    ("b: " + "9" * 5000, "is a whole number of 5000 digits"),
    ("b: 0x" + "f" * 5000, "is a whole number of 5002 digits"),
    ("b: 2020-13-01", "2020-13-01 is a date in YAML"),
    ("b: 2020-01-01 25:00:00", "25:00:00 is a date in YAML"),
    ("b: 2020-01-01 00:00:00 +99:99", "is a date in YAML"),
    ("b: !!int abc", "'abc' is not a whole number"),
    ("b: !!float abc", "'abc' is not a number"),
    ("b: !!bool maybe", "'maybe' is not true or false"),
    ("b: !!null abc", "'abc' is not nothing"),
    ("!!int x: 3", "the key x means a whole number"),
    ("? [1, 2]\n: 3", "a key is a list"),
    ("? {a: 1}\n: 3", "a key is a map"),
    ("null: 2", "the key null means nothing, but keys must be names"),
    ("7: 2", 'for this name write "7"'),
    (": 2", "a key is missing"),
    ("b: 1_000", "is a number with underscores; write 1000"),
    ("b: 1_0.5e3", "is a number with underscores; write 10.5e3"),
    ("b: !!set {a, b}", "tag 'set' is unknown"),
    ("b: !mine abc", "tag '!mine' is unknown"),
    ("b: &b [*b]", "&b refers to itself"),
    ("b: &b {<<: *b}", "&b refers to itself"),
    (r'b: "\UFFFFFFFF"', r"\UFFFFFFFF is beyond the last character, \U0010FFFF"),
    (r'b: "\U00110000"', r"\U00110000 is beyond the last character"),
    (r'b: "\uD800"', r"\uD800 is half of a surrogate pair"),
    (r'"\uDFFF": 1', r"\uDFFF is half of a surrogate pair"),
    (bomb(9).replace("\n", " \n"), "aliases expand to over 10000 more values"),
]


@pytest.mark.parametrize(("text", "words"), ODD, ids=[words for _, words in ODD])
def test_invalid_yaml_is_rejected_with_its_line(
    door: Door, tmp_path: Path, text: str, words: str
) -> None:
    started = time.process_time()
    with pytest.raises(BadInput) as refused:
        door(tmp_path, f"# one line\n{text}\n")
    assert time.process_time() - started < AT_ONCE_S
    assert words in str(refused.value)
    assert ".yaml:" in str(refused.value).splitlines()[0]


def test_error_line_is_the_line_of_the_value() -> None:
    for text, _ in ODD[:-1]:
        with pytest.raises(BadInput, match=r"^here.yaml:3(:\d+)?: "):
            tree_of(f"a: 1\n\n{text}\n", HERE)


def test_a_syntax_error_has_line_and_column() -> None:
    for text, place in [
        ("a: 1\nb: [1, 2]]\n", "2:10"),
        ('a: 1\nb: "\\x0"\n', "2:7"),
        ('a: 1\nb: "ab\\UFFFFFFFF"\n', "2:9"),
        ("a: 1\nbc: \0\n", "2:5"),
        ("%YAML 1." + "9" * 5000 + "\n---\na: 1\n", "1:9"),
    ]:
        with pytest.raises(BadInput, match=rf"^here.yaml:{place}: is not "):
            tree_of(text, HERE)


def test_aliases_may_repeat_but_not_without_bound() -> None:
    least = tree_of("a: &a [1, 2]\nb: [*a, *a]\nc: {<<: &m {x: 1}, y: 2}", HERE)
    assert least["b"] == [[1, 2], [1, 2]]
    assert dict(least["c"]) == {"x": 1, "y": 2}
    shared = "a: &a [" + "x, " * 99 + "]\nb: [" + "*a, " * (MAX_ALIAS_VALUES // 100)
    assert len(tree_of(f"{shared}]", HERE)["b"]) == MAX_ALIAS_VALUES // 100
    with pytest.raises(BadInput, match="2: aliases expand to over"):
        tree_of(f"{shared}*a, *a]", HERE)


def test_depth_includes_expanded_aliases() -> None:
    lines = [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, MAX_DEPTH + 1)]
    with pytest.raises(BadInput, match="nested too deeply, over 100 levels"):
        tree_of("a0: &a0 [1]\n" + "\n".join(lines), HERE)


def test_plain_yaml_values_are_unchanged() -> None:
    text = """
        whole: [-7, +5, 0x1F, 0o17, 9223372036854775807, !!int '5', !!int 6]
        real: [1e3, -.5, .inf, !!float 3]
        text: ["2020-13-01", '1_000', a_b, _, =x, yes, 1:30, !!str 7, "null"]
        rest: [true, ~, , ""]
        again: [&a 1, &a 2, *a]
    """.replace(", ,", ", null,")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = tree_of(text, HERE)
    assert tree["whole"] == [-7, 5, 31, 15, 2**63 - 1, 5, 6]
    assert tree["real"] == [1000.0, -0.5, float("inf"), 3.0]
    assert all(isinstance(one, str) for one in tree["text"])
    assert tree["rest"] == [True, None, None, ""]
    assert tree["again"] == [1, 2, 2]


def test_another_yaml_version_is_rejected() -> None:
    with pytest.raises(BadInput, match=r"YAML 1\.1; files are read as 1\.2"):
        tree_of("%YAML 1.1\n---\na: yes\n", HERE)


def test_a_very_large_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text("# \n" * 700_000, "utf-8")
    with pytest.raises(BadInput, match=r"has 2\.1 MB; a YAML file has at most 2 MB"):
        read_tree(path)


TOKENS = st.sampled_from(
    [
        *("&a ", "*a", "!!int ", "!!bool ", "!!map ", "!x ", "<<: ", "? ", ": ", "- "),
        *("[", "]", "{", "}", ", ", "\n", "\n  ", "a", "null", "2020-01-01", "1_0"),
        *('"\\U', "FFFFFFFF", '"\\u', "D800", "\\x", "%YAML 1." + "9" * 5000, "\0"),
        *("0x", "-", "_", "9" * 30, "1e999", '"', "'", "|\n", "#", "%YAML 1.1\n", "="),
    ]
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TOKENS, max_size=20).map("".join))
def test_any_text_is_read_or_rejected(text: str) -> None:
    with suppress(BadInput):
        tree_of(text, HERE)


def test_all_errors_of_a_file_are_reported_together(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("name: [1]\nabout: 3\nduration_s: -1\n", "utf-8")
    with pytest.raises(FileErrors) as refused:
        load_scenario(path)
    assert len(refused.value.errors) == 3


def _lines(tree: Any) -> Any:
    """Return a tree with its types and lines."""
    if not isinstance(tree, fast_yaml.LocatedMap | fast_yaml.LocatedList):
        return type(tree), repr(tree)
    keys: Any = tree if isinstance(tree, dict) else range(len(tree))
    below = [(key, _lines(tree[key])) for key in keys]
    return type(tree), tree.line, tree.lines, below


def _outcome(text: str) -> Any:
    try:
        return _lines(tree_of(text, HERE))
    except BadInput as error:
        return str(error)


PIECES = [*":-#{}[],\"'|>?&*!%@`~\n \\", ": ", "- ", "\n- ", "a:b", "1e3", "0x1F"]
PIECES += ["yes", "2001-01-01", ">-\n  t", "''", '""', "a: ", "- - ", "---", "\x01"]


def test_libyaml_reads_plain_texts_as_ruamel_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    texts = [path.read_text("utf-8") for path in sorted(ROOT.glob("*/**/*.yaml"))]
    assert sum(map(fast_yaml.is_plain, texts)) > 30
    mutants = [text for text in texts if len(text) < 800]
    for lines in [rng.choice(texts).split("\n") for _ in range(150)]:
        first = rng.integers(len(lines))
        text = "\n".join(lines[first : first + 5])
        for place in rng.integers(len(text) + 1, size=2):
            text = text[:place] + rng.choice(PIECES) + text[place + rng.integers(2) :]
        mutants.append(text)
    plain = [text for text in mutants if fast_yaml.is_plain(text)]
    assert len(plain) > 100
    fast = [_outcome(text) for text in plain]
    monkeypatch.setattr(yaml_tree, "is_plain", lambda _text: False)
    assert fast == [_outcome(text) for text in plain]
