"""Blocks of the README and of `docs/` match the present program.

A block is run unless a list of `doc_blocks.py` gives a reason, so that no new block is
forgotten. Other commands are parsed and other code is compiled.
"""

import ast
import contextlib
import importlib
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import typer
from ruamel.yaml import YAML

from nao_testbed.controllers import registry
from nao_testbed.controllers.policies.layout import read_layout
from nao_testbed.controllers.schemas.registry import ENTRY_POINT_GROUP
from nao_testbed.experiments import read_spec
from nao_testbed.experiments.cli import app
from nao_testbed.experiments.scenarios.reading.load import load_scenario
from tests.project.doc_blocks import (
    LANGUAGES,
    NOT_EXECUTED,
    NOT_RUN,
    PAGES,
    ROOT,
    TEXTS,
    Block,
    Command,
    all_blocks,
    appears,
    blocks_of,
    is_listed,
    reason,
)

COMMAND_OF = cache(typer.main.get_command)
MAX_SECONDS = 600.0
"""Timeout of a command on a busy machine, ten times the longest run."""
FROM_PANEL = """
from nao_testbed.controllers.interface.panel import Line, Panel, Plot, Row
from nao_testbed.controllers.interface.panel import Setting, SettingValue
"""
GIVEN: Mapping[str, str] = MappingProxyType({"docs/guides/live.md": FROM_PANEL})
"""Page to the names that its Python blocks assume."""

BAD = """name: bad
minuts: 3
slope_deg: 52
friction: []
controller: fixed
seed: 1
misalignment_deg:
  LAnklPitch: 1
"""
HUGE = """name: huge
controller: [fixed, smart]
friction: [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
slope_deg: {uniform: [-2, 2]}
robots: 1000000000
"""
SMALL = "name: small\ncontroller: fixed\nminutes: 3\n"


COMMANDS = [(b, c) for b in all_blocks("console") for c in b.commands]
SHOWN = {command.line for _, command in COMMANDS if command.printed}
RUN = [
    (block, command)
    for block, command in COMMANDS
    if reason(command) is None and (command.printed or command.line not in SHOWN)
]
"""Except pages whose output another page shows."""
RUN_PAGES = sorted({block.page for block, _ in RUN})
EXECUTED = [b for b in all_blocks("python") if not is_listed(b, NOT_EXECUTED)]
PYTHON_PAGES = sorted({block.page for block in EXECUTED})


# --- every block is known -------------------------------------------------------------


def test_each_block_has_a_language() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert len(blocks) > 50, "too few blocks found"
    unknown = [str(block) for block in blocks if block.language not in LANGUAGES]
    assert not unknown, f"name a language: {', '.join(sorted(LANGUAGES))}"
    fences = [(ROOT / page).read_text("utf-8").count("```") for page in PAGES]
    assert sum(fences) == 2 * len(blocks), "unread fence"


def test_changed_output_is_detected() -> None:
    printed = "head\njoint    start  end\n──────\nLKnee     30.0  41.9\n\ntook 3.4 s\n"
    assert appears("joint start end\n─\nLKnee  30.0 41.9\ntook ... s", printed)
    assert appears("...41.9\n...", printed)
    for shown in ("LKnee 30.0 43.0", "LKnee 30.0", "30.0 41.9", "took ... min"):
        assert not appears(shown, printed)
    assert appears("loss 9519 J 36.04", "loss  9520 J  36.05")
    for printed in ("loss 9521 J 36.04", "loss 9519 J 36.06", "loss 951 J 36.04"):
        assert not appears("loss 9519 J 36.04", printed)


def test_every_listed_block_exists() -> None:
    lines = [command.line for _, command in COMMANDS]
    for words in NOT_RUN:
        assert any(fnmatchcase(line, words) for line in lines), words
    for language, listed in (("python", NOT_EXECUTED), ("text", TEXTS)):
        for key in listed:
            found = [b for b in all_blocks(language) if is_listed(b, {key: ""})]
            assert len(found) == 1, key


def test_tables_of_the_readme_match_the_output() -> None:
    """The tour contains all tables and is run."""
    (text,) = [block for block in blocks_of("README.md") if block.language == "text"]
    printed = [
        c.printed for block, c in COMMANDS if block.page == "docs/start/first_run.md"
    ]
    assert any(appears(text.text, one) for one in printed)


# --- console --------------------------------------------------------------------------


