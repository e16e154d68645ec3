"""JSON interface of the page: robot states out, requests in.

The page draws; this module neither draws nor touches a robot. State is sent as
server-sent events, at most one per `STATE_S`. Requests arrive by POST, are validated
(`action_of`), and are forwarded to the robots' processes.
"""

import asyncio
import dataclasses
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from nao_testbed.controllers.interface.robot_interface import (
    READINGS,
    Picture,
)
from nao_testbed.controllers.schemas.library.common import motor_leaves
from nao_testbed.controllers.schemas.registry import schema_names
from nao_testbed.experiments.common.drawing.power_unit import PowerUnit
from nao_testbed.experiments.live.robot.moment import Forecast, Moment, Reservations
from nao_testbed.experiments.live.robot.operation import ACTIONS, action_of
from nao_testbed.experiments.live.robot.operator import groups_of, limbs_of
from nao_testbed.experiments.server.service.connections import (
    EventStream,
    as_event,
    error_response,
)
from nao_testbed.models import BadInput, Robot, TestbedError
from nao_testbed.models.robot import are_watts_guesses

STATE_S = 0.2
"""Time between two states sent to a page, in s."""

Send = Callable[[int, Any], bool]
"""Function of a robot's number and a request; returns False if too many requests
wait. A `BadInput` is returned to the client."""


class PageApi:
    """State of the robots for the page; call `put` repeatedly with new moments."""

    def __init__(
        self,
        robot: Robot,
        names: Sequence[str],
        controllers: Sequence[str],
        send: Send,
        actions: Mapping[str, type] = ACTIONS,
        replay: Mapping[str, Any] | None = None,
    ) -> None:
        """Build the description of the robots.

        Args:
            robot: description shared by all robots.
            names: names of the robots.
            controllers: available controllers.
            send: function that forwards actions to robots.
            actions: accepted requests by name.
            replay: data for the scrubber of a recording.
        """
        self._robot, self._names, self._send = robot, tuple(names), send
        self._actions = actions
        about = _describe(robot, names, controllers)
        self._about = json.dumps({**about, "actions": list(actions), "replay": replay})
        self._newest = [dict[str, tuple[int, str]]() for _ in names]
        """Per robot: update number and JSON of each kind of data."""
        self._pictures: dict[int, Picture] = {}
        """Newest picture of each robot."""
        self.is_closing = False
        self.viewers = 0
        """Number of open streams and 3-D views; without any, moments are sent
        rarely."""

    @property
    def routes(self) -> list[BaseRoute]:
        """Return the routes for a server."""
        return [
            Route("/about", self._get_about),
            Route("/state", self._get_state),
            Route("/picture", self._get_picture),
            Route("/do", self._do, methods=["POST"]),
        ]

    def put(self, moments: Sequence[Moment | None], speed: float = 1.0) -> None:
        """Store the newest moment of each robot; None: keep the last one.

        Args:
            moments: moments, one per robot.
            speed: speed as a multiple of real time; 0: paused.
        """
        for i, moment in enumerate(moments):
            if moment is None:
                continue
            if moment.picture is not None:
                self._pictures[i] = moment.picture
            picture = self._pictures.get(i)
            state = _state(i, moment, picture, moment.power_unit(self._robot.thermal))
            self._put(i, "state", {**state, "speed": speed})
            if moment.reservations is not None:
                self._put(i, "who", _reservations_of(i, moment, moment.reservations))
            if moment.forecast is not None:
                word = "whatif" if moment.forecast.is_change else "forecast"
                self._put(i, word, _forecast(i, moment.forecast))

    def choose(self, robot: int, joint: int) -> None:
        """Send the joint that was clicked in the 3-D view to the pages."""
        self._put(robot, "chosen", {"robot": robot, "joint": joint})

    def publish(self, text: str) -> None:
        """Tell the pages how the export of a video ended."""
        self._put(0, "told", {"text": text})

    def _put(self, i: int, word: str, data: Mapping[str, Any]) -> None:
        number, _ = self._newest[i].get(word, (0, ""))
        self._newest[i][word] = number + 1, json.dumps(data)

    async def _get_about(self, request: Request) -> Response:
        del request
        return Response(self._about, media_type="application/json")

    async def _get_state(self, request: Request) -> Response:
        del request
        self.viewers += 1
        return EventStream(self._stream(), self._leave)

    def _leave(self) -> None:
        self.viewers -= 1

    async def _get_picture(self, request: Request) -> Response:
        """Return the last requested camera image of a robot, as PNG."""
        given = request.query_params.get("robot", "")
        picture = {str(i): one for i, one in self._pictures.items()}.get(given)
        if picture is None:
            return error_response(404, "no picture yet; send TakePicture first.")
        from matplotlib.image import imsave  # noqa: PLC0415  # heavy, and few pages need it

        file = io.BytesIO()
        imsave(file, picture.rgb, format="png")
        return Response(file.getvalue(), media_type="image/png")

    async def _stream(self) -> AsyncIterator[str]:
        told: dict[tuple[int, str], int] = {}
        while not self.is_closing:
            pieces = []
            for i, newest in enumerate(self._newest):
                for word, (number, text) in list(newest.items()):
                    if told.get((i, word)) != number:
                        told[i, word] = number
                        pieces.append(as_event(word, text))
            yield "".join(pieces) or ":\n\n"
            await asyncio.sleep(STATE_S)

    async def _do(self, request: Request) -> Response:
        """Forward a request: `{"robot": 0, "do": "Take", "resource": "Head"}`."""
        try:
            data = json.loads(await request.body())
            if not isinstance(data, dict):
                raise BadInput("the request is not an object; give `robot` and `do`.")
            whom = self._robots_of(data.pop("robot", None))
            action = action_of(data, self._actions)
            taken = [self._send(i, action) for i in whom]
        except (ValueError, RecursionError):
            return error_response(400, "the body is not JSON.")
        except TestbedError as error:
            return error_response(400, str(error))
        if not all(taken):
            return error_response(
                429, "too many requests at once; this one was dropped."
            )
        return JSONResponse({}, status_code=202)

    def _robots_of(self, given: object) -> Sequence[int]:
        if given is None:
            return range(len(self._names))
        if type(given) is not int or not 0 <= given < len(self._names):
            raise BadInput(
                f"robot is {str(given)[:20]!r}; give its number, 0 to "
                f"{len(self._names) - 1}, or null for all."
            )
        return [given]


