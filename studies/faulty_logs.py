"""Faults of real logs, applied to the log of a simulated robot.

    spoil, about = FAULTS["degrees"]
    spoilt = spoil(frame, robot, rng)

A frame has the sensors of a run folder as columns, and the column `time_s`.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from nao_testbed.models import Robot

SENSORS = ("q", "target", "current", "temperature", "fsr", "accelerometer")
Fault = Callable[[pd.DataFrame, Robot, np.random.Generator], pd.DataFrame]


def of(frame: pd.DataFrame, *signals: str) -> list[str]:
    """Return the columns of some signals."""
    return [str(n) for n in frame if str(n).partition(".")[0] in signals]


def sensors_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that the log of a real robot would have."""
    return frame[["time_s", *of(frame, *SENSORS)]].copy()


def scaled(signals: tuple[str, ...], factor: float, offset: float = 0.0) -> Fault:
    """Return a fault of a unit or a sign."""

    def spoil(
        frame: pd.DataFrame, _robot: Robot, _rng: np.random.Generator
    ) -> pd.DataFrame:
        columns = of(frame, *signals)
        frame[columns] = factor * frame[columns] + offset
        return frame

    return spoil


def without(*signals: str) -> Fault:
    """Return a fault that removes signals."""
    return lambda frame, _robot, _rng: frame.drop(columns=of(frame, *signals))


def unsigned(frame: pd.DataFrame, *_: object) -> pd.DataFrame:
    """Remove the signs of currents."""
    columns = of(frame, "current")
    frame[columns] = frame[columns].abs()
    return frame


def lost(signals: tuple[str, ...], share: float, value: float) -> Fault:
    """Return a fault that replaces a share of the cells by a value."""

    def spoil(
        frame: pd.DataFrame, _robot: Robot, rng: np.random.Generator
    ) -> pd.DataFrame:
        for name in of(frame, *signals):
            frame.loc[rng.random(len(frame)) < share, name] = value
        return frame

    return spoil


def frozen(frame: pd.DataFrame, robot: Robot, rng: np.random.Generator) -> pd.DataFrame:
    """Hold the current of a leg motor for two seconds."""
    motors = robot.motors_of(robot.leg_joints)
    name = f"current.{robot.motor_names[int(rng.choice(motors))]}"
    row = int(rng.integers(150, 250))
    values = frame[name].to_numpy(copy=True)
    values[row : row + 101] = values[row]
    return frame.assign(**{name: values})


def hangs(frame: pd.DataFrame, *_: object) -> pd.DataFrame:
    """Hold all values for two seconds."""
    columns = of(frame, *SENSORS)
    frame.loc[200:300, columns] = frame.loc[200, columns].to_numpy()
    return frame


def jitter(
    frame: pd.DataFrame, _robot: Robot, rng: np.random.Generator
) -> pd.DataFrame:
    """Move times by up to 15 ms, in coarse steps, so that some are equal."""
    moved = frame["time_s"] + rng.uniform(0.0, 0.015, len(frame))
    return frame.assign(time_s=np.floor(100.0 * moved) / 100.0)


def clock_step(step_s: float) -> Fault:
    """Return a fault of a clock that jumps in the middle of the log."""

    def spoil(
        frame: pd.DataFrame, _robot: Robot, _rng: np.random.Generator
    ) -> pd.DataFrame:
        frame.loc[150:, "time_s"] += step_s
        return frame

    return spoil


def looped(frame: pd.DataFrame, *_: object) -> pd.DataFrame:
    """Repeat the log; the currents of the first pass are those of another load."""
    first = frame.copy()
    first[of(frame, "current")] *= 1.5
    return pd.concat([first, frame], ignore_index=True)


def held(repeats: int) -> Fault:
    """Return the fault of a logger that is faster than the sensors."""
    return lambda frame, _robot, _rng: frame.assign(
        **frame[of(frame, *SENSORS)].iloc[::repeats].reindex(frame.index).ffill()
    )


def lagging(frame: pd.DataFrame, *_: object) -> pd.DataFrame:
    """Delay the currents by half a second."""
    columns = of(frame, "current")
    frame[columns] = frame[columns].shift(25).bfill()
    return frame


def swapped_legs(*signals: str) -> Fault:
    """Return the fault of two legs whose names are exchanged."""

    def spoil(
        frame: pd.DataFrame, robot: Robot, _rng: np.random.Generator
    ) -> pd.DataFrame:
        legs = robot.leg_joints
        half = len(legs) // 2
        pairs = list(zip(legs[:half], legs[half:], strict=True))
        servo = robot.servo_of_joint
        motors = [
            [robot.motor_names[servo[robot.joint_index(n)]] for n in p] for p in pairs
        ]
        names: dict[str, str] = {}
        for signal in signals:
            of_motors = signal in {"current", "temperature"}
            for left, right in motors if of_motors else pairs:
                if left != right:
                    a, b = f"{signal}.{left}", f"{signal}.{right}"
                    names |= {a: b, b: a}
        return frame.rename(columns=names)

    return spoil


def flipped_axis(
    frame: pd.DataFrame, robot: Robot, rng: np.random.Generator
) -> pd.DataFrame:
    """Reverse the current of one leg motor."""
    motors = robot.motors_of(robot.leg_joints)
    name = f"current.{robot.motor_names[int(rng.choice(motors))]}"
    return frame.assign(**{name: -frame[name]})


def rounded(signal: str) -> Fault:
    """Return the fault of a sensor with whole numbers."""
    return lambda frame, _robot, _rng: frame.assign(**frame[of(frame, signal)].round())


def chained(*faults: Fault) -> Fault:
    """Return several faults at once."""

    def spoil(
        frame: pd.DataFrame, robot: Robot, rng: np.random.Generator
    ) -> pd.DataFrame:
        for one in faults:
            frame = one(frame, robot, rng)
        return frame

    return spoil


_ALL = SENSORS
FAULTS: Mapping[str, Fault] = {
    "none": lambda frame, _robot, _rng: frame,
    "degrees": scaled(("q", "target"), 180.0 / np.pi),
    "tenths of degrees": scaled(("q", "target"), 1800.0 / np.pi),
    "°F": scaled(("temperature",), 1.8, 32.0),
    "epoch in ms": scaled(("time_s",), 1e3, 1.7e12),
    "gravity downward": scaled(("accelerometer",), -1.0),
    "unsigned currents": unsigned,
    "unsigned without set-points": chained(unsigned, without("target")),
    "no accelerometer": without("accelerometer"),
    "no set-points": without("target"),
    "no force sensors": without("fsr"),
    "currents of the other leg": swapped_legs("current"),
    "angles of the other leg": swapped_legs("q", "target"),
    "legs swapped": swapped_legs("q", "target", "current", "temperature"),
    "a current reversed": flipped_axis,
    "a current frozen": frozen,
    "logger hangs": hangs,
    "cells of 0": lost(("q", "current"), 0.1, 0.0),
    "spikes": lost(("q", "current"), 0.01, 50.0),
    "a fifth missing": lost(_ALL, 0.2, np.nan),
    "jitter": jitter,
    "clock forward": clock_step(3600.0),
    "clock back": clock_step(-1.0),
    "looped": looped,
    "whole degrees": rounded("temperature"),
    "held readings": held(5),
    "currents lag": lagging,
}
"""Fault of a log to the function that applies it."""
