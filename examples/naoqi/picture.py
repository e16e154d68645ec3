"""Take a picture with the camera in the forehead, and turn the head for a second one.

nao-testbed naoqi serve
python examples/naoqi/picture.py tcp://127.0.0.1:9559 FOLDER
"""

import sys
from pathlib import Path

import qi
from PIL import Image

import vision_definitions as vision

session = qi.Session()
session.connect(sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:9559")
folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
video, motion = session.service("ALVideoDevice"), session.service("ALMotion")

handle = video.subscribeCamera("picture", 0, vision.kQVGA, vision.kRGBColorSpace, 5)
try:
    for name, angle in (("ahead", 0.0), ("down", 0.4)):
        motion.angleInterpolation("HeadPitch", angle, 1.0, True)
        width, height, _, _, *_, pixels = video.getImageRemote(handle)[:7]
        image = Image.frombytes("RGB", (width, height), bytes(pixels))
        print(name, image.size, "mean colour", image.resize((1, 1)).getpixel((0, 0)))
        if folder is not None:
            image.save(folder / f"{name}.png")
finally:
    video.unsubscribe(handle)
