"""Services that need vision, hearing, walking or a tablet, which are not simulated.

Programs fetch these services at start and stop if one is missing. Methods that need the
missing part raise, since an invented answer would mislead. Methods that stop or
query such a function return the idle state.
"""

from collections.abc import Callable, Mapping
from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import Value
from nao_testbed.experiments.server.naoqi.service import ALService, NotSimulated

OF_EXTRACTORS = (
    "subscribe",
    "updatePeriod",
    "updatePrecision",
    "getCurrentPeriod",
    "getCurrentPrecision",
    "getMyPeriod",
    "getMyPrecision",
    "setParameter",
    "setResolution",
    "getResolution",
    "setFrameRate",
    "getFrameRate",
    "setActiveCamera",
    "getActiveCamera",
    "pause",
)
"""Methods of a service that reads images or sound and writes its results."""
OF_PICTURES = (
    "setResolution",
    "getResolution",
    "setColorSpace",
    "getColorSpace",
    "setCameraID",
    "getCameraID",
)
REFUSING: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "ALVideoDevice": (
        "a camera for programs",
        (
            *("subscribe", "subscribeCamera", "subscribeCameras"),
            *("getImageRemote", "getImagesRemote", "getImageLocal", "getImagesLocal"),
            *("getParam", "setParam", "setParamDefault", "getParameter"),
            *("setParameter", "setParameterToDefault", "setAllParametersToDefault"),
            *("getActiveCamera", "setActiveCamera", "getResolution", "setResolution"),
            *("getColorSpace", "setColorSpace", "getFrameRate", "setFrameRate"),
            *("openCamera", "startCamera", "getCameraModel", "getCameraName"),
            *("getHorizontalFOV", "getVerticalFOV"),
            "getAngularPositionFromImagePosition",
            "getImagePositionFromAngularPosition",
        ),
    ),
    "ALPhotoCapture": (
        "a camera for programs",
        (
            *OF_PICTURES,
            *("takePicture", "takePictures", "setPictureFormat", "getPictureFormat"),
            *("setCaptureInterval", "getCaptureInterval"),
            *("setHalfPressEnabled", "isHalfPressEnabled"),
        ),
    ),
    "ALVideoRecorder": (
        "a camera for programs",
        (
            *OF_PICTURES,
            *("startRecording", "stopRecording", "setFrameRate", "getFrameRate"),
            *("setVideoFormat", "getVideoFormat"),
        ),
    ),
    "ALFaceDetection": (
        "seeing",
        (
            *OF_EXTRACTORS,
            *("learnFace", "reLearnFace", "forgetPerson", "clearDatabase"),
            *("getLearnedFacesList", "setRecognitionEnabled", "isRecognitionEnabled"),
            *("setTrackingEnabled", "isTrackingEnabled"),
        ),
    ),
    "ALPeoplePerception": (
        "seeing",
        (
            *OF_EXTRACTORS,
            *("resetPopulation", "setMaximumDetectionRange", "setFastModeEnabled"),
            *("getMaximumDetectionRange", "setTimeBeforePersonDisappears"),
            *("isFaceDetectionEnabled", "setFaceDetectionEnabled"),
        ),
    ),
    "ALVisionRecognition": (
        "seeing",
        (*OF_EXTRACTORS, "clearCurrentDatabase", "changeDatabase", "load", "learn"),
    ),
    "ALColorBlobDetection": ("seeing", (*OF_EXTRACTORS, "setColor", "getCircle")),
    "ALFaceCharacteristics": ("seeing", (*OF_EXTRACTORS, "analyzeFaceCharacteristics")),
    "ALMood": (
        "seeing",
        (
            *OF_EXTRACTORS,
            *("ambianceState", "currentPersonState", "getEmotionalReaction"),
            *("persons", "attention"),
        ),
    ),
    "ALUserSession": (
        "seeing",
        (
            *("getFocusedUser", "getOpenUserSessions", "getUserList", "getNumUsers"),
            *("getUsidFromPpid", "getPpidFromUsid", "openUserSession"),
        ),
    ),
    "ALVisualCompass": (
        "seeing",
        (*OF_EXTRACTORS, "setCurrentImageAsReference", "moveTo", "moveStraightTo"),
    ),
    **dict.fromkeys(
        (
            *("ALLandMarkDetection", "ALRedBallDetection", "ALBarcodeReader"),
            *("ALMovementDetection", "ALGazeAnalysis", "ALWavingDetection"),
            *("ALSittingPeopleDetection", "ALEngagementZones", "ALDarknessDetection"),
            *("ALBacklightingDetection", "ALCloseObjectDetection"),
            "ALSegmentation3D",
        ),
        ("seeing", OF_EXTRACTORS),
    ),
    "ALAudioRecorder": ("hearing", ("startMicrophonesRecording", "recordMessage")),
    "ALSpeechRecognition": (
        "hearing",
        (
            *OF_EXTRACTORS,
            *("setLanguage", "getLanguage", "getAvailableLanguages"),
            *("setVocabulary", "setWordListAsVocabulary", "setAudioExpression"),
            *("setVisualExpression", "getParameter", "loadVocabulary"),
            *("addContext", "compile", "getAudioExpression"),
        ),
    ),
    "ALSoundDetection": ("hearing", OF_EXTRACTORS),
    "ALSoundLocalization": ("hearing", OF_EXTRACTORS),
    "ALVoiceEmotionAnalysis": ("hearing", OF_EXTRACTORS),
    "ALDialog": (
        "a dialogue",
        (
            *("loadTopic", "loadTopicContent", "activateTopic", "subscribe"),
            *("setLanguage", "forceInput", "forceOutput", "runDialog", "setFocus"),
            *("gotoTopic", "gotoTag", "gotoTopicRandom", "activateTag", "tell"),
            *("deactivateTag", "setConcept", "getConcept", "addToConcept"),
            *("setDelay", "addBlockingEvent", "removeBlockingEvent", "insertUserData"),
            *("getUserData", "openSession", "compileAll", "setASRConfidenceThreshold"),
            *("setConfidenceThreshold", "setVariablePath", "resetAll"),
        ),
    ),
    "ALTracker": (
        "tracking",
        (
            *("registerTarget", "registerTargets", "track", "trackEvent", "setMode"),
            *("lookAt", "pointAt", "getTargetPosition", "getRobotPosition", "getMode"),
            *("setEffector", "getEffector", "setRelativePosition", "toggleSearch"),
            *("getRelativePosition", "setMaximumDistanceDetection", "setTimeOut"),
            *("setMaximumVelocity", "setMaximumAcceleration", "setExtractorPeriod"),
            *("getAvailableModes", "getSupportedTargets", "setSearchFractionMaxSpeed"),
        ),
    ),
    "ALNavigation": (
        "walking",
        (
            *("navigateTo", "navigateToInMap", "moveAlong", "moveTo", "explore"),
            *("getFreeZone", "findFreeZone", "startFreeZoneUpdate", "loadExploration"),
            *("startLocalization", "getRobotPositionInMap", "setSecurityDistance"),
        ),
    ),
    "ALLocalization": (
        "walking",
        ("learnHome", "goToHome", "goToPosition", "getRobotPosition", "load", "save"),
    ),
    "ALTabletService": (
        "a tablet",
        (
            *("showWebview", "showImage", "showImageNoCache", "loadApplication"),
            *("loadUrl", "playVideo", "showInputDialog", "showInputTextDialog"),
            *("wakeUp", "turnScreenOn", "setBrightness", "getBrightness"),
            *("enableWifi", "configureWifi", "connectWifi", "getWifiStatus"),
            *("getWifiMacAddress", "setBackgroundColor", "executeJS", "robotIp"),
            *("setVolume", "preLoadImage", "resetTablet", "reloadPage"),
        ),
    ),
}
"""Missing part of each service, and the published methods that need it."""
IDLE: Mapping[str, Mapping[str, Any]] = {
    "ALVideoDevice": {
        "getSubscribers": [],
        "unsubscribe": True,
        "unsubscribeAllInstances": True,
        "releaseImage": True,
        "releaseImages": True,
        "isCameraOpen": False,
        "isCameraStarted": False,
        "hasCamera": False,
        "getCameraIndexes": [],
        "closeCamera": True,
        "stopCamera": True,
    },
    "ALVideoRecorder": {"isRecording": False},
    "ALAudioRecorder": {"stopMicrophonesRecording": None},
    "ALDialog": {
        "unsubscribe": None,
        "deactivateTopic": None,
        "unloadTopic": None,
        "stopDialog": None,
        "closeSession": None,
        "getLoadedTopics": [],
        "getAllLoadedTopics": [],
        "getActivatedTopics": [],
    },
    "ALTracker": {
        "stopTracker": None,
        "unregisterTarget": None,
        "unregisterTargets": None,
        "unregisterAllTargets": None,
        "getRegisteredTargets": [],
        "getActiveTarget": "",
        "isActive": False,
        "isTargetLost": True,
        "isNewTargetDetected": False,
        "isSearchEnabled": False,
    },
    "ALNavigation": {
        "stopExploration": None,
        "stopLocalization": None,
        "stopFreeZoneUpdate": None,
    },
    "ALLocalization": {"isInCurrentHome": False, "stopAll": None},
    "ALTabletService": {
        "hide": False,
        "hideWebview": False,
        "hideImage": False,
        "hideDialog": False,
        "stopVideo": False,
        "pauseVideo": False,
        "turnScreenOff": False,
    },
}
"""Methods that end or query such work, by service, with their answers."""
IDLE_EXTRACTOR: Mapping[str, Any] = {
    "unsubscribe": None,
    "getSubscribersInfo": [],
    "isPaused": False,
    "isProcessing": False,
}


def _refusal(what: str, name: str) -> Callable[..., None]:
    def refuse(self: ALService, *args: Value) -> None:  # noqa: ARG001
        raise NotSimulated(what)

    refuse.__name__ = name
    refuse.__doc__ = f"Refuse: {what} is not simulated."
    return refuse


def _answer(value: Any, name: str) -> Callable[..., Any]:
    def answer(self: ALService, *args: Value) -> Any:  # noqa: ARG001
        return value

    answer.__name__ = name
    answer.__doc__ = "Return the answer of the idle function."
    return answer


def refusing_services() -> tuple[type[ALService], ...]:
    """Return the services whose methods report that they are not simulated.

    Methods that stop or query such a function return the idle state.
    """
    found = []
    for service, (what, names) in REFUSING.items():
        idle = dict(IDLE.get(service, {}))
        if "updatePeriod" in names:
            idle = {**IDLE_EXTRACTOR, **idle}
        found.append(
            type(
                service,
                (ALService,),
                {
                    "NAME": service,
                    "__doc__": f"Refuses: {what} is not simulated.",
                    **{name: _refusal(what, name) for name in names},
                    **{name: _answer(value, name) for name, value in idle.items()},
                },
            )
        )
    return tuple(found)
