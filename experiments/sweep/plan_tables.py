"""What `--dry-run` shows: the parameters of a sweep, and its first trials."""

from collections.abc import Iterator
from itertools import groupby, islice

from rich.table import Table

from experiments.sweep.spec import Parameter, SweepSpec
from experiments.sweep.values import Choice, Fixed, Grid, Normal, Uniform, Values
from models.plain_table import plain_table

FIRST_TRIALS = 8
MOST_COLUMNS = 5


def words_of(values: Values) -> str:
    """Return what a parameter may be, in words."""
    match values:
        case Fixed(value):
            return _text(value)
        case Grid(several):
            return "each of " + ", ".join(_text(value) for value in several)
        case Uniform(low, high):
            return f"uniform from {low:g} to {high:g}"
        case Normal(mean, deviation, (low, high)):
            clip = f", within {low:g} to {high:g}" if values.is_clipped else ""
            return f"normal, {mean:g} ± {deviation:g}{clip}"
        case Choice(options):
            return "one of " + ", ".join(_text(option) for option in options)


def parameter_table(spec: SweepSpec) -> Table:
    """Return all parameters and what they may be; like joints share a line."""
    table = plain_table(f"\nParameters of {spec.name}")
    table.add_column("parameter")
    table.add_column("of")
    table.add_column("values")
    for name, joints, values in _lines(spec.parameters):
        table.add_row(name, joints, words_of(values))
    return table


def _lines(parameters: tuple[Parameter, ...]) -> Iterator[tuple[str, str, Values]]:
    def kind(parameter: Parameter) -> tuple[str, Values]:
        return parameter.name.partition(".")[0], parameter.values

    for (name, values), alike in groupby(parameters, kind):
        columns = [column for parameter in alike for column in parameter.columns]
        joints = [column.partition(".")[2] for column in columns]
        yield name, _few(joints), values


def _few(joints: list[str]) -> str:
    if len(joints) <= 3:
        return ", ".join(joints)
    return f"{joints[0]}, {joints[1]} and {len(joints) - 2} more"


def trial_table(spec: SweepSpec) -> Table:
    """Return the first trials, by what differs between trials."""
    grids = [parameter.name for parameter in spec.grids]
    drawn = [parameter.name for parameter in spec.drawn]
    shown = [*drawn[: max(0, MOST_COLUMNS - len(grids))], *grids] or ["controller"]
    more = len(drawn) + len(grids) - len(shown)
    title = f"First trials of {spec.n_trials:,}".replace(",", " ")
    if more > 0:
        title += f", without {more} more columns that are drawn"
    table = plain_table(f"\n{title}")
    table.add_column("robot", justify="right")
    for name in shown:
        table.add_column(name.replace(".", "\n"), overflow="fold")
    for trial in islice(spec.trials(), FIRST_TRIALS):
        cells = (_text(trial.parameters[name]) for name in shown)
        table.add_row(str(trial.robot), *cells)
    return table


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
