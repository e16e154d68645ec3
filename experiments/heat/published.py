"""Published heat experiment as data: outcomes, presets, and the result of a run.

Two identical robots stand in PoseInit for about 15 minutes, without and with the method
of ES2659053. Its figures 4a to 5b give end temperatures of two joints and the sums of
the rises of the five joints of each leg; start temperatures are not given.

A preset has the misalignments, torque limits and start temperatures of an experiment;
its file names the data that it was fitted to and the command that found it.
`HeatResult` is the result of a simulated experiment, and tells if it is comparable with
the published numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.common.builtin_files import BuiltinFiles
from nao_testbed.experiments.common.robot_setting import (
    ResultSpec,
    RobotSetting,
    annotated_with,
)
from nao_testbed.models.files.yaml_forms import read_yaml
from nao_testbed.models.robot import are_watts_guesses


@dataclass(frozen=True, kw_only=True)
class Published:
    """Column of the published results."""

    end_degc: dict[str, float]
    """Joint to temperature at the end, in °C."""
    left_leg_rise_k: float
    """Sum of the five rises of the left leg, in K."""
    right_leg_rise_k: float
    """Sum of the five rises of the right leg, in K."""


PUBLISHED = {
    "fixed": Published(
        end_degc={"RHipPitch": 60.0, "LAnklePitch": 80.0},
        left_leg_rise_k=109.0,
        right_leg_rise_k=50.0,
    ),
    "smart": Published(
        end_degc={"RHipPitch": 42.0, "LAnklePitch": 48.0},
        left_leg_rise_k=42.0,
        right_leg_rise_k=28.0,
    ),
}
"""Name of our controller to published results: `fixed` is without, `smart` with the
method."""

OTHER_JOINT, HOT_JOINT = PUBLISHED["fixed"].end_degc
"""Published joints, that of the right leg first."""

PRESET, POSTURE, MINUTES = "document", "PoseInit", 15.0
"""Preset of the published robots, their posture, and the time in min."""

LIFETIME_FACTOR = 4.0
"""Published factor, approximate, on the time until the most loaded joint shuts down."""

MAX_DIFFERENCES = 2
"""Number of differences named in one line; further ones are counted."""


def differences(
    posture: str,
    minutes: float,
    misalignment_deg: Mapping[str, float],
    settings: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return the differences of an experiment from the published one.

    The published experiment is the unchanged preset `document`. For any other setting a
    comparison with the published numbers is meaningless.

    Args:
        posture: posture of the robots.
        minutes: simulated time in min.
        misalignment_deg: joint to calibration error in degrees.
        settings: settings as in `HeatResult.settings`; missing keys are skipped.

    Returns:
        A clause for each difference; empty for the published experiment.
    """
    preset = load_preset(PRESET)
    found = [
        f"the posture is {posture}, not {POSTURE}" if posture != POSTURE else "",
        f"the duration is {minutes:g} min, not {MINUTES:g}"
        if minutes != MINUTES
        else "",
    ]
    if any(misalignment_deg.values()):
        words = "the misalignment of {} in degrees"
        fitted = preset.misalignment_deg
        found.append(_joint_differences(words, misalignment_deg, fitted, 0.0))
    else:
        found.append("no joint is misaligned")
    if (starts := settings.get("start_degc")) is not None:
        words, other = "the start temperature of {} in °C", preset.other_start_degc
        found.append(_joint_differences(words, starts, preset.start_degc, other))
    if (limits := settings.get("effort_limits_nm")) is not None:
        words, fitted = "the torque limit of {} in N·m", preset.effort_limits
        limits = {name: limits.get(name) for name in fitted}
        found.append(_joint_differences(words, limits, fitted, None))
    loads = settings.get("payload_kg") or {}
    found += [f"{place} carries {kg:g} kg" for place, kg in loads.items()]
    currents = settings.get("current_limit_a") or {}
    found += [f"the current of {j} is limited to {a:g} A" for j, a in currents.items()]
    boxes = settings.get("obstacles") or {}
    found += [f"the obstacle {name!r} is in its way" for name in boxes]
    setting = RobotSetting().with_defaults(preset.setting)
    values = {"robot": "nao", "robot_folder": None, **setting.result_settings()}
    specs = {
        "robot": ResultSpec("the robot"),
        "robot_folder": ResultSpec("the robot folder", none_text="the built-in one"),
        **{s.key or f.name: s for f, _, s in annotated_with(ResultSpec) if s.label},
    }
    for key, spec in specs.items():
        if key in settings and settings[key] != (value := values.get(key, 0.0)):
            usual = spec.none_text if value is None else value
            usual = f"{value:g}" if isinstance(value, float) else usual
            found.append(f"{spec.label} is {settings[key]}, not {usual}")
    return tuple(clause for clause in found if clause)


