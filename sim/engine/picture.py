"""A picture of a robot, drawn in software: no display is needed."""

from collections.abc import Mapping

import numpy as np

from sim.camera import Camera, Rendering
from sim.engine.bullet import p


def draw(
    client: int, body: int, link_name: Mapping[int, str], camera: Camera
) -> Rendering:
    """Return what a camera sees of a robot.

    Args:
        client: of PyBullet.
        body: number of the robot in it.
        link_name: number of a link to its name, -1 being the base.
        camera: that looks.
    """
    height, width = camera.height, camera.width
    image = p.getCameraImage(
        width,
        height,
        viewMatrix=camera.view_matrix().T.ravel().tolist(),
        projectionMatrix=camera.projection_matrix().T.ravel().tolist(),
        lightDirection=camera.light,
        lightColor=(1.0, 1.0, 1.0),
        lightDistance=2.0,
        shadow=0,
        lightAmbientCoeff=camera.ambient,
        lightDiffuseCoeff=camera.diffuse,
        lightSpecularCoeff=camera.specular,
        renderer=p.ER_TINY_RENDERER,
        flags=p.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        physicsClientId=client,
    )
    rgba = np.reshape(image[2], (height, width, 4))
    buffer = np.reshape(image[3], (height, width)).astype(np.float64)
    seen = np.reshape(image[4], (height, width))
    # Body in the lower 24 bits, link + 1 above; -1 where nothing is.
    is_robot = (seen >= 0) & ((seen & 0xFFFFFF) == body)
    link = np.where(is_robot, seen >> 24, -1).astype(np.int32)
    near, far = camera.near, camera.far
    depth = far * near / (far - (far - near) * buffer)
    return Rendering(
        camera=camera,
        rgb=rgba[..., :3].astype(np.uint8),
        depth=np.where(is_robot, depth, np.inf),
        link=link,
        links=tuple(link_name[i] for i in sorted(link_name)),
    )
