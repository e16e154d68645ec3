"""What `resources.yaml` may say: names of composites, classes and leaves (RM-4, RM-7).

Parts are listed by name, so the file stays flat however deep the tree is. The motors
of the robot are leaves by themselves.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from models.resource_node import ResourceKind
from models.rows import Name

ResourceName = Annotated[str, Field(min_length=1, pattern=r"^\S(.*\S)?$")]
"""May hold blanks inside, as `Left leg` does."""
Parts = Annotated[tuple[ResourceName, ...], Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InstancePart(_Part):
    """A composite whose parts are those of a class, each behind a prefix."""

    class_name: Annotated[ResourceName, Field(alias="class")]
    prefix: str


class LeafPart(_Part):
    """A leaf that is no motor; with one device, or none."""

    kind: ResourceKind = ResourceKind.EXCLUSIVE
    leds: tuple[Name, ...] = ()
    """LED groups of the robot that it sets."""
    speakers: tuple[Name, ...] = ()
    """Loudspeakers of the robot that it drives."""
    stiffness: tuple[Name, ...] = ()
    """Joint groups or joints whose torque limits it sets."""


class ResourceFile(_Part):
    """The whole file."""

    root: ResourceName
    """The composite that all else is under."""
    classes: dict[ResourceName, Parts] = {}
    """Parts without their prefix."""
    composites: dict[ResourceName, Parts]
    instances: dict[ResourceName, InstancePart] = {}
    leaves: dict[ResourceName, LeafPart] = {}
