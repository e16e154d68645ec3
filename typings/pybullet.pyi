"""Types of the part of PyBullet 3.2.7 that this project uses.

PyBullet is one C module without annotations. Argument names are those of its keyword
lists; results are the tuples that it returns, field by field in their order.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

# What goes in may be any sequence of numbers; what comes out are tuples.
_Numbers: TypeAlias = Sequence[float] | NDArray[np.float64]
_Ints: TypeAlias = Sequence[int] | NDArray[np.intp]
_Vector: TypeAlias = tuple[float, float, float]
_Quaternion: TypeAlias = tuple[float, float, float, float]  # x y z w
_Row: TypeAlias = tuple[float, ...]

# joint index, name, type, first index in q and in v (-1: none), flags, damping,
# friction, lower, upper, max force, max velocity, link name, axis in the joint frame,
# position and orientation in the parent's inertial frame, parent index
_JointInfo: TypeAlias = tuple[
    int,
    bytes,
    int,
    int,
    int,
    int,
    float,
    float,
    float,
    float,
    float,
    float,
    bytes,
    _Vector,
    _Vector,
    _Quaternion,
    int,
]
# position, velocity, reaction force and moment, torque of the motor in the last step
_JointState: TypeAlias = tuple[
    float, float, tuple[float, float, float, float, float, float], float
]
# mass, lateral friction, inertia diagonal, position and orientation of the inertial
# frame in the link frame, restitution, rolling and spinning friction, contact damping
# and stiffness, body type, collision margin
_DynamicsInfo: TypeAlias = tuple[
    float,
    float,
    _Vector,
    _Vector,
    _Quaternion,
    float,
    float,
    float,
    float,
    float,
    int,
    float,
]
# flag, body A and B, link A and B, position on A and on B, normal on B towards A,
# distance, normal force, then friction force and direction, twice
_ContactPoint: TypeAlias = tuple[
    int,
    int,
    int,
    int,
    int,
    _Vector,
    _Vector,
    _Vector,
    float,
    float,
    float,
    _Vector,
    float,
    _Vector,
]
# In the world: pose of the centre of mass; then that of the inertial frame in the link
# frame; in the world: pose of the link frame; velocity of the centre of mass and
# angular velocity (only with computeLinkVelocity; without, the tuple ends before them)
_LinkState: TypeAlias = tuple[
    _Vector, _Quaternion, _Vector, _Quaternion, _Vector, _Quaternion, _Vector, _Vector
]
# body, link, geometry type, dimensions, mesh file, position and orientation in the
# link's inertial frame, colour
_VisualShape: TypeAlias = tuple[
    int, int, int, _Vector, bytes, _Vector, _Quaternion, _Quaternion
]
# width, height, (h, w, 4) colours, (h, w) depths, (h, w) body and link numbers
_CameraImage: TypeAlias = tuple[
    int, int, NDArray[np.uint8], NDArray[np.float32], NDArray[np.int32]
]

DIRECT: Final[int]
GUI: Final[int]

TORQUE_CONTROL: Final[int]
VELOCITY_CONTROL: Final[int]
POSITION_CONTROL: Final[int]

JOINT_REVOLUTE: Final[int]
JOINT_PRISMATIC: Final[int]
JOINT_SPHERICAL: Final[int]
JOINT_FIXED: Final[int]
JOINT_POINT2POINT: Final[int]
JOINT_GEAR: Final[int]

GEOM_SPHERE: Final[int]
GEOM_BOX: Final[int]
GEOM_CYLINDER: Final[int]
GEOM_CAPSULE: Final[int]
GEOM_MESH: Final[int]
GEOM_PLANE: Final[int]

LINK_FRAME: Final[int]
WORLD_FRAME: Final[int]

URDF_MAINTAIN_LINK_ORDER: Final[int]
URDF_MERGE_FIXED_LINKS: Final[int]
URDF_USE_INERTIA_FROM_FILE: Final[int]
URDF_USE_SELF_COLLISION: Final[int]
URDF_USE_SELF_COLLISION_EXCLUDE_PARENT: Final[int]
URDF_USE_SELF_COLLISION_EXCLUDE_ALL_PARENTS: Final[int]
URDF_USE_IMPLICIT_CYLINDER: Final[int]
URDF_USE_MATERIAL_COLORS_FROM_MTL: Final[int]
URDF_IGNORE_VISUAL_SHAPES: Final[int]
URDF_IGNORE_COLLISION_SHAPES: Final[int]

CONSTRAINT_SOLVER_LCP_SI: Final[int]
CONSTRAINT_SOLVER_LCP_PGS: Final[int]
CONSTRAINT_SOLVER_LCP_DANTZIG: Final[int]

ER_TINY_RENDERER: Final[int]
ER_BULLET_HARDWARE_OPENGL: Final[int]
ER_NO_SEGMENTATION_MASK: Final[int]
ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX: Final[int]

COV_ENABLE_GUI: Final[int]
COV_ENABLE_DEPTH_BUFFER_PREVIEW: Final[int]
COV_ENABLE_RENDERING: Final[int]
COV_ENABLE_RGB_BUFFER_PREVIEW: Final[int]
COV_ENABLE_SEGMENTATION_MARK_PREVIEW: Final[int]
COV_ENABLE_SHADOWS: Final[int]
COV_ENABLE_MOUSE_PICKING: Final[int]
COV_ENABLE_KEYBOARD_SHORTCUTS: Final[int]

class error(Exception): ...

# -- client and engine ------------------------------------------------------------

def connect(method: int, *, key: int = ..., options: str = ...) -> int: ...
def disconnect(physicsClientId: int = ...) -> None: ...
def isConnected(physicsClientId: int = ...) -> int: ...
def getAPIVersion(physicsClientId: int = ...) -> int: ...
def resetSimulation(flags: int = ..., physicsClientId: int = ...) -> None: ...
def setGravity(
    gravX: float, gravY: float, gravZ: float, physicsClientId: int = ...
) -> None: ...
def setTimeStep(timeStep: float, physicsClientId: int = ...) -> None: ...
def setRealTimeSimulation(
    enableRealTimeSimulation: int, physicsClientId: int = ...
) -> None: ...
def setPhysicsEngineParameter(
    *,
    fixedTimeStep: float = ...,
    numSolverIterations: int = ...,
    useSplitImpulse: int = ...,
    splitImpulsePenetrationThreshold: float = ...,
    numSubSteps: int = ...,
    collisionFilterMode: int = ...,
    contactBreakingThreshold: float = ...,
    maxNumCmdPer1ms: int = ...,
    enableFileCaching: int = ...,
    restitutionVelocityThreshold: float = ...,
    erp: float = ...,
    contactERP: float = ...,
    frictionERP: float = ...,
    enableConeFriction: int = ...,
    deterministicOverlappingPairs: int = ...,
    allowedCcdPenetration: float = ...,
    jointFeedbackMode: int = ...,
    solverResidualThreshold: float = ...,
    contactSlop: float = ...,
    enableSAT: int = ...,
    constraintSolverType: int = ...,
    globalCFM: float = ...,
    minimumSolverIslandSize: int = ...,
    reportSolverAnalytics: int = ...,
    warmStartingFactor: float = ...,
    sparseSdfVoxelSize: float = ...,
    numNonContactInnerIterations: int = ...,
    physicsClientId: int = ...,
) -> None: ...
def getPhysicsEngineParameters(physicsClientId: int = ...) -> dict[str, float]: ...
def stepSimulation(physicsClientId: int = ...) -> tuple[()]: ...
def performCollisionDetection(physicsClientId: int = ...) -> None: ...
def saveState(physicsClientId: int = ...) -> int: ...
def restoreState(
    stateId: int = ..., fileName: str = ..., physicsClientId: int = ...
) -> None: ...
def removeState(stateUniqueId: int, physicsClientId: int = ...) -> None: ...

# -- bodies -----------------------------------------------------------------------

def setAdditionalSearchPath(path: str, physicsClientId: int = ...) -> None: ...
def loadURDF(
    fileName: str,
    basePosition: _Numbers = ...,
    baseOrientation: _Numbers = ...,
    useMaximalCoordinates: int = ...,
    useFixedBase: int = ...,
    flags: int = ...,
    globalScaling: float = ...,
    physicsClientId: int = ...,
) -> int: ...
def createCollisionShape(
    shapeType: int,
    radius: float = ...,
    halfExtents: _Numbers = ...,
    height: float = ...,
    fileName: str = ...,
    meshScale: _Numbers = ...,
    planeNormal: _Numbers = ...,
    flags: int = ...,
    collisionFramePosition: _Numbers = ...,
    collisionFrameOrientation: _Numbers = ...,
    *,
    physicsClientId: int = ...,
) -> int: ...
def createVisualShape(
    shapeType: int,
    radius: float = ...,
    halfExtents: _Numbers = ...,
    length: float = ...,
    fileName: str = ...,
    meshScale: _Numbers = ...,
    planeNormal: _Numbers = ...,
    flags: int = ...,
    rgbaColor: _Numbers = ...,
    specularColor: _Numbers = ...,
    visualFramePosition: _Numbers = ...,
    visualFrameOrientation: _Numbers = ...,
    *,
    physicsClientId: int = ...,
) -> int: ...
def createMultiBody(
    baseMass: float = ...,
    baseCollisionShapeIndex: int = ...,
    baseVisualShapeIndex: int = ...,
    basePosition: _Numbers = ...,
    baseOrientation: _Numbers = ...,
    baseInertialFramePosition: _Numbers = ...,
    baseInertialFrameOrientation: _Numbers = ...,
    *,
    physicsClientId: int = ...,
) -> int: ...
def removeBody(bodyUniqueId: int, physicsClientId: int = ...) -> None: ...
def getBodyInfo(
    bodyUniqueId: int, physicsClientId: int = ...
) -> tuple[bytes, bytes]: ...
def getNumBodies(physicsClientId: int = ...) -> int: ...
def getDynamicsInfo(
    bodyUniqueId: int, linkIndex: int, *, physicsClientId: int = ...
) -> _DynamicsInfo: ...
def changeDynamics(
    bodyUniqueId: int,
    linkIndex: int,
    *,
    mass: float = ...,
    lateralFriction: float = ...,
    spinningFriction: float = ...,
    rollingFriction: float = ...,
    restitution: float = ...,
    linearDamping: float = ...,
    angularDamping: float = ...,
    contactStiffness: float = ...,
    contactDamping: float = ...,
    frictionAnchor: int = ...,
    localInertiaDiagonal: _Numbers = ...,
    ccdSweptSphereRadius: float = ...,
    contactProcessingThreshold: float = ...,
    activationState: int = ...,
    jointDamping: float = ...,
    anisotropicFriction: _Numbers = ...,
    maxJointVelocity: float = ...,
    collisionMargin: float = ...,
    jointLowerLimit: float = ...,
    jointUpperLimit: float = ...,
    jointLimitForce: float = ...,
    physicsClientId: int = ...,
) -> None: ...
def setCollisionFilterPair(
    bodyUniqueIdA: int,
    bodyUniqueIdB: int,
    linkIndexA: int,
    linkIndexB: int,
    enableCollision: int,
    physicsClientId: int = ...,
) -> None: ...
def setCollisionFilterGroupMask(
    bodyUniqueId: int,
    linkIndexA: int,
    collisionFilterGroup: int,
    collisionFilterMask: int,
    physicsClientId: int = ...,
) -> None: ...
def createConstraint(
    parentBodyUniqueId: int,
    parentLinkIndex: int,
    childBodyUniqueId: int,
    childLinkIndex: int,
    jointType: int,
    jointAxis: _Numbers,
    parentFramePosition: _Numbers,
    childFramePosition: _Numbers,
    parentFrameOrientation: _Numbers = ...,
    childFrameOrientation: _Numbers = ...,
    physicsClientId: int = ...,
) -> int: ...
def changeConstraint(
    userConstraintUniqueId: int,
    jointChildPivot: _Numbers = ...,
    jointChildFrameOrientation: _Numbers = ...,
    maxForce: float = ...,
    gearRatio: float = ...,
    gearAuxLink: int = ...,
    relativePositionTarget: float = ...,
    erp: float = ...,
    *,
    physicsClientId: int = ...,
) -> None: ...
def removeConstraint(
    userConstraintUniqueId: int, physicsClientId: int = ...
) -> None: ...

# -- base and joints --------------------------------------------------------------

def getBasePositionAndOrientation(
    bodyUniqueId: int, physicsClientId: int = ...
) -> tuple[_Vector, _Quaternion]: ...
def resetBasePositionAndOrientation(
    bodyUniqueId: int,
    posObj: _Numbers,
    ornObj: _Numbers,
    physicsClientId: int = ...,
) -> None: ...
def getBaseVelocity(
    bodyUniqueId: int, physicsClientId: int = ...
) -> tuple[_Vector, _Vector]: ...
def resetBaseVelocity(
    objectUniqueId: int,
    linearVelocity: _Numbers = ...,
    angularVelocity: _Numbers = ...,
    physicsClientId: int = ...,
) -> None: ...
def getNumJoints(bodyUniqueId: int, physicsClientId: int = ...) -> int: ...
def getJointInfo(
    bodyUniqueId: int, jointIndex: int, physicsClientId: int = ...
) -> _JointInfo: ...
def getJointState(
    bodyUniqueId: int, jointIndex: int, physicsClientId: int = ...
) -> _JointState: ...
def getJointStates(
    bodyUniqueId: int, jointIndices: _Ints, physicsClientId: int = ...
) -> tuple[_JointState, ...]: ...
def resetJointState(
    bodyUniqueId: int,
    jointIndex: int,
    targetValue: float,
    targetVelocity: float = ...,
    physicsClientId: int = ...,
) -> None: ...
def enableJointForceTorqueSensor(
    bodyUniqueId: int,
    jointIndex: int,
    enableSensor: int = ...,
    physicsClientId: int = ...,
) -> None: ...
def setJointMotorControl2(
    bodyUniqueId: int,
    jointIndex: int,
    controlMode: int,
    targetPosition: float = ...,
    targetVelocity: float = ...,
    force: float = ...,
    positionGain: float = ...,
    velocityGain: float = ...,
    maxVelocity: float = ...,
    physicsClientId: int = ...,
) -> None: ...
def setJointMotorControlArray(
    bodyUniqueId: int,
    jointIndices: _Ints,
    controlMode: int,
    targetPositions: _Numbers = ...,
    targetVelocities: _Numbers = ...,
    forces: _Numbers = ...,
    positionGains: _Numbers = ...,
    velocityGains: _Numbers = ...,
    physicsClientId: int = ...,
) -> None: ...
def applyExternalForce(
    objectUniqueId: int,
    linkIndex: int,
    forceObj: _Numbers,
    posObj: _Numbers,
    flags: int,
    physicsClientId: int = ...,
) -> None: ...
def applyExternalTorque(
    objectUniqueId: int,
    linkIndex: int,
    torqueObj: _Numbers,
    flags: int,
    physicsClientId: int = ...,
) -> None: ...

# -- links and contacts -----------------------------------------------------------

def getLinkState(
    bodyUniqueId: int,
    linkIndex: int,
    computeLinkVelocity: int = ...,
    computeForwardKinematics: int = ...,
    physicsClientId: int = ...,
) -> _LinkState: ...
def getLinkStates(
    bodyUniqueId: int,
    linkIndices: _Ints,
    computeLinkVelocity: int = ...,
    computeForwardKinematics: int = ...,
    physicsClientId: int = ...,
) -> tuple[_LinkState, ...]: ...
def rayTestBatch(
    rayFromPositions: Sequence[_Numbers] | Sequence[list[float]],
    rayToPositions: Sequence[_Numbers] | Sequence[list[float]],
    numThreads: int = ...,
    *,
    collisionFilterMask: int = ...,
    physicsClientId: int = ...,
) -> tuple[tuple[int, int, float, _Vector, _Vector], ...]: ...
def getContactPoints(
    bodyA: int = ...,
    bodyB: int = ...,
    linkIndexA: int = ...,
    linkIndexB: int = ...,
    physicsClientId: int = ...,
) -> tuple[_ContactPoint, ...]: ...
def getClosestPoints(
    bodyA: int,
    bodyB: int,
    distance: float,
    linkIndexA: int = ...,
    linkIndexB: int = ...,
    *,
    physicsClientId: int = ...,
) -> tuple[_ContactPoint, ...]: ...

# -- dynamics ---------------------------------------------------------------------

def calculateInverseDynamics(
    bodyUniqueId: int,
    objPositions: _Numbers,
    objVelocities: _Numbers,
    objAccelerations: _Numbers,
    flags: int = ...,
    physicsClientId: int = ...,
) -> _Row: ...
def calculateJacobian(
    bodyUniqueId: int,
    linkIndex: int,
    localPosition: _Numbers,
    objPositions: _Numbers,
    objVelocities: _Numbers,
    objAccelerations: _Numbers,
    physicsClientId: int = ...,
) -> tuple[tuple[_Row, _Row, _Row], tuple[_Row, _Row, _Row]]: ...
def calculateMassMatrix(
    bodyUniqueId: int,
    objPositions: _Numbers,
    flags: int = ...,
    physicsClientId: int = ...,
) -> tuple[_Row, ...]: ...

# -- pictures ---------------------------------------------------------------------

def getVisualShapeData(
    objectUniqueId: int, flags: int = ..., physicsClientId: int = ...
) -> tuple[_VisualShape, ...]: ...
def changeVisualShape(
    objectUniqueId: int,
    linkIndex: int,
    shapeIndex: int = ...,
    textureUniqueId: int = ...,
    rgbaColor: _Numbers = ...,
    specularColor: _Numbers = ...,
    flags: int = ...,
    physicsClientId: int = ...,
) -> None: ...
def computeViewMatrix(
    cameraEyePosition: _Numbers,
    cameraTargetPosition: _Numbers,
    cameraUpVector: _Numbers,
    physicsClientId: int = ...,
) -> _Row: ...
def computeViewMatrixFromYawPitchRoll(
    cameraTargetPosition: _Numbers,
    distance: float,
    yaw: float,
    pitch: float,
    roll: float,
    upAxisIndex: int,
    physicsClientId: int = ...,
) -> _Row: ...
def computeProjectionMatrixFOV(
    fov: float,
    aspect: float,
    nearVal: float,
    farVal: float,
    physicsClientId: int = ...,
) -> _Row: ...
def getCameraImage(
    width: int,
    height: int,
    viewMatrix: _Numbers = ...,
    projectionMatrix: _Numbers = ...,
    lightDirection: _Numbers = ...,
    lightColor: _Numbers = ...,
    lightDistance: float = ...,
    shadow: int = ...,
    lightAmbientCoeff: float = ...,
    lightDiffuseCoeff: float = ...,
    lightSpecularCoeff: float = ...,
    renderer: int = ...,
    flags: int = ...,
    *,
    physicsClientId: int = ...,
) -> _CameraImage: ...
def resetDebugVisualizerCamera(
    cameraDistance: float,
    cameraYaw: float,
    cameraPitch: float,
    cameraTargetPosition: _Numbers,
    physicsClientId: int = ...,
) -> None: ...
def configureDebugVisualizer(
    flag: int = ...,
    enable: int = ...,
    *,
    lightPosition: _Numbers = ...,
    shadowMapResolution: int = ...,
    shadowMapWorldSize: int = ...,
    rgbBackground: _Numbers = ...,
    physicsClientId: int = ...,
) -> None: ...

# -- rotations --------------------------------------------------------------------

def multiplyTransforms(
    positionA: _Numbers,
    orientationA: _Numbers,
    positionB: _Numbers,
    orientationB: _Numbers,
    physicsClientId: int = ...,
) -> tuple[_Vector, _Quaternion]: ...
def invertTransform(
    position: _Numbers, orientation: _Numbers
) -> tuple[_Vector, _Quaternion]: ...
def getQuaternionFromEuler(
    eulerAngles: _Numbers, physicsClientId: int = ...
) -> _Quaternion: ...
def getEulerFromQuaternion(
    quaternion: _Numbers, physicsClientId: int = ...
) -> _Vector: ...
def getMatrixFromQuaternion(
    quaternion: _Numbers, physicsClientId: int = ...
) -> tuple[float, float, float, float, float, float, float, float, float]: ...
