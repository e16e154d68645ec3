"""From the folder of a sweep to its section of a page."""

from functools import partial

from experiments.report.page.draw_figures import PlannedFigure, draw_figures
from experiments.report.page.numbers import duration
from experiments.report.page.sweep.settings import origin_table, parameter_table
from experiments.report.page.sweep.tables import sweep_tables
from experiments.report.page.sweep.trials import trial_tables
from experiments.report.page.views import Figure, Section, TextBlock
from experiments.sweep.published_band import is_near_published
from experiments.sweep.show_summary import has_pairs
from experiments.sweep.summary import compared, controllers_of
from experiments.sweep.summary_source import SweepFolder
from experiments.sweep.table import Sweep


def sweep_section(found: SweepFolder, prefix: str) -> Section:
    """Return what a page shows of a sweep.

    Args:
        found: the folder.
        prefix: of the names within its figures, another for each section of a page.
    """
    sweep = found.sweep
    problems = [*found.state, *found.problems, *_doubts(sweep)]
    figures = _figures(sweep, prefix, problems)
    return Section(
        name=found.name,
        title=_title(found),
        lead=_lead(sweep),
        warnings=tuple(problems),
        results=sweep_tables(found),
        figures=figures,
        trials=trial_tables(sweep),
        settings=(parameter_table(sweep), origin_table(sweep)),
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


def _doubts(sweep: Sweep) -> list[str]:
    """Say what a reader of the numbers must know of them."""
    words = []
    frame = sweep.frame
    if failed := int(frame["error"].notna().sum()):
        trials = "1 trial has" if failed == 1 else f"{failed} trials have"
        words.append(f"{trials} no result; the reasons are among the trials.")
    if not len(kept := compared(sweep)):
        words.append("No robot lies near the wanted outcome: nothing is compared.")
    elif not kept["stands"].any():
        words.append("No robot stood to the end: nothing is compared.")
    commits = frame["commit"].dropna().unique() if "commit" in frame else ()
    if len(commits) > 1:
        words.append(f"The trials were run by {len(commits)} commits of the source.")
    return words


def _figures(sweep: Sweep, prefix: str, problems: list[str]) -> list[Figure]:
    """Draw the figures; one that cannot be drawn is told, and left out."""
    from experiments.sweep.summary_figure import band_figure, paired_figure  # noqa: PLC0415  # matplotlib
    from experiments.sweep.summary_spread_figure import spread_figure  # noqa: PLC0415  # likewise

    plans = [
        PlannedFigure(
            caption="Where the robots lie: a dot a robot and grid point, with median "
            "and 5 to 95 %.",
            draw=partial(spread_figure, sweep),
            alt="Dots of all robots under each controller: loss, temperature, "
            "settling, shift. The numbers are in the tables of controllers and of "
            "trials.",
        )
    ]
    if has_pairs(sweep):
        plans.append(
            PlannedFigure(
                caption="The same robots from controller to controller, beside the "
                "least heat that is possible.",
                draw=partial(paired_figure, sweep),
                alt="A line a robot over the controllers: the power of the legs at the "
                "end. The numbers are in the tables of controllers and of trials.",
            )
        )
    if is_near_published(sweep):
        plans.append(
            PlannedFigure(
                caption="Where the published outcomes lie among the robots that "
                "were kept.",
                draw=partial(band_figure, sweep),
                alt="Dots of the robots that were kept and the published outcome, by "
                "controller. The numbers are in the table of kept robots.",
            )
        )
    return draw_figures(plans, prefix, problems)
