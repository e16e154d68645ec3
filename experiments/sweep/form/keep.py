"""The key `keep` of a sweep file: which robots go on to the other controllers."""

from typing import Annotated, Literal

from pydantic import Field

from experiments.scenarios.form.base import Name, Part, Real

Tolerance = Annotated[Real, Field(gt=0.0)]


class KeepForm(Part):
    """All robots run with one controller; those near some outcome run with the rest."""

    controller: Name
    """With which all robots run, one of the sweep's."""
    near: Literal["published"] | dict[Name, Real]
    """Outcome, a column of the table or a joint for its temperature at the end, to its
    value; published: the column `without` of the document."""
    within: Annotated[dict[Name, Tolerance], Field(min_length=1)]
    """Outcome to how far from it a robot may be; others do not matter."""
    mirrored: bool = False
    """Also keep a robot that is near when its left and right are swapped."""
