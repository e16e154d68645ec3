"""Longer programs, most of them for several services; see the package."""

PROGRAMS = r"""
## old video calls
video = session.service("ALVideoDevice"); video.setParam(18, 1)
name = video.subscribe("python_client", 1, 13, 5); image = video.getImageRemote(name)
video.releaseImage(name)
w, h, layers, space, data = image[0], image[1], image[2], image[3], image[6]
video.unsubscribe(name); video.setActiveCamera(0); gone = False
try: video.getImageRemote(name)
except RuntimeError: gone = True
seen = [w, h, layers, space, len(data), video.getSubscribers().count(name), gone]
expected = [320, 240, 3, 13, 320*240*3, 0, True]
## events of words while speaking
words, done = [], []
w = memory.subscriber("ALTextToSpeech/CurrentWord"); w.signal.connect(words.append)
d = memory.subscriber("ALTextToSpeech/TextDone"); d.signal.connect(done.append)
marks = []; m = memory.subscriber("ALTextToSpeech/CurrentBookMark")
m.signal.connect(marks.append); speech.say("\\mrk=1\\ hello \\mrk=2\\ big world")
until(lambda: done, 5); time.sleep(0.3)
seen = [[x.strip() for x in words if x.strip()][:3], len(done) > 0,
    [x for x in marks if x]]
expected = [["hello", "big", "world"], True, [1, 2]]
## idle, breath, then posture
motion.setBreathEnabled("Arms", True)
motion.setBreathConfig([["Bpm", 15.0], ["Amplitude", 0.6]]); time.sleep(0.5)
on = motion.getBreathEnabled("LArm")
config = dict(map(tuple, motion.getBreathConfig()))
motion.setIdlePostureEnabled("Body", True); ok = posture.goToPosture("StandInit", 0.8)
motion.setBreathEnabled("Body", False)
seen = [on, config["Bpm"], ok, motion.getBreathEnabled("Arms"),
    motion.getIdlePostureEnabled("Body")]
expected = [True, 15.0, True, False, True]; motion.setIdlePostureEnabled("Body", False)
## session: services, wait, meta object, ServiceDirectory
infos = session.services(); names = [s["name"] for s in infos]
session.waitForService("ALMotion"); meta = motion.metaObject()
methods = {m["name"] if isinstance(m,
    dict) else m[2] for m in meta["methods"].values()} if isinstance(meta, dict) else {
    m.name for m in meta[0].values()}
directory = session.service("ServiceDirectory")
seen = ["ALMotion" in names, "setAngles" in methods, session.isConnected(),
    len(directory.services()) > 40, motion.ping(), motion.version()[:3]]
expected = [True, True, True, True, True, "2.8"]
## LEDs: group, fade, post, ears, list
leds.createGroup("Mine", ["LeftFaceLed1", "RightFaceLed1", "ChestLedsRed"])
leds.fade("Mine", 0.5, 0.1); half = leds.getIntensity("ChestLedsRed")
n = leds.pCall("fadeRGB", "FaceLeds", 0x00FF0000, 1.0); leds.wait(n, 0)
red = leds.getIntensity("LeftFaceLed3")
leds.fadeRGB("ChestLeds", "green", 0.0); time.sleep(0.1)
leds.setIntensity("EarLeds", 0.25); leds.earLedsSetAngle(90, 0.2, True)
leds.fadeListRGB("FaceLeds", [0x0000FF, 0x00FF00], [0.2, 0.4])
seen = [near(half, 0.5), [round(x, 1) for x in red], len(leds.listGroup("Mine")) >= 3,
        [round(x) for x in leds.getIntensity("LeftFaceLed1")]]
expected = [True, [1.0, 0.0, 0.0], True, [0, 1, 0]]; leds.reset("AllLeds")
## cartesian arms together, list of masks and times
frame = 0; both = ["LArm", "RArm"]; paths = []
for side, sign in (("LArm", 1), ("RArm", -1)):
    tf = almath.Transform(motion.getTransform(side, frame, False))
    tf.r1_c4 += 0.02; tf.r2_c4 += sign * 0.02; paths.append(list(tf.toVector()))
before = [motion.getPosition(x, frame, True) for x in both]
motion.transformInterpolations(both, frame, paths, [7, 7], [[1.5], [1.5]])
after = [motion.getPosition(x, frame, True) for x in both]
seen = [near(a[0] - b[0], 0.02, 0.008) for a, b in zip(after,
    before)] + [near(after[0][1] - before[0][1], 0.02, 0.008)]
expected = [True, True, True]; posture.goToPosture("StandInit", 0.8)
## temperature monitor
temp, diag = session.service("ALBodyTemperature"), session.service("ALDiagnosis")
temp.setEnableNotifications(True)
keys = [
    "Device/SubDeviceList/%s/Temperature/Sensor/Value" % j for j in motion.getBodyNames(
    "Body")]
values = memory.getListData(keys)
seen = [sum(v is None for v in values), temp.getTemperatureDiagnosis(),
    diag.getDiagnosisStatus(), diag.getActiveDiagnosis(), temp.areNotificationsEnabled(
    )]
expected = [1, [0, []], [0, []], [0, []], True]
## hands, elbows, limits, change of angles, kill by resources
low, high, speed, torque = motion.getLimits("LElbowRoll")[0]
motion.setAngles("LElbowRoll", -3.0, 0.3)
clipped = until(lambda: near(angle("LElbowRoll"), low, 0.05), 10)
f = motion.angleInterpolation(["LElbowRoll", "RElbowRoll"], [-0.5, 0.5], [20.0, 20.0],
    True, _async=True)
until(lambda: len(motion.getTaskList()) > 0, 5)
busy = motion.areResourcesAvailable(["LArm"]); motion.killTasksUsingResources(["LArm"])
f.value()
seen = [clipped, busy, motion.areResourcesAvailable(["LArm"]), motion.getTaskList()]
expected = [True, False, True, []]
## deprecated names
x = motion.getPosition("LArm", 0, False)
motion.changePosition("LArm", 0, [0.0, 0.0, 0.02, 0.0, 0.0, 0.0], 0.3, 7)
moved = until(lambda: near(motion.getPosition("LArm", 0, True)[2], x[2] + 0.02, 0.01),
    10)
motion.setPositions("LArm", 0, x, 0.3, 7)
back = until(lambda: near(motion.getPosition("LArm", 0, True)[2], x[2], 0.01), 10)
went = motion.wbGoToBalanceWithSpeed("Legs", 0.5)
seen = [moved, back, went, motion.walkTo(0.1, 0.0, 0.0), motion.getRobotConfig()[0][0],
    motion.getMotionCycleTime()]
expected = [True, True, True, False, "Model Type", 20]
## speech settings
speech.setLanguage("French"); fr = speech.locale(); speech.setLanguage("English")
speech.setVolume(0.4); speech.setParameter("speed", 80)
speech.setParameter("pitchShift", 1.1)
speech.say("Où est l'été? \u00e9\u00e8 42", "French")
try:
    speech.setLanguage("Klingon"); bad = "set"
except RuntimeError: bad = "refused"
seen = [fr, near(speech.getVolume(), 0.4, 1e-3), speech.getParameter("speed"), bad,
    speech.getLanguage(), speech.getVoice() in speech.getAvailableVoices()]
expected = ["fr_FR", True, 80.0, "refused", "English", True]
## timeline export of both arms and head, ragged times
names, times, keys = list(), list(), list()
for joint, t, k in (("HeadPitch", [0.6, 1.2, 2.0], [0.1, -0.2, 0.0]),
                    ("LShoulderPitch", [0.8, 2.0], [0.9, 1.4]),
                    ("RShoulderPitch", [0.8, 2.0], [0.9, 1.4]),
                    ("RElbowRoll", [1.4], [0.9]), ("RHand", [0.6, 1.8], [0.9, 0.1])):
    names.append(joint); times.append(t)
    keys.append([[a, [3, -0.2, 0.0], [3, 0.2, 0.0]] for a in k])
motion.angleInterpolationBezier(names, times, keys)
seen = [near(angle("HeadPitch"), 0.0), near(angle("LShoulderPitch"), 1.4, 0.08),
        near(angle("RElbowRoll"), 0.9, 0.08), near(angle("RHand"), 0.1, 0.1)]
expected = [True] * 4
## whole body: squat with balance constraint
motion.wbEnable(True); motion.wbFootState("Fixed", "Legs")
motion.wbEnableBalanceConstraint(True, "Legs")
z = motion.getPosition("Torso", 1, True)[2]; dx, dz = 0.01, -0.03
path = [[0.0, 0.0, dz, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
motion.positionInterpolations("Torso", 2, [motion.getPosition("Torso", 2, False)], 63,
    [0.5])
motion.positionInterpolation("Torso", 2, path, 63, [1.5, 3.0], False)
motion.wbEnable(False)
seen = [near(motion.getPosition("Torso", 1, True)[2], z, 0.02),
    posture.getPostureFamily()]
expected = [True, "Standing"]; posture.goToPosture("StandInit", 0.8)
## resource manager with callback of an own service
manager = session.service("ALResourceManager"); asked = []
class Owner:
    def lose(self, resource, owner):
        asked.append([resource, owner]); manager.releaseResource("Head", "Owner23")
session.registerService("Owner23", Owner())
manager.acquireResource("Head", "Owner23", "lose", 1)
other = qi.Session(); other.connect(sys.argv[1])
theirs = other.service("ALResourceManager")
theirs.acquireResource("HeadYaw", "Second", "", 10)
seen = [len(asked) >= 1, theirs.areResourcesOwnedBy(["HeadYaw"], "Second")]
expected = [True, True]; theirs.releaseResource("HeadYaw", "Second"); other.close()
## HumanGreeter pattern: unsubscribe and subscribe in the callback
said = []
class Greeter:
    def onTouched(self, key, value, message):
        memory.unsubscribeToEvent("FrontTactilTouched", "Greeter"); said.append(value)
        memory.subscribeToEvent("FrontTactilTouched", "Greeter", "onTouched")
session.registerService("Greeter", Greeter())
memory.subscribeToEvent("FrontTactilTouched", "Greeter", "onTouched")
for k in range(3):
    memory.raiseEvent("FrontTactilTouched", 1.0); until(lambda: len(said) > k, 10)
    time.sleep(0.1)
memory.unsubscribeToEvent("FrontTactilTouched", "Greeter")
seen, expected = said, [1.0, 1.0, 1.0]
## joint state publisher of a driver
names = motion.getBodyNames("JointActuators")
joints = [n for n in names if "Hand" not in n]
keys = ["Device/SubDeviceList/InertialSensor/%s/Sensor/Value" % k for k in
        ("AngleX", "AngleY", "GyroscopeX", "GyroscopeY", "AccelerometerX",
            "AccelerometerZ")]
a = motion.getAngles("Body", True); c = motion.getAngles("Body", False)
v = memory.getListData(["Motion/Velocity/Sensor/" + j for j in joints])
imu = memory.getListData(keys)
odom = motion.getRobotPosition(True); vel = motion.getRobotVelocity()
seen = [len(a), len(c), None in v, None in imu, len(odom), vel,
    8.0 < abs(imu[5]) < 11.0]
expected = [26, 26, False, False, 3, [0.0, 0.0, 0.0], True]
## wake and rest events in order, robotIsWakeUp
got, subs = [], []
for e in ("ALMotion/Stiffness/restStarted", "ALMotion/Stiffness/restFinished",
    "ALMotion/Stiffness/wakeUpStarted", "ALMotion/Stiffness/wakeUpFinished"):
    s = memory.subscriber(e)
    s.signal.connect(lambda v, e=e: got.append((e.split("/")[-1], v))); subs.append(s)
motion.rest(); time.sleep(0.3); woke = motion.wakeUp(); time.sleep(0.5)
names = [g[0] for g in got]
seen = [names, woke, motion.robotIsWakeUp(),
    all(g[1] is True or g[1] == 1 for g in got)]
expected = [["restStarted", "restFinished", "wakeUpStarted", "wakeUpFinished"], True,
    True, True]
posture.goToPosture("StandInit", 0.8)
## module with signal, property and bound method, used by a second program
class Counter:
    def __init__(self):
        self.ticked = qi.Signal("(i)"); self.total = qi.Property("i")
        self.total.setValue(0)
    @qi.bind(returnType=qi.Int32, paramsType=[qi.Int32])
    def add(self, n):
        self.total.setValue(self.total.value() + n); self.ticked(self.total.value())
        return self.total.value()
counter = Counter(); number = app.session.registerService("Counter", counter)
other = qi.Session(); other.connect(sys.argv[1]); remote = other.service("Counter")
got = []; remote.ticked.connect(got.append); remote.add(2); answer = remote.add(3)
until(lambda: len(got) == 2, 10); seen = [answer, got, remote.total.value()]
expected = [5, [2, 5], 5]; other.close(); session.unregisterService(number)
## behaviors: list, run, signals, events
manager = session.service("ALBehaviorManager"); names = manager.getInstalledBehaviors()
started, stopped = [], []; manager.behaviorStarted.connect(started.append)
manager.behaviorStopped.connect(stopped.append)
name = [n for n in names if "wave" in n.lower()]; name = (name or names)[0]
try:
    manager.runBehavior("no/such-behavior"); refused = False
except RuntimeError:
    refused = True
manager.startBehavior(name); running = manager.isBehaviorRunning(name)
manager.stopBehavior(name); until(lambda: stopped, 5)
seen = [len(names) > 0, refused, running, started, stopped,
    manager.getRunningBehaviors()]
expected = [True, True, True, [name], [name], []]
## events of the memory itself
added, removed = [], []
a, r = memory.subscriber("ALMemory/KeyAdded"), memory.subscriber("ALMemory/KeyRemoved")
a.signal.connect(added.append); r.signal.connect(removed.append)
memory.insertData("q/x", {"k": [1, 2.5]}); memory.insertData("q/x", 2)
memory.removeData("q/x"); until(lambda: removed, 5)
kinds = []; angles = "Device/SubDeviceList/HeadYaw/Position/Sensor/Value"
for call in (lambda: memory.removeData("q/x"), lambda: memory.getData("q/x"),
    lambda: memory.insertData("", 1), lambda: memory.insertData(angles,
    1), lambda: memory.unsubscribeToEvent("x", "y")):
    try: call(); kinds.append("accepted")
    except RuntimeError: kinds.append("refused")
seen = [[x for x in added if "q" in x], removed[-1:], kinds]
expected = [["q/x"], ["q/x"], ["refused"] * 5]
## life and awareness
life, aware = session.service("ALAutonomousLife"), session.service("ALBasicAwareness")
got = []
sub = memory.subscriber("AutonomousLife/State"); sub.signal.connect(got.append)
life.setState("solitary"); life.setState("disabled"); until(lambda: len(got) == 2, 5)
aware.startAwareness(); on = aware.isAwarenessRunning(); aware.stopAwareness()
aware.setEngagementMode("FullyEngaged")
aware.setStimulusDetectionEnabled("Sound", False)
try: life.setState("asleep"); bad = "set"
except RuntimeError: bad = "refused"
seen = [got, on, aware.isAwarenessRunning(), aware.getEngagementMode(),
    aware.isStimulusDetectionEnabled("Sound"), bad, life.focusedActivity(), len(
    life.getAutonomousAbilitiesStatus())]
expected = [["solitary", "disabled"], True, False, "FullyEngaged", False, "refused", "",
    5]
## memory: lists, history, types, micro events, keys
memory.insertListData([["p/a", 1], ["p/b", [1.5, "x", None]]])
memory.declareEvent("p/Event", "program"); got = []
sub = memory.subscriber("p/Event"); link = sub.signal.connect(got.append)
for k in range(3): memory.raiseEvent("p/Event", k)
until(lambda: len(got) == 3, 5); sub.signal.disconnect(link)
memory.raiseEvent("p/Event", 9); time.sleep(0.3)
memory.raiseMicroEvent("p/Micro", {"a": 1})
hist = [h[0] for h in memory.getEventHistory("p/Event")]
seen = [memory.getData("p/a"), memory.getData("p/b"), got, hist[-4:],
    memory.getType("p/Event"), memory.getType("p/Micro"),
        sorted(memory.getDataList("p/")), memory.getListData(["p/a",
            "p/zzz"]), len(memory.getTimestamp("p/a"))]
expected = [1, [1.5, "x", None], [0, 1, 2], [0, 1, 2, 9], "Event", "MicroEvent",
    ["p/Event", "p/Micro", "p/a", "p/b"], [1, None], 3]
memory.removeData("p/a")
## sound: sine, volume, wav file with position and stop
import wave, os, tempfile, struct; path = os.path.join(tempfile.mkdtemp(), "tone.wav")
with wave.open(path, "wb") as f:
    f.setnchannels(1); f.setsampwidth(2); f.setframerate(8000)
    f.writeframes(b"\0\0" * 80000)
device, player = session.service("ALAudioDevice"), session.service("ALAudioPlayer")
device.setOutputVolume(40); n = player.loadFile(path)
future = player.play(n, _async=True); time.sleep(0.4); at = player.getCurrentPosition(n)
player.stopAll(); future.value()
try:
    player.playFile("none.wav"); missing = "played"
except RuntimeError as e:
    missing = "refused"
device.playSine(440, 30, 0, 0.2)
seen = [device.getOutputVolume(), 0.05 < at < 9.0, missing,
    round(player.getFileLength(n), 1)]
expected = [40, True, "refused", 10.0]; player.unloadAllFiles()
## stiffness and angles by aliases of the DCM
dcm = session.service("DCM"); names = ["HeadYaw", "HeadPitch"]
dcm.createAlias(["HeadStiffness", ["%s/Hardness/Actuator/Value" % n for n in names]])
dcm.createAlias(["HeadAngles", ["%s/Position/Actuator/Value" % n for n in names]])
dcm.set(["HeadStiffness", "Merge", [[0.8, dcm.getTime(200)]]]); t = dcm.getTime(500)
dcm.setAlias(["HeadAngles", "ClearAll", "time-mixed", [[[0.3, t]], [[-0.2, t], [0.1,
    t + 400]]]])
ok = until(lambda: near(angle("HeadYaw"), 0.3) and near(angle("HeadPitch"), 0.1), 15)
dcm.setAlias(["HeadAngles", "ClearAll", "time-separate", 0, [dcm.getTime(500)], [[0.0],
    [0.0]]])
back = until(lambda: near(angle("HeadYaw"), 0.0), 15); errors = []
for bad in (["HeadAngles", "ClearAll", "time-separate", 0], ["HeadAngles", "ClearAll",
    "time-separate", 0, 3, 4],
            ["HeadAngles", "ClearAll", "time-mixed", 5], ["HeadAngles", "ClearAll", "x",
                5], ["Nope", "Merge", [[0.1, 1]]], "text"):
    try:
        (dcm.set if bad == "text" or bad[0] == "Nope" else dcm.setAlias)(bad)
        errors.append("accepted")
    except RuntimeError as e:
        errors.append("DCM::" in str(e) and "Error:" not in str(e).split("DCM::")[
            1].split("At:")[0])
seen = [ok, back, errors]; expected = [True, True, [True] * 6]
motion.setStiffnesses("Body", 1.0)
"""