def _describe(
    robot: Robot, names: Sequence[str], controllers: Sequence[str]
) -> Mapping[str, Any]:
    leaf_of = motor_leaves(robot)
    limb_of = {
        leaf: limb for limb, leaves in limbs_of(robot).items() for leaf in leaves
    }
    library = robot.library
    return {
        "robots": list(names),
        "groups": list(groups_of(robot)),
        "joints": [
            {
                "name": joint.name,
                "low": round(float(np.rad2deg(joint.lower)), 1),
                "high": round(float(np.rad2deg(joint.upper)), 1),
                "group": limb_of.get(leaf_of.get(joint.name, ""), ""),
                "motor": joint.motor,
            }
            for joint in robot.joints
        ],
        "has_watts": not are_watts_guesses(robot.thermal),
        "head": list(robot.roles.head.joints) if robot.roles.head else [],
        "motors": sorted(set(leaf_of.values())),
        "postures": sorted({step.end for step in library.transitions}),
        "motions": [
            name
            for name in library.motions
            if name not in {step.motion for step in library.transitions}
        ],
        "leds": [
            node.name
            for node in robot.resources.walk()
            if node.device is not None and node.device.kind == "leds"
        ],
        "touch_sensors": list(robot.touch_sensors),
        "controllers": list(controllers),
        "schemas": list(schema_names()),
        "readings": [
            {
                "name": name,
                "unit": reading.unit,
                "about": reading.about,
                "members": list(reading.members(robot)),
            }
            for name, reading in READINGS.items()
        ],
        "cameras": [
            {"name": camera.name, "tan_up": float(np.tan(0.5 * camera.vertical_fov))}
            for camera in robot.cameras
        ],
    }


