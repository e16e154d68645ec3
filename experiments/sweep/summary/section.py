"""Section of a page for a sweep: parameters, results, each trial.

Two tables document it: every parameter with its values; versions, seed and machine. The
sweep's file follows unchanged.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Any

from pydantic import TypeAdapter, ValidationError

from nao_testbed.experiments.common.drawing.number_text import duration
from nao_testbed.experiments.common.drawing.page import (
    DataTable,
    PageFigure,
    PlannedFigure,
    Section,
    TextBlock,
    draw_figures,
)
from nao_testbed.experiments.heat.figures.section import push_text
from nao_testbed.experiments.sweep.spec import (
    CASE,
    Choice,
    Fixed,
    Grid,
    Normal,
    Uniform,
    Values,
    distribution_text,
    value_text,
)
from nao_testbed.experiments.sweep.summary import (
    compared,
    controllers_of,
    is_near_published,
    is_pushed,
)
from nao_testbed.experiments.sweep.summary.show import has_pairs
from nao_testbed.experiments.sweep.summary.tables import sweep_tables, trial_tables
from nao_testbed.experiments.sweep.sweep_table import Sweep, SweepFolder
from nao_testbed.experiments.sweep.sweep_trial import QUIET
from nao_testbed.models import BadInput

NO_PARAMETERS = {"robot", "robots", "seed", "pushes", "fast_forward", "keep", "cases"}
"""Keys of an identity that are shown elsewhere."""
MAX_JOINTS = 3
"""Maximum number of joints that are listed."""


def parameter_table(identity: Mapping[str, Any]) -> DataTable:
    """Return a row per parameter with its values; joints of equal values share one.

    Args:
        identity: identity of the sweep (`experiments.sweep.trial_store.identity`).
    """
    return DataTable.of(
        "Parameters",
        ("parameter", "of", "values"),
        _lines(identity),
        "A list is a grid, run with every robot; a distribution is sampled once for "
        "each robot, from the seed, its number and the name of the parameter.",
        texts=(0, 1, 2),
    )


def origin_table(sweep: Sweep) -> DataTable:
    """Return a table of the sweep's machine, versions and seed."""
    meta = sweep.meta
    commits = sweep.frame["commit"].dropna().unique() if "commit" in sweep.frame else ()
    facts = {
        "name": meta["name"],
        "robot": meta["identity"].get("robot", "unknown"),
        "robots": meta["robots"],
        "seed": meta["seed"],
        "started (UTC)": str(meta["started_utc"])
        .removesuffix("+00:00")
        .replace("T", " "),
        "commit": ", ".join(map(str, commits)) or meta["commit"] or "unknown",
        **{
            name if name == "machine" else f"version of {name}": version
            for name, version in meta["versions"].items()
        },
    }
    rows = ((name, str(value)) for name, value in facts.items())
    return DataTable.of("Provenance", ("", "value"), rows, texts=(0, 1))


_KINDS: Mapping[object, TypeAdapter[Any]] = {
    kind.__name__.lower(): TypeAdapter(kind)
    for kind in (Fixed, Grid, Uniform, Normal, Choice)
}


def values_from(data: object) -> Values | None:
    """Return the values of a parameter from the folder; None for other data."""
    try:
        match data:
            case {**kinds} if len(kinds) == 1:
                ((kind, inside),) = kinds.items()
                found: Values = _KINDS[kind].validate_python(inside)
                return found
    except (BadInput, KeyError, ValidationError):
        pass
    return None