def simple_commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each command of a shell line, without redirections."""
    for part in re.split(r"; ?do |;", re.sub(r" >.*| &$", "", line)):
        words = list(Command(line=part, printed="").words)
        if words and words[0] not in {"for", "done"}:
            yield words


def read_words(words: list[str]) -> None:
    """Parse a command of `nao-testbed` with all its options."""
    command: Any = COMMAND_OF(app)
    name, *rest = ("0" if word.startswith("$") else word for word in words)
    context = command.make_context(name, rest)
    while hasattr(command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)


@pytest.mark.parametrize(
    ("block", "command"), COMMANDS, ids=[f"{b}:{c.line[:60]}" for b, c in COMMANDS]
)
def test_a_command_can_be_typed(block: Block, command: Command) -> None:
    for name, *words in simple_commands(command.line):
        if name == "nao-testbed" and words[-1] != "--help":
            read_words([name, *words])
        elif name == "make":
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert re.search(rf"^{words[0]}:", makefile, re.MULTILINE)
        elif name == "python" and words[0] == "-m":
            assert importlib.util.find_spec(words[1])
        elif name == "python":
            assert (ROOT / words[0]).exists()
        else:
            assert name in {"nao-testbed", "dask", "sbatch", "pytest"}, (
                f"{block}: {name}"
            )


def yaml_of(page: str) -> str:
    return next(block.text for block in blocks_of(page) if block.language == "yaml")


def with_slips() -> str:
    """Return the file of the scenarios page with the errors that the page shows."""
    text = yaml_of("docs/guides/scenarios.md")
    for right, wrong in (
        ("for_s: 2.0", "fors_s: 2.0"),
        ("link: torso", "link: trso"),
        ("holds: {HeadPitch: looking}, w", "holds: {LHand: nodding}, w"),
    ):
        assert right in text
        text = text.replace(right, wrong, 1)
    return text


FILES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "my_scenario.yaml": lambda: yaml_of("docs/guides/scenarios.md"),
        "wrong.yaml": with_slips,
        "hello.yaml": lambda: yaml_of("docs/start/tour.md"),
        "shared.scenario.yaml": lambda: yaml_of("docs/guides/scenarios.md").replace(
            "for_s: 2.0", "for_s: 3.0"
        ),
        "bad.yaml": lambda: BAD,
        "huge.yaml": lambda: HUGE,
        "small.yaml": lambda: SMALL,
        "begun.yaml": lambda: SMALL.replace("minutes: 3", "minutes: 2"),
    }
)
"""Files that the pages mention, to their content."""
BEFORE = MappingProxyType(
    {"docs/guides/sweeps.md": "nao-testbed sweep begun.yaml --out runs/small"}
)
"""Earlier steps of the reader."""
REFUSED = (
    "wrong.yaml",
    "bad.yaml",
    "huge.yaml",
    "small.yaml",
    "shared.",
    "127.0.0.1:1",
)
"""Commands whose page shows their error."""


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell line in a folder, as in an activated environment."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    python_path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": python_path.strip(os.pathsep)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=MAX_SECONDS,
        check=False,
    )


@pytest.fixture(scope="session")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `runs/heat`, of three seconds."""
    folder = tmp_path_factory.mktemp("short_run")
    ran = run("nao-testbed heat --minutes 0.05 --preset document", folder)
    assert ran.returncode == 0, ran.stdout
    return folder


@pytest.fixture
def make_desk(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[[Iterable[str]], Path]:
    """Return a function that prepares a folder for these commands."""

    def make(texts: Iterable[str]) -> Path:
        if any("runs/heat" in text for text in texts):
            runs: Path = request.getfixturevalue("short_run") / "runs"
            shutil.copytree(runs, tmp_path / "runs")
        for name in ("examples", "notebooks"):
            (tmp_path / name).symlink_to(ROOT / name)
        for name, text in FILES.items():
            (tmp_path / name).write_text(text(), encoding="utf-8")
        return tmp_path

    return make


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN_PAGES)
def test_the_commands_of_a_page_print_its_output(
    page: str, make_desk: Callable[[Iterable[str]], Path]
) -> None:
    typed = [(block, command) for block, command in RUN if block.page == page]
    desk = make_desk([command.line for _, command in typed])
    begun = run(BEFORE.get(page, "true"), desk)
    assert begun.returncode == 0, begun.stdout
    wrong = []
    for block, command in typed:
        ran = run(command.line, desk)
        fails = any(word in command.line for word in REFUSED)
        is_shown = not command.printed or appears(command.printed, ran.stdout)
        if not is_shown or (ran.returncode != 0) != fails:
            wrong.append(f"{block}: {command.line}: {ran.returncode}\n{ran.stdout}")
    assert not wrong, "\n".join(wrong)