def differences_line(found: Sequence[str]) -> str:
    """Return differences as one sentence of bounded length."""
    shown = list(found[:MAX_DIFFERENCES])
    if more := len(found) - len(shown):
        shown.append(f"{more} more difference{'s' * (more > 1)}")
    return f"Not compared with the published experiment: {', '.join(shown)}."


def _joint_differences(
    what: str,
    simulated: Mapping[str, float | None],
    published: Mapping[str, float],
    other: float | None,
) -> str:
    """Return a clause on the joints whose values differ; empty without differences."""
    differing = [
        name
        for name in {**published, **simulated}
        if simulated.get(name, other) != published.get(name, other)
    ]
    if not differing:
        return ""
    first = differing[0]
    value = simulated.get(first, other)
    more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
    return (
        f"{what.format(first)} is {'the default' if value is None else f'{value:g}'}, "
        f"not {published.get(first, other):g}{more}"
    )


@dataclass(frozen=True, kw_only=True)
class HeatResult:
    """Result of an experiment."""

    minutes: float
    posture: str
    seed: int
    misalignment_deg: dict[str, float]
    trials: dict[str, TrialResult]
    settings: dict[str, Any] = field(default_factory=dict)
    """All other settings of the run."""
    failed: dict[str, str] = field(default_factory=dict)
    """Controller to the reason why its robot has no result: the controller raised, or
    the process was killed. The run folder has the data recorded before."""

    @property
    def reference(self) -> TrialResult | None:
        """Trial whose powers are the unit; None: constants are known, powers in W.

        The torque constants and resistances of a robot with `thermal: estimate` are
        guesses, which cancel in a ratio of powers.
        """
        if not are_watts_guesses(self.settings.get("thermal")):
            return None
        known = [trial for trial in self.trials.values() if trial.legs_power_w]
        known.sort(key=lambda trial: trial.controller != "fixed")
        return next(iter(known), self.trials.get("fixed"))

    @property
    def not_comparable(self) -> str | None:
        """Reason against a comparison with the published numbers; None: comparable."""
        found = [
            *differences(
                self.posture, self.minutes, self.misalignment_deg, self.settings
            ),
            *(
                f"{name} ended after {trial.sim_s:.4g} s"
                for name, trial in self.trials.items()
                if name in PUBLISHED
                and (
                    trial.failure is not None or trial.sim_s < 60.0 * self.minutes - 1.0
                )
            ),
        ]
        return differences_line(found) if found else None

    @property
    def published(self) -> Mapping[str, Published]:
        """Published numbers to compare, by controller; empty if not comparable."""
        if self.not_comparable is not None:
            return {}
        return {name: PUBLISHED[name] for name in self.trials if name in PUBLISHED}

    def as_json(self) -> dict[str, Any]:
        """Return the data for `--json`."""
        trials = {name: trial.as_json() for name, trial in self.trials.items()}
        for row in trials.values():
            del row["controller"]
        return {
            "experiment": "heat",
            "minutes": self.minutes,
            "posture": self.posture,
            "seed": self.seed,
            "misalignment_deg": self.misalignment_deg,
            "settings": self.settings,
            "trials": trials,
            "failed": self.failed,
            "published": {name: asdict(p) for name, p in self.published.items()},
            "not_comparable": self.not_comparable,
        }


PRESETS = BuiltinFiles(
    kind="preset", folder=Path(__file__).resolve().parent / "presets"
)


Degrees = Annotated[float, Field(ge=-4.0, le=4.0, allow_inf_nan=False)]


Celsius = Annotated[float, Field(ge=25.0, le=45.0, allow_inf_nan=False)]


Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


class Preset(BaseModel):
    """Content of a preset file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    """Description of the reproduced experiment and of the assumptions."""
    fitted_to: str
    """Published numbers used by the search."""
    found_by: str
    """Command that found the preset."""
    posture: str
    minutes: Positive
    effort_limits: dict[str, Positive]
    """Joint to torque at stiffness 1, in N·m."""
    misalignment_deg: dict[str, Degrees]
    """Joint to calibration error, in degrees."""
    start_degc: dict[str, Celsius]
    """Joint to start temperature, in °C: an assumption, not a published value."""
    other_start_degc: Celsius
    """Start temperature of all other joints, in °C."""

    @property
    def setting(self) -> RobotSetting:
        """Setting of the robot."""
        return RobotSetting(
            posture=self.posture,
            effort_limits=self.effort_limits,
            misalignment_deg=self.misalignment_deg,
            start_degc=self.start_degc,
            other_start_degc=self.other_start_degc,
        )


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets that come with the testbed."""
    return PRESETS.names()


def load_preset(name: str) -> Preset:
    """Read a preset by its name.

    Raises:
        UnknownName: no preset has this name.
        RobotDataError: the file is invalid; the message has file and line.
    """
    return read_yaml(PRESETS.named(name), Preset).value
