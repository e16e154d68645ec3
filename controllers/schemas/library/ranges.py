"""Tests of parameters: what is wrong, its value and unit, what is accepted."""

from math import isfinite

from models import BadInput


def check_between(
    name: str, value: float, lowest: float, highest: float, unit: str = ""
) -> None:
    """Refuse a parameter outside its range; both ends belong to it.

    Args:
        name: of the parameter.
        value: what was given.
        lowest: least accepted value.
        highest: largest accepted value.
        unit: of all three; empty if they have none.

    Raises:
        BadInput: it is outside, or no finite number.
    """
    if not (isfinite(value) and lowest <= value <= highest):
        of_unit = f" {unit}" if unit else ""
        raise BadInput(
            f"{name} is {value:g}{of_unit}; give {lowest:g} to {highest:g}{of_unit}."
        )
