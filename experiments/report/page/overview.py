"""The table that sets the robots of several heat experiments side by side."""

from collections.abc import Sequence

from experiments.report.legs_work import legs_loss
from experiments.report.page.heat_tables import times_least
from experiments.report.page.numbers import NOTHING, number, signed
from experiments.report.page.views import Column, Row, Section, Table
from experiments.report.shown_joints import hottest, shown_joints
from experiments.standing.results import HeatResult

COLUMNS = (
    Column(label="run", is_number=False),
    Column(label="controller", is_number=False),
    Column(label="time, s"),
    Column(label="hottest joint, °C"),
    Column(label="left leg rises, K"),
    Column(label="right leg rises, K"),
    Column(label="legs' loss, J"),
    Column(label="power at the end, W"),
    Column(label="over the least with gear friction"),
    Column(label="ended early", is_number=False),
)


def outcome_rows(run: str, result: HeatResult) -> tuple[Row, ...]:
    """Return a row a robot of a run.

    Args:
        run: what it is called on the page.
        result: of its experiment.
    """
    joints = shown_joints(result)
    return tuple(
        Row(
            cells=(
                run,
                name,
                number(arm.sim_s, 0),
                number(hottest(arm)[1].end_degc) if arm.joints else NOTHING,
                signed(arm.left_leg_rise_k),
                signed(arm.right_leg_rise_k),
                number(legs_loss(arm, joints), 0),
                number(arm.legs_power_w, 2),
                times_least(arm.legs_power_w, arm.least_with_gears_w),
                arm.failure or "no",
            )
        )
        for name, arm in result.arms.items()
    )


def overview_table(sections: Sequence[Section]) -> Table | None:
    """Return the rows of all runs; None where there are not at least two with any."""
    with_rows = [section for section in sections if section.outcome]
    if len(with_rows) < 2:
        return None
    return Table(
        caption="All runs side by side",
        columns=COLUMNS,
        rows=tuple(row for section in with_rows for row in section.outcome),
        note="Compare only runs of the same time, posture and robot: see the settings.",
        is_sortable=True,
    )
