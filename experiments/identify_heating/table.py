"""What was identified, as a table for a terminal or a pipe."""

from rich.table import Table

from experiments.common.drawing.plain_table import plain_table
from experiments.identify_heating.identified import Identified, beside_table


def identified_table(found: Identified) -> Table:
    """Return constants, their intervals of 95 %, and the robot's own beside them."""
    fit = found.fit
    rows = sum(int(r.is_known.sum()) for log in found.logs for r in log.records)
    caption = (
        f"{rows} temperatures; residuals {fit.rms_k:.2f} K rms, alike over "
        f"{fit.rows_per_error:.0f} rows"
    )
    if fit.is_ambient_given:
        caption += f"; ambient given as {fit.ambient.value:g} °C"
    names = "; ".join(log.name for log in found.logs)
    table = plain_table(f"C dT/dt = R i² - λ (T - Tₑ), {names}", caption)
    table.add_column("")
    table.add_column("fitted", justify="right")
    table.add_column("from", justify="right")
    table.add_column("to", justify="right")
    table.add_column("unit")
    if found.table is not None:
        table.add_column("robot's table", justify="right")
    for name, estimate, own in beside_table(found):
        cells = [name, *(f"{x:.4g}" for x in (estimate.value, estimate.low))]
        cells += [f"{estimate.high:.4g}", estimate.unit]
        if own is not None:
            cells.append(f"{own:.4g}")
        table.add_row(*cells)
    return table
