"""ALVideoDevice: pictures of the robot's cameras, drawn on request.

A picture is drawn while the robot goes on, which takes tens of milliseconds. A request
returns the last picture until it is older than one period of the frame rate.

Numbers of sizes, colour spaces and parameters are the published ones [naoqi_driver2].
Not published, hence assumed: YUV is that of JPEG, hue and saturation are those of HSV,
each from 0 to 255, and angles have the signs of HeadYaw and HeadPitch.
"""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from nao_testbed.controllers.interface.robot_interface import Picture
from nao_testbed.experiments.server.naoqi.arguments import (
    Value,
    items,
    known,
    number,
    text,
    whole,
)
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import (
    ALService,
    NotSimulated,
    SharedPart,
    Typed,
)
from nao_testbed.models import BadInput, VideoCamera
from nao_testbed.sim.sensors.cameras import prepare_picture

WIDTHS = {8: 40, 7: 80, 0: 160, 1: 320, 2: 640, 3: 1280}
"""Resolution to the width of the picture in pixels."""
YUV422, LAYERS = 9, ("Y", "U", "V", "R", "G", "B", "H", "S", "Y", "", "YUV", "RGB")
"""Colour space with two pixels in four bytes, Y U Y V; layers of each other one."""
SPACES = {**dict(enumerate(LAYERS)), 12: "HSY", 13: "BGR"}
FRAME_RATES = range(1, 31)
SELECT = 18
"""Camera parameter that selects the active camera."""
MOST_ALIKE = 6
"""Maximum number of subscriptions with the same name."""


@dataclass(frozen=True, kw_only=True)
class CameraSubscription:
    """Subscription of a client to a camera."""

    client: str
    camera: int
    resolution: int
    space: int
    fps: int


class Video:
    """Subscriptions and last pictures, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Start without subscriptions."""
        self._served = parts.served
        self.cameras: tuple[VideoCamera, ...] = parts.served.robot.cameras
        self.active = 0
        self.subscriptions: dict[str, CameraSubscription] = {}
        """Subscriptions by handle."""
        self.parameters: dict[tuple[int, int], int] = {}
        """Stored value by camera and parameter."""
        self._last: dict[tuple[int, int], Picture] = {}
        self._drawing = threading.Lock()

    def picture(self, one: CameraSubscription) -> Picture:
        """Return a picture no older than one period of the frame rate.

        Raises:
            NotSimulated: a recording is served.
        """
        served, key = self._served, (one.camera, one.resolution)
        engine = getattr(served.body.sim, "engine", None)
        if engine is None:
            raise NotSimulated("a camera of a recording")
        with self._drawing:
            last = self._last.get(key)
            period = 1.0 / one.fps - 0.5 * served.tick_s
            if last is None or served.time_s - last.time_s >= period:
                name, width = self.cameras[one.camera].name, WIDTHS[one.resolution]
                with served.access():
                    draw = prepare_picture(
                        served.robot, engine, served.time_s, name, width
                    )
                last = self._last[key] = draw()
            return last

    def check(self, one: CameraSubscription) -> CameraSubscription:
        """Return a subscription whose numbers are valid.

        Raises:
            BadInput: a number is not accepted.
        """
        need("camera", one.camera, range(len(self.cameras)))
        most = self.cameras[one.camera].width
        fitting = [number for number, width in WIDTHS.items() if width <= most]
        need("resolution", one.resolution, sorted(fitting))
        need("colour space", one.space, SPACES)
        need("frame rate", one.fps, FRAME_RATES)
        return one

    def subscription(self, handle: str) -> CameraSubscription:
        """Return the subscription of a known handle."""
        handles = self.subscriptions
        return handles[known("Handle", handle, handles, "ALVideoDevice")]

    def drop(self, client: str) -> None:
        """End the subscriptions of a client."""
        for handle, one in list(self.subscriptions.items()):
            if one.client == client:
                del self.subscriptions[handle]


def _of_subscription(field: str) -> tuple[Callable[..., int], Callable[..., bool]]:
    """Return getter and setter of a field of a subscription."""

    def get(self: "ALVideoDevice", handleOrCamera: Value) -> int:
        """Return the value of a subscription; -1 for a camera without one."""
        return self._setting(field, handleOrCamera)

    def put(self: "ALVideoDevice", handle: str, value: int) -> bool:
        """Change the value of a subscription."""
        return self._change(handle, **{field: value})

    return get, put


