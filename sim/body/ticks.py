"""Ticks in a row: servo, ring, one step of the engine, again and again.

    θ, ω  ->  τ (`sim.servo`)  ->  ring  ->  engine  ->  θ, ω

An engine whose step is a C function is stepped by compiled code for as many ticks as
nobody looks: no line of Python in between, and the caches keep the physics. PyBullet
has none to offer; its ticks run in Python (`Body`).
"""

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from models.values import FloatArray
from sim.engine.interface import NativeStep
from sim.recording.recorder import LastSecond
from sim.servo import Servo, servo_torques


def run_native(
    native: NativeStep,
    servo: Servo,
    row: FloatArray,
    ring: LastSecond,
    first: int,
    ticks: int,
) -> int:
    """Let some ticks pass.

    Args:
        native: the engine's step.
        servo: gives the torques.
        row: (3 n_joints,) angles in rad, velocities in rad/s and torques in N·m, side
            by side; the torques are the servo's own array.
        ring: keeps the row of each tick.
        first: ticks before, for the time in the ring.
        ticks: how many.

    Returns:
        How many passed; fewer when the torque of the next one is not finite, which
        stands in row and ring.
    """
    done: int = _run(
        native.function,
        native.model,
        native.data,
        native.positions,
        native.velocities,
        native.forces,
        native.wrenches,
        native.q_index,
        native.v_index,
        servo.arguments,
        row,
        ring.times,
        ring.rows,
        ring.n_pushed,
        first,
        ticks,
    )
    ring.n_pushed += min(done + 1, ticks)
    return done


def _type_call(_context: Any, function: Any, model: Any, data: Any) -> Any:
    """Tell numba how to call a C function of two pointers by its address."""

    def generate(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer]).as_pointer()
        called = builder.inttoptr(args[0], kind)
        builder.call(called, [builder.inttoptr(one, pointer) for one in args[1:]])
        return context.get_dummy_value()

    return types.void(function, model, data), generate


_call: Any = intrinsic(_type_call)


@numba.njit(cache=True, nogil=True)
def _run(
    function: int,
    model: int,
    data: int,
    positions: FloatArray,
    velocities: FloatArray,
    forces: FloatArray,
    wrenches: FloatArray,
    q_index: Any,
    v_index: Any,
    servo: Any,
    row: FloatArray,
    ring_times: FloatArray,
    ring_rows: FloatArray,
    n_pushed: int,
    first: int,
    ticks: int,
) -> int:
    n = q_index.size
    q, v, tau = row[:n], row[n : 2 * n], row[2 * n :]
    dt = servo[-1]
    for tick in range(ticks):
        finite = servo_torques(q, v, *servo)
        place = (n_pushed + tick) % ring_times.size
        ring_rows[place] = row
        ring_times[place] = (first + tick) * dt
        if not finite:
            return tick
        for j in range(n):
            forces[v_index[j]] = tau[j]
        _call(function, model, data)
        forces[:] = 0.0
        wrenches[:] = 0.0
        for j in range(n):
            q[j] = positions[q_index[j]]
            v[j] = velocities[v_index[j]]
    return ticks
