"""How a schema is to be woken: by a parent, by a scenario, by a test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controllers.arbitration.policies import ConflictPolicy, as_policy
from controllers.arbitration.requests import check_priority, check_timeout
from controllers.arbitration.resource_tree import check_names
from models import BadInput


@dataclass(frozen=True, kw_only=True)
class Waking:
    """Which schema, under what name, with which modulation and which resources.

    What is None is as the schema's declaration says.
    """

    schema: str
    """Name in the registry."""
    name: str = ""
    """Of the instance among its siblings; empty takes the schema's. One schema may have
    several instances, each with its own parameters and memory (JD-13)."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Name to value; the others keep their defaults."""
    order: int = 0
    """Rank among its siblings; of several that are ready the highest goes before, and
    of equals the one that was woken first."""
    needs: tuple[str, ...] | None = None
    optional: tuple[str, ...] | None = None
    rates: Mapping[str, float] | None = None
    priority: int | None = None
    """Of its reservation, 0 to 9; None takes the parent's, or 0."""
    policy: ConflictPolicy | None = None
    """What it answers when its resources are asked for; None takes Lock."""
    timeout_s: float = 5.0
    """Longest wait for its resources, in s; 0 tries once."""
    children: tuple["Waking", ...] = ()
    """For a schema that wakes whom it is given."""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            BadInput: a name has '/' or '.', two children have one name, a priority or
                a time is out of range, the policy is none.
            UnknownName: the policy's name is none.
        """
        if not self.name:
            object.__setattr__(self, "name", self.schema)
        if not self.name.strip() or "/" in self.name or "." in self.name:
            raise BadInput(
                f"behaviour {self.name!r} needs another name: one that is not empty "
                "and has neither '/' nor '.', which paths and variables are written "
                "with."
            )
        for what in ("needs", "optional"):
            names = getattr(self, what)
            if names is not None:
                check_names(names, f"{what} of {self.name!r}")
        if self.priority is not None:
            check_priority(self.priority)
        check_timeout(self.timeout_s)
        if self.policy is not None:
            object.__setattr__(self, "policy", as_policy(self.policy))
        names_below = [child.name for child in self.children]
        for name in names_below:
            if names_below.count(name) > 1:
                raise BadInput(
                    f"{self.name!r} has two children called {name!r}; give each a "
                    "name of its own."
                )

    def require_children(self) -> None:
        """Refuse to wake nobody.

        Raises:
            BadInput: it was given no children.
        """
        if not self.children:
            raise BadInput(f"{self.name!r} has no children; give it at least one.")
