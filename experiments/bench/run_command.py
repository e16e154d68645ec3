"""`nao-testbed bench`: measures, shows a table, writes JSON."""

import sys
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from controllers.registry import check_controllers
from experiments.bench.figures import Figure
from experiments.bench.measure import BenchCfg, BenchResult, Part, run_bench
from experiments.common.drawing.plain_table import plain_table
from experiments.json_file import STDOUT, check_json_file, json_text, write_json
from models import BadInput, UnknownName


def run_bench_command(
    seconds: float,
    json_file: str | None,
    only: str | None = None,
    controllers: Sequence[str] = (),
) -> int:
    """Measure, print the table; return the exit status.

    Args:
        seconds: simulated time of each measured loop in s.
        json_file: also write JSON there; - is stdout, the table then goes to stderr.
        only: name of the part to measure; None measures everything.
        controllers: whose steps are measured; none: those of `BenchCfg`.

    Raises:
        BadInput: the time cannot be measured, the file not be written, or there is no
            such part.
    """
    cfg = BenchCfg(seconds=seconds, only=_part(only))
    if controllers:
        check_controllers(controllers)
        if cfg.only not in {None, Part.HEAT}:
            raise BadInput(
                f"--controllers are measured by the part {Part.HEAT.value}; got --only "
                f"{only}. Leave one of them out."
            )
        cfg = replace(cfg, controllers=tuple(controllers))
    check_json_file(json_file)
    result = _with_progress(cfg)
    write_json(json_file, json_text(result.as_json()))
    to_stderr = json_file == STDOUT
    stream = sys.stderr if to_stderr else sys.stdout
    console = Console(stderr=to_stderr, width=None if stream.isatty() else 100)
    console.print(bench_table(result))
    return 0


def _part(name: str | None) -> Part | None:
    known = [part.value for part in Part]
    if name is None or name in known:
        return None if name is None else Part(name)
    raise UnknownName("Part", name, known, "what can be measured")


def bench_table(result: BenchResult) -> Table:
    """Return the figures as a table, at most 100 columns wide."""
    machine = result.machine
    table = plain_table(
        "Medians of alternating blocks, with their quartiles",
        f"{machine.cores} cores, load average {machine.load_average:.1f} at "
        f"the start; {machine.system}, Python {machine.python}, {machine.engine}",
    )
    table.add_column("What", no_wrap=True)
    for name in ("median", "quartiles", "blocks", "target"):
        table.add_column(name, justify="right", no_wrap=True)
    for figure in result.figures:
        table.add_row(*_cells(figure))
    return table


def _cells(figure: Figure) -> tuple[str, str, str, str, str]:
    unit = "" if figure.unit == "1" else f" {figure.unit}"
    spread = f"{_number(figure.low)} to {_number(figure.high)}"
    return (
        figure.what,
        f"{_number(figure.value)}{unit}",
        spread if figure.blocks > 1 else "",
        str(figure.blocks),
        _target(figure, unit),
    )


def _target(figure: Figure, unit: str) -> str:
    if figure.target is None:
        return ""
    return f"{'≥' if figure.is_at_least else '≤'} {_number(figure.target)}{unit}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def _with_progress(cfg: BenchCfg) -> BenchResult:
    if not sys.stderr.isatty():
        return run_bench(cfg, lambda _stage: None)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task("bench")
        return run_bench(cfg, lambda stage: progress.update(task, description=stage))