class ALVideoDevice(ALService):
    """Cameras of the robot; each picture is drawn on request."""

    NAME = "ALVideoDevice"
    _video = SharedPart(Video)

    def subscribeCamera(
        self, name: str, cameraIndex: int, resolution: int, colorSpace: int, fps: int
    ) -> str:
        """Subscribe to a camera; return the handle for `getImageRemote`."""
        video, client = self._video, self._client
        one = CameraSubscription(
            client=client.name,
            camera=cameraIndex,
            resolution=resolution,
            space=colorSpace,
            fps=fps,
        )
        video.check(one)
        for handle in (f"{name}_{i}" for i in range(MOST_ALIKE)):
            if handle not in video.subscriptions:
                video.subscriptions[handle] = one
                client.on_leave.append(lambda: video.drop(client.name))
                return handle
        raise BadInput(
            f"{name!r} has subscribed {MOST_ALIKE} times; unsubscribe first."
        )

    def subscribe(self, name: str, resolution: int, colorSpace: int, fps: int) -> str:
        """Subscribe to the active camera."""
        camera = self._video.active
        return self.subscribeCamera(name, camera, resolution, colorSpace, fps)

    def unsubscribe(self, handle: str) -> bool:
        """End a subscription; return false if there is none."""
        return self._video.subscriptions.pop(handle, None) is not None

    def unsubscribeAllInstances(self, name: str) -> bool:
        """End all subscriptions with this name."""
        return sum(self.unsubscribe(f"{name}_{i}") for i in range(MOST_ALIKE)) > 0

    def getSubscribers(self) -> list[str]:
        """Return all handles."""
        return list(self._video.subscriptions)

    def getImageRemote(self, handle: str) -> list[Any]:
        """Return size, layers, colour space, time, pixels, camera, and edges in rad."""
        one = self._video.subscription(handle)
        picture = self._video.picture(one)
        height, width, _ = picture.rgb.shape
        layers = 2 if one.space == YUV422 else len(SPACES[one.space])
        seconds, rest = divmod(picture.time_s, 1.0)
        across, upright = self._fields_of_view(one.camera)
        return Typed(
            [
                *(width, height, layers, one.space, int(seconds), int(1e6 * rest)),
                pixels_of(picture, one.space),
                one.camera,
                *(across / 2.0, -upright / 2.0, -across / 2.0, upright / 2.0),
            ]
        )

    def getActiveCamera(self, handle: str = "") -> int:
        """Return the camera of a subscription, or the active one."""
        return self._setting("camera", handle) if handle else self._video.active

    def setActiveCamera(self, *handleAndCamera: Value) -> bool:
        """Set the camera of a subscription, or the active one."""
        if len(handleAndCamera) == 2:
            return self._change(text(handleAndCamera[0]), camera=handleAndCamera[1])
        if len(handleAndCamera) != 1:
            raise BadInput("give a camera, or a handle and a camera.")
        self._video.active = self._camera(whole(handleAndCamera[0]))
        return True

    getResolution, setResolution = _of_subscription("resolution")
    getColorSpace, setColorSpace = _of_subscription("space")
    getFrameRate, setFrameRate = _of_subscription("fps")

    def setParameter(self, cameraIndex: int, parameterId: int, value: int) -> bool:
        """Store a parameter of a camera; it has no effect on pictures."""
        self._client.pretended["ALVideoDevice.setParameter"] += 1
        self._video.parameters[self._camera(cameraIndex), parameterId] = value
        return True

    def getParameter(self, cameraIndex: int, parameterId: int) -> int:
        """Return a stored parameter; 0 before it was set."""
        return self._video.parameters.get((self._camera(cameraIndex), parameterId), 0)

    def setParameterToDefault(self, cameraIndex: int, parameterId: int) -> bool:
        """Forget a stored parameter."""
        self._video.parameters.pop((self._camera(cameraIndex), parameterId), None)
        return True

    def setAllParametersToDefault(self, cameraIndex: int) -> bool:
        """Forget the stored parameters of a camera."""
        for camera, parameter in list(self._video.parameters):
            if camera == self._camera(cameraIndex):
                self.setParameterToDefault(camera, parameter)
        return True

    def setParam(self, parameterId: int, value: int) -> bool:
        """Store a parameter of the active camera, or select that camera."""
        if parameterId == SELECT:
            return self.setActiveCamera(value)
        return self.setParameter(self._video.active, parameterId, value)

    def getParam(self, parameterId: int) -> int:
        """Return a stored parameter of the active camera, or its number."""
        active = self._video.active
        return (
            active if parameterId == SELECT else self.getParameter(active, parameterId)
        )

    def setParamDefault(self, parameterId: int) -> bool:
        """Forget a stored parameter of the active camera."""
        return self.setParameterToDefault(self._video.active, parameterId)

    def getCameraIndexes(self) -> list[int]:
        """Return the numbers of the cameras."""
        return list(range(len(self._video.cameras)))

    def getCameraName(self, cameraIndex: int) -> str:
        """Return the name of a camera."""
        return self._video.cameras[self._camera(cameraIndex)].name

    def getHorizontalFOV(self, cameraIndex: int) -> float:
        """Return the horizontal field of view in rad."""
        return self._fields_of_view(cameraIndex)[0]

    def getVerticalFOV(self, cameraIndex: int) -> float:
        """Return the vertical field of view in rad."""
        return self._fields_of_view(cameraIndex)[1]

    def getAngularPositionFromImagePosition(
        self, cameraIndex: int, position: Value
    ) -> list[float]:
        """Return yaw and pitch in rad of a position from 0 to 1, linearly."""
        x, y = map(number, items(position, {2}, "two numbers"))
        across, upright = self._fields_of_view(cameraIndex)
        return [(0.5 - x) * across, (y - 0.5) * upright]

    def getImagePositionFromAngularPosition(
        self, cameraIndex: int, angles: Value
    ) -> list[float]:
        """Return the position from 0 to 1 of yaw and pitch in rad, linearly."""
        yaw, pitch = map(number, items(angles, {2}, "two numbers"))
        across, upright = self._fields_of_view(cameraIndex)
        return [0.5 - yaw / across, 0.5 + pitch / upright]

    def _camera(self, index: int) -> int:
        need("camera", index, range(len(self._video.cameras)))
        return index

    def _setting(self, field: str, handle: str | int) -> int:
        """Return a setting of a subscription, or of the newest one of a camera."""
        video = self._video
        if isinstance(handle, str):
            return int(getattr(video.subscription(handle), field))
        mine = [one for one in video.subscriptions.values() if one.camera == handle]
        return int(getattr(mine[-1], field)) if mine else -1

    def _change(self, handle: str, **setting: Any) -> bool:
        changed = replace(self._video.subscription(handle), **setting)
        self._video.subscriptions[handle] = self._video.check(changed)
        return True

    def _fields_of_view(self, index: int) -> tuple[float, float]:
        one = self._video.cameras[self._camera(index)]
        half = np.tan(one.vertical_fov / 2.0) * one.width / one.height
        return float(2.0 * np.arctan(half)), one.vertical_fov


def need(what: str, value: int, accepted: Collection[int]) -> None:
    """Raise BadInput if a number is not accepted."""
    if value not in accepted:
        known = ", ".join(map(str, accepted)) or "none"
        raise BadInput(f"{what} is {value}; accepted: {known}.")


def pixels_of(picture: Picture, space: int) -> bytes:
    """Return the pixels of a picture in a colour space, row by row."""
    image = Image.fromarray(picture.rgb)
    layers = {
        name: np.asarray(layer)
        for names, mode in (("RGB", "RGB"), ("HS?", "HSV"), ("YUV", "YCbCr"))
        for name, layer in zip(names, image.convert(mode).split(), strict=True)
    }
    if space == YUV422:
        colour = layers["U"].copy()
        colour[:, 1::2] = layers["V"][:, ::2]
        found = [layers["Y"], colour]
    else:
        found = [layers[name] for name in SPACES[space]]
    return np.stack(found, axis=-1).tobytes()
