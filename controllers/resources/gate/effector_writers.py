"""Writers of lights and of sound; what they ask of a value is the robot's own check.

Neither has to be made safe: LEDs without a commander stay as they are told last, and a
loudspeaker that gets no further chunk is silent from the next slot on.
"""

from controllers.command_check import check_leds, check_sound
from controllers.effectors import LedSetting, SoundChunk
from controllers.resources.gate.device_map import LedLeaf, SpeakerLeaf
from controllers.resources.gate.outputs import Outputs
from controllers.robot_interface import Observation
from models import BadInput
from models.real_numbers import short


class LedWriter:
    """Colours of one or several LED groups: the same `LedSetting` for all of them."""

    __slots__ = ("_groups", "_name", "_names", "_outputs", "joints")

    def __init__(self, leaf: LedLeaf, outputs: Outputs) -> None:
        """Command the LED groups of a leaf."""
        self.joints: tuple[int, ...] = ()
        self._name = leaf.name
        self._groups = leaf.groups
        self._names = tuple(group.name for group in leaf.groups)
        self._outputs = outputs

    def accept(self, value: object) -> LedSetting:
        """Accept a setting with the channels of every group of the leaf."""
        if not isinstance(value, LedSetting):
            raise BadInput(
                f"value of {self._name!r} is {short(value)}; give a LedSetting: "
                "colours, and a time to fade."
            )
        for group in self._groups:
            check_leds(value, group)
        return value

    def put(self, value: LedSetting) -> None:
        """Let the groups fade from this slot on."""
        outputs = self._outputs
        if outputs.leds is None:
            outputs.leds = {}
        for name in self._names:
            outputs.leds[name] = value

    def make_safe(self, observation: Observation) -> None:
        """Leave the LEDs as they were told last."""


class SpeakerWriter:
    """One slot of sound, a `SoundChunk`, for all loudspeakers."""

    __slots__ = ("_name", "_outputs", "_slot_s", "_speakers", "joints")

    def __init__(self, leaf: SpeakerLeaf, outputs: Outputs, slot_s: float) -> None:
        """Command the loudspeakers, a chunk of at most `slot_s` at a time."""
        self.joints: tuple[int, ...] = ()
        self._name = leaf.name
        self._speakers = leaf.speakers
        self._slot_s = slot_s
        self._outputs = outputs

    def accept(self, value: object) -> SoundChunk:
        """Accept a chunk that is over when the slot is, of a rate that is played."""
        if not isinstance(value, SoundChunk):
            raise BadInput(
                f"value of {self._name!r} is {short(value)}; give a SoundChunk: "
                "samples, their rate and a label."
            )
        check_sound(value, self._speakers)
        most = self._slot_s * value.sample_rate_hz
        if len(value.samples) - 1 >= most:  # a sample that has begun is played
            raise BadInput(
                f"sound {value.label!r} has {len(value.samples)} samples for one slot "
                f"of {self._slot_s * 1e3:g} ms; give at most {_rounded_up(most)} and "
                "the rest in the slots after it."
            )
        return value

    def put(self, value: SoundChunk) -> None:
        """Let it be heard in this slot."""
        self._outputs.sound = value

    def make_safe(self, observation: Observation) -> None:
        """Do nothing: without a chunk there is no sound."""


def _rounded_up(samples: float) -> int:
    return -int(-samples // 1)
