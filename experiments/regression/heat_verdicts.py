"""Is it hot? Each function says in a sentence what is wrong, or None."""

import pandas as pd

from experiments.standing.results import ArmResult


def not_cooler(
    name: str, loss_j: float, other: str, other_loss_j: float, by: float
) -> str | None:
    """Judge the legs' joule loss against another trial's, both in J.

    Args:
        name: whose loss is judged.
        loss_j: its loss.
        other: with whom it is compared.
        other_loss_j: that one's loss.
        by: share by which it must be less at least; 0 asks for any less.
    """
    most = (1.0 - by) * other_loss_j
    if loss_j < most or (by > 0.0 and loss_j == most):
        return None
    asked = f"at least {100.0 * by:g} % less is asked" if by else "less is asked"
    return (
        f"{name} is not cool enough: its legs turned {loss_j:.4g} J into heat, "
        f"{_compared(loss_j, other_loss_j)} {other}, {other_loss_j:.4g} J; {asked}."
    )


def far_from_least(
    name: str, power_w: float, least_w: float, factor: float
) -> str | None:
    """Judge the legs' last power against the least that the posture allows, in W."""
    if power_w <= factor * least_w:
        return None
    return (
        f"{name} ends far from the least loss: its legs turn {power_w:.3g} W into "
        f"heat, {power_w / least_w:.2f} times the {least_w:.3g} W that the posture "
        f"needs; at most {factor:g} times is allowed."
    )


def settles_late(name: str, result: ArmResult, seconds: float) -> str | None:
    """Judge from when on the legs' power stays near its last value, in s."""
    settled = result.settled_s
    if settled is not None and settled <= seconds:
        return None
    when = "has not settled" if settled is None else f"settled at {settled:.1f} s"
    return (
        f"{name} settles too late: the power of its legs {when}; it must within "
        f"{seconds:g} s."
    )


def too_hot(name: str, truth: pd.DataFrame, most_degc: float) -> str | None:
    """Judge the motors' temperatures.

    Args:
        name: who is judged.
        truth: true temperatures in °C, a column a motor; index time in s.
        most_degc: highest that is allowed.
    """
    peaks = truth.to_numpy().max(axis=0)
    motor = int(peaks.argmax())
    if peaks[motor] <= most_degc:
        return None
    is_above = truth.iloc[:, motor].to_numpy() > most_degc
    first = float(truth.index.to_numpy()[is_above][0])
    return (
        f"{name} gets too hot: motor {truth.columns[motor]} was above {most_degc:g} °C "
        f"at {first:.1f} s and reached {peaks[motor]:.1f} °C."
    )


def _compared(mine: float, theirs: float) -> str:
    if theirs <= 0.0 or mine == theirs:
        return "as much as"
    share = 100.0 * (mine - theirs) / theirs
    return f"{abs(share):.1f} % {'more' if share > 0.0 else 'less'} than"
