"""Constants of NAOqi's module `motion`, which programs for a NAO import: frames, axes.

Values as published [naoqi-api].
"""

FRAME_TORSO, FRAME_WORLD, FRAME_ROBOT = 0, 1, 2
SPACE_TORSO, SPACE_WORLD, SPACE_NAO = 0, 1, 2  # the same, until NAOqi 1.12
AXIS_MASK_X, AXIS_MASK_Y, AXIS_MASK_Z = 1, 2, 4
AXIS_MASK_WX, AXIS_MASK_WY, AXIS_MASK_WZ = 8, 16, 32
AXIS_MASK_VEL, AXIS_MASK_ROT, AXIS_MASK_ALL = 7, 56, 63
TO_RAD, TO_DEG = 0.017453292519943295, 57.29577951308232