def _lines(identity: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    known = [
        (
            *name.partition(".")[::2],
            f"damaged: {data!r:.60}"
            if (values := values_from(data)) is None
            else distribution_text(values),
        )
        for name, data in identity.items()
        if name not in NO_PARAMETERS
    ]
    for (name, words), alike in groupby(known, lambda line: (line[0], line[2])):
        joints = [joint for _, joint, _ in alike]
        yield name, _joint_list(joints), words
    for case, given in (identity.get("cases") or {}).items():
        words = ", ".join(f"{name} {value_text(v)}" for name, v in given.items())
        yield CASE, case, words or "as in the other rows"
    for push in identity.get("pushes") or ():
        yield "push", "", push_text(push)
    if (jumps := identity.get("fast_forward", {})) is None:
        yield "fast-forward", "", "off: every physics step is simulated"
    elif jumps:
        yield "fast-forward", "", ", ".join(f"{k} {v:g}" for k, v in jumps.items())
    if (keep := identity.get("keep")) is not None:
        near = ", ".join(
            f"{column} {target['value']:g} ± {target['tolerance']:g}"
            for column, target in keep["targets"].items()
        )
        mirrored = "; or with left and right swapped" if keep["mirrored"] else ""
        yield "keep", keep["controller"], f"{near}{mirrored}"


def _joint_list(joints: list[str]) -> str:
    if len(joints) <= MAX_JOINTS:
        return ", ".join(joints)
    return f"{joints[0]}, {joints[1]} and {len(joints) - 2} more"


def sweep_section(found: SweepFolder, prefix: str) -> Section:
    """Return the section of a page for a sweep.

    Args:
        found: loaded folder of the sweep.
        prefix: prefix of the ids in its SVG figures, unique for each section.
    """
    found = found.with_short_names()
    sweep = found.sweep
    problems = [*found.state, *found.problems, *_caveats(sweep)]
    figures = _figures(sweep, prefix, problems)
    return Section(
        name=found.name,
        title=_title(found),
        lead=_lead(sweep),
        warnings=tuple(problems),
        results=sweep_tables(found),
        figures=figures,
        trials=trial_tables(sweep),
        settings=(parameter_table(sweep.meta["identity"]), origin_table(sweep)),
        texts=(TextBlock(caption="The sweep's file", text=sweep.spec),),
    )


def _title(found: SweepFolder) -> str:
    name = str(found.sweep.meta["name"])
    return "Sweep" if name == found.name else f"Sweep {name}"


def _lead(sweep: Sweep) -> str:
    meta = sweep.meta
    robots = "1 robot" if meta["robots"] == 1 else f"{meta['robots']} robots"
    names = ", ".join(controllers_of(sweep))
    minutes = sweep.frame["minutes"].dropna().unique()
    time = f" for {duration(60.0 * float(minutes[0]))}" if len(minutes) == 1 else ""
    about = (meta.get("about") or "").strip()
    return f"{robots}{time} under {names}, seed {meta['seed']}. {about}".strip()


def _caveats(sweep: Sweep) -> list[str]:
    """Return caveats about the numbers."""
    words = []
    frame = sweep.frame
    if failed := int(frame["error"].notna().sum()):
        trials = "1 trial has" if failed == 1 else f"{failed} trials have"
        words.append(f"{trials} no result; see the table of trials for the reasons.")
    if not len(kept := compared(sweep)):
        words.append("No robot fits the rule `keep`: there is no comparison.")
    elif not kept["stands"].any():
        words.append("No robot stood to the end: there is no comparison.")
    commits = frame["commit"].dropna().unique() if "commit" in frame else ()
    if len(commits) > 1:
        words.append(f"The trials were run with {len(commits)} commits of the source.")
    return words


def _figures(sweep: Sweep, prefix: str, problems: list[str]) -> list[PageFigure]:
    """Draw the figures; report and omit one that cannot be drawn."""
    from nao_testbed.experiments.sweep.summary.sweep_figures import (  # noqa: PLC0415  # matplotlib
        band_figure,
        paired_figure,
        spread_figure,
        survival_figure,
    )

    plans = (
        (
            is_pushed(sweep),
            survival_figure,
            "Pushes: share of trials without a fall, with 95 % intervals.",
            "One line per controller over the size of the push. The numbers are in "
            "the table of falls.",
        ),
        (
            QUIET not in sweep.frame,
            spread_figure,
            "All robots: one dot per robot and grid point; median and 5 to 95 %.",
            "Dots of all robots under each controller: loss, temperature, settling, "
            "shift. The numbers are in the tables of controllers and of trials.",
        ),
        (
            has_pairs(sweep),
            paired_figure,
            "The same robots under each controller, with the minimum possible heat.",
            "One line per robot over the controllers: final power of the legs. "
            "The numbers are in the tables of controllers and of trials.",
        ),
        (
            is_near_published(sweep),
            band_figure,
            "Published outcomes among the kept robots.",
            "Dots of the kept robots and the published outcome, by controller. "
            "The numbers are in the table of kept robots.",
        ),
    )
    planned = [
        PlannedFigure(caption=caption, draw=partial(draw, sweep), alt=alt)
        for is_drawn, draw, caption, alt in plans
        if is_drawn
    ]
    return draw_figures(planned, prefix, problems)