# --- Python ---------------------------------------------------------------------------


def run_block(block: Block, names: dict[str, object]) -> str:
    """Run a block in the namespace of earlier blocks and return its output."""
    code = "\n" * (block.line - 1) + block.text  # errors name the line of the page
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, block.page, "exec"), names)
    return said.getvalue()


@pytest.mark.slow(covers=True)
@pytest.mark.parametrize("page", PYTHON_PAGES)
def test_the_code_of_a_page_prints_its_output(
    page: str,
    make_desk: Callable[[Iterable[str]], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(make_desk([b.text for b in EXECUTED if b.page == page]))
    names: dict[str, object] = {}
    exec(GIVEN.get(page, ""), names)
    said = ""
    for block in blocks_of(page):
        if block in EXECUTED:
            said = run_block(block, names)
        elif block.language == "text" and not is_listed(block, TEXTS):
            assert appears(block.text, said), f"{block}: it prints\n{said}"
            said = ""


@pytest.mark.parametrize("block", all_blocks("python"), ids=str)
def test_imports_of_code_blocks_exist(block: Block) -> None:
    if "import mjlab" in block.text or "from mjlab" in block.text:
        pytest.importorskip("mjlab")
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                importlib.import_module(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                with contextlib.suppress(ImportError):
                    importlib.import_module(f"{node.module}.{alias.name}")
                assert hasattr(module, alias.name), f"{block}: {alias.name}"


def test_a_text_is_known_or_printed_by_code_before_it() -> None:
    for page in PAGES:
        last = ""
        for block in blocks_of(page):
            if block.language == "text" and not is_listed(block, TEXTS):
                assert last == "python", f"{block}: add the source of the text to TEXTS"
            last = block.language


# --- files ----------------------------------------------------------------------------

WORKFLOW = "docs/guides/ci.md"
SWEEPS = ("docs/measured/controllers.md", "docs/guides/sweeps.md")
READ_ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "docs/guides/server.md": ("experiments/server/service/test_station_schemas.py"),
        "docs/concepts/schemas.md": "controllers/schemas/library/test_declarations.py",
        "docs/guides/scenarios.md": "experiments/scenarios/test_page.py",
    }
)
"""Page to the test that reads all its YAML blocks."""


def test_the_workflow_runs_existing_commands() -> None:
    """The workflow installs the locks and runs pytest with valid options."""
    (block,) = [one for one in all_blocks("yaml") if one.page == WORKFLOW]
    steps = YAML(typ="safe").load(block.text)["jobs"]["test"]["steps"]
    lines = [step["run"] for step in steps if "run" in step]
    assert [line for line in lines if line.startswith("pytest --numprocesses")]
    for name in re.findall(r"testbed/(\S+)", "\n".join(lines)):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize(
    "block", [one for one in all_blocks("yaml") if one.page != WORKFLOW], ids=str
)
def test_a_file_is_valid(block: Block, tmp_path: Path) -> None:
    """Parts of files are completed to a whole file."""
    if block.page in READ_ELSEWHERE:
        tests = (ROOT / "tests" / READ_ELSEWHERE[block.page]).read_text(
            encoding="utf-8"
        )
        assert Path(block.page).name in tests
        return
    is_sweep = block.page in SWEEPS
    path = tmp_path / "page.yaml"
    if block.page == "docs/guides/policies.md":
        path.write_text(block.text, encoding="utf-8")
        assert read_layout(path).observation
        return
    whole = (
        "name: page\n" if is_sweep else "name: page\nabout: A page.\nduration_s: 1\n"
    )
    text = block.text if block.text.startswith("name:") else whole + block.text
    if is_sweep and "controller:" not in text:
        text += "controller: fixed\n"
    path.write_text(text, encoding="utf-8")
    if is_sweep:
        read_spec(path)
    else:
        load_scenario(path)


def test_entry_points_on_pages_use_existing_groups() -> None:
    groups = [
        group
        for block in all_blocks("toml")
        for group in tomllib.loads(block.text)["project"]["entry-points"]
    ]
    assert sorted(groups) == [registry.ENTRY_POINT_GROUP, ENTRY_POINT_GROUP]
