"""What a station's file may say, as pydantic models; its words are a scenario's."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, Strict

from controllers.resources.words import AskerTie, HolderTie, Preemption
from experiments.reservations.wire import MAX_NAMES, Name
from experiments.scenarios.form.base import Part, Priority
from experiments.scenarios.form.behaviours import AnyPolicy, Percent
from models.library_yaml import LibraryForm
from models.resource_node import ResourceKind

LONGEST_WAIT_S = 60.0
"""Longest wait of a behaviour at its start: its station waits as long."""

MOST = 500
"""Entries of a list, and behaviours of a file with all their parts."""

SETTLING = {"preemption", "retry_s", "overtake_s"}
"""Keys of the file that are fields of `LedgerCfg`."""

Wait = Annotated[float, Field(ge=0.0, le=LONGEST_WAIT_S)]
Period = Annotated[float, Strict(), Field(ge=0.01, le=3600.0)]
Names = Annotated[list[Name], Field(max_length=MAX_NAMES)]


class OwnerForm(Part):
    """What holds for an owner that registers by a name, whatever it says itself."""

    name: Name
    priority: Priority | None = None
    """From 0, low, to 9, high."""
    max_priority: Priority | None = None
    """The highest that its requests may have."""
    policy: AnyPolicy | None = None
    """What is answered for it who wants what it holds."""
    timeout_s: Annotated[float, Field(ge=0.0, le=86_400.0)] | None = None
    """Longest wait of its requests, in s."""
    asker_tie: Annotated[AskerTie, Field(strict=False)] | None = None
    holder_tie: Annotated[HolderTie, Field(strict=False)] | None = None


class BehaviourForm(Part):
    """A behaviour as data, with the words of a scenario's (RM-47, RM-50, RM-58)."""

    name: Name
    schema_: Annotated[Name | None, Field(alias="schema")] = None
    """A registered schema, such as look around; absent: it only holds resources."""
    with_: dict[str, Any] = Field(alias="with", default_factory=dict)
    """Its parameters."""
    needs: Names | None = None
    """Resources without which it does not run; absent: those that its schema needs."""
    optional: Names | None = None
    """Resources that it takes if they are free."""
    rates: dict[Name, Percent] | None = None
    """Cumulative resource, such as CPU, to the rate that it must have, in percent."""
    children: "list[BehaviourForm]" = Field(default_factory=list, max_length=MOST)
    """Its parts, to which all that it takes is open."""
    policy: AnyPolicy | None = None
    """What it answers who wants what it holds: lock, stop, pause or callback."""
    priority: Priority = 0
    timeout_s: Wait = 0.0
    """How long it waits for its resources, in s."""
    runs_regardless: bool = False
    """Whether it runs without its needs too."""
    needs_all_children: bool = False
    """Whether it runs only if all its children do."""


class ResourceForm(Part):
    """A resource beside those of the robot, such as a ball."""

    name: Name
    parent: Name
    kind: Annotated[ResourceKind, Field(strict=False)] = ResourceKind.EXCLUSIVE


class StationFile(LibraryForm):
    """The whole file; rules that it leaves out are those that the server began with.

    Motions, lights, sounds, commands and transitions are those of the robot and these.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    preemption: Annotated[Preemption, Field(strict=False)] | None = None
    """Whether a strictly higher priority takes what a holder keeps."""
    retry_s: Period | None = None
    """Period at which holders are told again of those who wait, in s (RM-19)."""
    overtake_s: Annotated[float, Strict(), Field(ge=0.0, le=3600.0)] | None = None
    """How long a request that waits may be passed by equals, in s."""
    resources: list[ResourceForm] = Field(default_factory=list, max_length=MOST)
    owners: list[OwnerForm] = Field(default_factory=list, max_length=MOST)
    behaviours: list[BehaviourForm] = Field(default_factory=list, max_length=MOST)