def _state(
    i: int, moment: Moment, picture: Picture | None, unit: PowerUnit
) -> Mapping[str, Any]:
    return {
        "robot": i,
        "time_s": round(moment.time_s, 2),
        "late_s": round(moment.late_s, 2),
        "controller": moment.controller,
        "has_fallen": moment.has_fallen,
        "angle_deg": _rounded(np.rad2deg(moment.q), 2),
        "degc": _rounded(moment.degc, 1),
        "error_deg": _rounded(moment.error_deg, 2),
        "loss": _rounded(moment.loss_w / unit.size, 2),
        "least": _rounded(moment.least_w / unit.size, 2),
        "legs": _rounded(np.array(moment.legs_w) / unit.size, 1),
        "seen": {name: _rounded(getattr(moment.seen, name), 4) for name in READINGS},
        "picture": None
        if picture is None
        else {"camera": picture.camera, "time_s": round(picture.time_s, 2)},
        "groups": [
            {
                "name": group.name,
                "holders": list(group.holders),
                "is_mine": group.is_mine,
                "wait_left_s": group.wait_left_s,
            }
            for group in moment.groups
        ],
        "schemas": [dataclasses.asdict(one) for one in moment.schemas],
        "panels": [_without_nan(dataclasses.asdict(one)) for one in moment.panels],
        "said": list(moment.said),
    }


def _reservations_of(i: int, moment: Moment, now: Reservations) -> Mapping[str, Any]:
    """Return holders and waiters of all resources, times in s."""
    tick_s = moment.tick_s
    policy = {owner.name: owner.policy for owner in now.owners}
    return {
        "robot": i,
        "resources": [
            {
                "name": row.name,
                "parent": row.parent,
                "depth": row.depth,
                "is_leaf": row.kind is not None,
                "holders": [
                    [one.owner, one.priority, round(one.since_tick * tick_s, 2)]
                    for one in row.holders
                    if not one.is_lent
                ],
                "virtual": [one.by for one in row.virtual],
                "waiters": [
                    [
                        one.owner,
                        one.priority,
                        None
                        if one.until_tick is None
                        else round(one.until_tick * tick_s, 2),
                    ]
                    for one in row.waiters
                ],
            }
            for row in now.resources
        ],
        "policy": policy,
        "refused": [dataclasses.asdict(one) for one in now.refused],
        "groups": [
            {
                **dataclasses.asdict(one),
                "due_s": None if one.due_tick is None else one.due_tick * tick_s,
            }
            for one in now.groups
        ],
    }


def _forecast(i: int, forecast: Forecast) -> Mapping[str, Any]:
    """Convert a forecast to JSON data; an infinite time is null."""
    return {
        "robot": i,
        "label": forecast.label,
        "is_change": forecast.is_change,
        "time_s": round(forecast.time_s, 1),
        "physics_s": forecast.physics_s,
        "is_steady": forecast.is_steady,
        "is_final": forecast.is_final,
        "falls": forecast.falls,
        "past_s": _rounded(forecast.past_s, 1),
        "past_degc": [_rounded(row, 1) for row in forecast.past_degc],
        "ahead_s": _rounded(forecast.ahead_s, 0),
        "degc": [[_rounded(row, 1) for row in band] for band in forecast.degc],
        "reach_s": [_rounded(row, 0) for row in forecast.reach_s],
        "watts": round(forecast.watts, 2),
    }


def _rounded(values: NDArray[np.float64], digits: int) -> list[float | None]:
    """Convert numbers to JSON values; a non-finite number is null."""
    return [
        round(value, digits) if np.isfinite(value) else None
        for value in values.tolist()
    ]


def _without_nan(value: Any) -> Any:
    """Convert plain data to JSON values; a non-finite number is null."""
    if isinstance(value, dict):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value
