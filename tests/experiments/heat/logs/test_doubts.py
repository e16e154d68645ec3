"""Faults of a log are corrected and reported with their place, or asked for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.heat.identification.heat_log import heat_log_of_file
from nao_testbed.experiments.heat.identification.identify import IdentifyCfg, identify
from nao_testbed.experiments.heat.logs.doubts import doubt
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.record import Log
from nao_testbed.experiments.heat.xray.results.tables import headline
from nao_testbed.experiments.heat.xray.standing import Standing, find_standing
from nao_testbed.experiments.heat.xray.xray import XrayCfg, xray
from nao_testbed.models import BadInput, Robot, load_robot
from nao_testbed.models.values import FloatArray

KNEE = "LKneePitch"
SENSORS = ("time_s", "q", "target", "current", "temperature", "fsr", "accelerometer")
Fault = Callable[[pd.DataFrame], object]


@pytest.fixture(scope="module")
def frame(nao_frame: pd.DataFrame) -> pd.DataFrame:
    return nao_frame[[n for n in nao_frame if str(n).partition(".")[0] in SENSORS]]


def of(frame: pd.DataFrame, *signals: str) -> list[str]:
    return [str(n) for n in frame if str(n).partition(".")[0] in signals]


def scaled(signals: tuple[str, ...], factor: float, offset: float = 0.0) -> Fault:
    def spoil(frame: pd.DataFrame) -> None:
        columns = of(frame, *signals)
        frame[columns] = factor * frame[columns] + offset

    return spoil


def at(rows: object, columns: tuple[str, ...], value: float) -> Fault:
    def spoil(frame: pd.DataFrame) -> None:
        frame.loc[rows, list(columns)] = value

    return spoil


def unsigned(frame: pd.DataFrame) -> None:
    columns = of(frame, "current")
    frame[columns] = frame[columns].abs()


def logger_hangs(frame: pd.DataFrame) -> None:
    columns = of(frame, *SENSORS[1:])
    frame.loc[60:120, columns] = frame.loc[60, columns].to_numpy()


def fifth_lost(frame: pd.DataFrame) -> None:
    rng = np.random.default_rng(3)
    for name in of(frame, *SENSORS[1:]):
        frame.loc[rng.random(len(frame)) < 0.2, name] = np.nan


def zeros(frame: pd.DataFrame) -> None:
    lost = np.random.default_rng(3).random(len(frame)) < 0.1
    frame.loc[lost, of(frame, "q", "current")] = 0.0


def codes(value: float) -> Fault:
    """Write a number in place of missing values, from the first row on."""

    def spoil(frame: pd.DataFrame) -> None:
        rng = np.random.default_rng(3)
        for name in of(frame, *SENSORS[1:5], "accelerometer"):
            frame.loc[rng.random(len(frame)) < 0.15, name] = value

    return spoil


def last_spike(frame: pd.DataFrame) -> None:
    frame.loc[len(frame) - 1, f"current.{KNEE}"] = 50.0


def clock_forward(frame: pd.DataFrame) -> None:
    frame.loc[80:, "time_s"] += 3600.0


def clock_back(frame: pd.DataFrame) -> None:
    frame.loc[80:, "time_s"] -= 1.0


def jitter(frame: pd.DataFrame) -> None:
    late = 0.015 * np.random.default_rng(3).random(len(frame))
    frame["time_s"] = np.floor(100.0 * (frame["time_s"] + late)) / 100.0


def coarse_clock(frame: pd.DataFrame) -> None:
    frame["time_s"] = np.floor(10.0 * frame["time_s"]) / 10.0


FAULTS: dict[str, tuple[Fault, str]] = {
    "degrees": (scaled(("q", "target"), 180.0 / np.pi), "q of all joints in degrees"),
    "tenths": (scaled(("q", "target"), 1800.0 / np.pi), r"q of all joints in 0\.1°"),
    "mA": (scaled(("current",), 1000.0), "currents of all motors in mA"),
    "°F": (scaled(("temperature",), 1.8, 32.0), "°F, converted to °C"),
    "day in ms": (scaled(("time_s",), 1e3, 1.7e12), "read as ms"),
    "gravity down": (scaled(("accelerometer",), -1.0), "sign inverted"),
    "unsigned": (unsigned, "currents have no sign: inferred"),
    "frozen": (
        at(slice(50, 110), (f"current.{KNEE}",), 0.3),
        rf"61 values of current frozen .* first of {KNEE} at 1\.02 s \(.*:52",
    ),
    "hang": (logger_hangs, "of accelerometer frozen at one value"),
    "zeros": (zeros, "values of q far from its neighbours"),
    "spike": (
        at([70], (f"q.{KNEE}", f"current.{KNEE}"), 50.0),
        rf"1 values of q far .*{KNEE} at 1\.42 s \(.*:72\)",
    ),
    "last spike": (last_spike, "1 values of current far from its neighbours"),
    "no sensor": (
        at([90], (f"temperature.{KNEE}",), 65535.0),
        "1 values of temperature far from its neighbours",
    ),
    "fifth lost": (
        fifth_lost,
        r"2\d% of the cells of q, .* no value, first q\.\w+ at 0\.02 s \(.*:2\)",
    ),
    "9999": (codes(9999.0), r"values of q repeat one impossible .* s \(.*csv:2\)"),
    "-999": (codes(-999.0), "values of current repeat one impossible number"),
    "jitter": (jitter, r"steps from 10 to 30 ms, usually 20, first at .* s \(.*csv:\d"),
    "forward": (clock_forward, r"a gap of 3\.6e\+03 s before .*only the record after"),
    "back": (clock_back, r"log\.csv:82: the clock falls from 1\.6 s to 0\.62 s"),
    "coarse": (coarse_clock, "rows with the time of the row before"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_certain_fault_is_corrected_and_reported(
    name: str, frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    own = standing(frame, nao, tmp_path)
    spoil, said = FAULTS[name]
    spoilt = frame.copy()
    spoil(spoilt)
    seen = standing(spoilt, nao, tmp_path)
    np.testing.assert_allclose(seen.q, own.q, atol=2e-4)
    known = seen.is_signed
    np.testing.assert_allclose(seen.effort[known], own.effort[known], atol=0.1)
    np.testing.assert_allclose(seen.mean_square, own.mean_square, atol=0.1)
    assert seen.temperature is not None
    assert own.temperature is not None
    np.testing.assert_allclose(seen.temperature, own.temperature, atol=0.01)
    assert seen.accelerometer is not None
    assert own.accelerometer is not None
    np.testing.assert_allclose(seen.accelerometer, own.accelerometer, atol=0.05)
    (still,) = own.remarks
    assert "csv:2) to 4 s: the delay of a sensor is unknown" in still
    assert pd.Series(seen.remarks).str.contains(said).any()
    assert 1.0 < seen.still_s < 10.0


def standing(frame: pd.DataFrame, nao: Robot, folder: Path) -> Standing:
    path = folder / "log.csv"
    frame.to_csv(path, index=False)
    return find_standing(read_log(path, nao), nao)


def test_a_looped_recording_is_two_records(
    frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    twice = pd.concat([frame, frame], ignore_index=True)
    twice.loc[: len(frame), of(frame, "current")] *= 2.0
    seen, own = (standing(one, nao, tmp_path) for one in (twice, frame))
    np.testing.assert_allclose(seen.effort, own.effort)
    assert "a new record begins" in seen.remarks[0]
    columns = {"time_s": np.arange(60.0), "temperature_degc": 30.0 + np.arange(60.0)}
    one = pd.DataFrame({**columns, "current_a": 1.0})
    path = tmp_path / "motor.csv"
    pd.concat([one, one.assign(current_a=2.0)]).to_csv(path, index=False)
    log = heat_log_of_file(read_log(path))
    squares = [float(np.mean(r.mean_square_current)) for r in log.records]
    assert squares == [1.0, 4.0]


def test_a_frozen_current_is_asked_for(
    frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    spoilt = frame.copy()
    spoilt.loc[len(frame) - 140 :, f"current.{KNEE}"] = 0.3
    with pytest.raises(BadInput, match=f"motor {KNEE} has no current"):
        standing(spoilt, nao, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("has_target", [True, False])
def test_currents_without_a_sign_name_no_wrong_joint(
    has_target: bool, frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    spoilt = frame.copy()
    unsigned(spoilt)
    if not has_target:
        spoilt = spoilt.drop(columns=of(spoilt, "target"))
    path = tmp_path / "log.csv"
    spoilt.to_csv(path, index=False)
    found = xray(XrayCfg(source=path), nao)
    assert found.named.keys() <= {"LAnklePitch"}
    assert "saves nothing" not in headline(found)


def test_currents_that_contradict_the_servos_are_refused(
    frame: pd.DataFrame, nao: Robot, tmp_path: Path
) -> None:
    """Angles of the other leg once named a joint of the wrong leg."""
    names = {n: n.replace(".L", ".R") for n in of(frame, "current") if ".L" in n}
    names = {a: b for a, b in names.items() if b in frame}
    swap = names | {b: a for a, b in names.items()}
    with pytest.raises(BadInput, match="fit the angles and set-points of the other"):
        standing(frame.rename(columns=swap), nao, tmp_path)
    ankle = "current.LAnklePitch"
    with pytest.raises(BadInput, match=r"the current of LAnklePitch means [+-]\S+ N·m"):
        standing(frame.assign(**{ankle: -frame[ankle]}), nao, tmp_path)


def test_a_fit_with_impossible_constants_is_refused(nao: Robot, tmp_path: Path) -> None:
    """A failing sensor once gave an ambient of thousands of degrees."""
    k = np.arange(600.0)
    degc = np.where(k < 300.0, np.floor(30.0 + k / 30.0), 190.0 - k / 100.0)
    path = tmp_path / "log.csv"
    columns = {"time_s": k, "temperature_degc": degc, "current_a": 0.5 + 0.1 * (k > 9)}
    pd.DataFrame(columns).to_csv(path, index=False)
    with pytest.raises(BadInput, match=r"the fit has an ambient .* °C; .*--ambient"):
        identify(IdentifyCfg(source=path), nao)
    degc = 25.0 - 10.0 * (
        1.0 - np.exp(-k / 200.0)
    )  # a current makes it colder than air
    columns |= {"temperature_degc": degc, "current_a": np.ones(600)}
    pd.DataFrame(columns).to_csv(path, index=False)
    with pytest.raises(BadInput, match=r"R/C = -.* cannot be negative"):
        identify(IdentifyCfg(source=path, ambient_degc=25.0), nao)


@pytest.mark.parametrize(
    ("delay", "said"), [(25, "current follows target 0.5 s later"), (3, "")]
)
def test_a_sensor_that_lags_is_shifted(delay: int, said: str, nao: Robot) -> None:
    """A squat; the knees' currents grow with their angles, with the sensor's noise."""
    time_s = 0.02 * np.arange(400.0)
    squat = np.interp(time_s, [2.0, 2.6, 4.0, 5.0], [0.7, 1.3, 1.3, 0.9])
    rng = np.random.default_rng(2)
    knees = ("LKneePitch", "RKneePitch")
    current = {n: 0.6 * squat + rng.normal(0.0, 0.003, 400) for n in knees}
    late = {n: np.r_[[v[0]] * delay, v[:-delay]] for n, v in current.items()}
    signals: dict[str, dict[str, FloatArray]] = {
        "time_s": {"": time_s},
        "target": dict.fromkeys(knees, squat),
        "q": {n: np.append(squat[:1], squat[1:] - 0.001) for n in knees},
        "current": late,
    }
    seen = doubt(Log(path=Path("log.csv"), names=(), signals=signals), nao)
    assert [one.what for one in seen.repairs if one.kind == "lag"] == [
        f"{said}: shifted by {delay} rows"
    ][: bool(said)]
    if said:
        n = 400 - delay
        for name in knees:
            np.testing.assert_allclose(
                seen.signals["current"][name][:n], current[name][:n]
            )


def test_a_temperature_sensor_that_fails_is_missing(nao: Robot, tmp_path: Path) -> None:
    """Whole degrees, then 0: this once gave an impossible ambient temperature."""
    k = np.arange(600)
    degc = np.where(k < 300, 30 + k // 40, 0)
    path = tmp_path / "log.csv"
    columns = {"time_s": k, "temperature_degc": degc, "current_a": np.ones(600)}
    pd.DataFrame(columns).to_csv(path, index=False)
    log = heat_log_of_file(read_log(path, nao))
    assert "300 values of temperature" in log.repairs[0].what
    assert log.records[0].is_known.sum() == 300


def test_strong_motors_may_draw_more_than_those_of_a_nao() -> None:
    """25 A in the knees and hips of a G1 are A, not mA."""
    g1 = load_robot("g1")
    strong = [n for n in g1.motor_names if "knee" in n or "hip" in n]
    time_s = 0.02 * np.arange(20.0)
    current = {n: np.full(20, 25.0 if n in strong else 1.0) for n in g1.motor_names}
    log = Log(
        path=Path("log.csv"),
        names=(),
        signals={"time_s": {"": time_s}, "current": current},
    )
    kept = doubt(log, g1).signals["current"]
    assert [kept[n][0] for n in strong] == [25.0] * len(strong)
