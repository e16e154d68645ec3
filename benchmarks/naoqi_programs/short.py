"""Programs for one service or one function each; see the package."""

PROGRAMS = r"""
## get up after a fall
motion.setStiffnesses("Body", 0.0)
fell = until(lambda: memory.getData("robotHasFallen"))
stands = posture.goToPosture("StandInit", 0.8)
seen = [fell, stands, posture.getPostureFamily()]; expected = [True, True, "Standing"]
## rest and wake up
motion.rest(); rests = [motion.robotIsWakeUp(), posture.getPosture()]; motion.wakeUp()
seen = rests + [motion.robotIsWakeUp(), posture.getPostureFamily()]
expected = [False, "Crouch", True, "Standing"]
## lie down
seen, expected = posture.goToPosture("LyingBack", 0.5), False
## a service of another program
class Sum:
    def add(self, a, b):
        return a + b
number = session.registerService("Sum", Sum()); other = qi.Session()
other.connect(sys.argv[1]); seen = [other.service("Sum").add(2, 3)]
other.close()  # an open one can block the end of a process of qi 3.1.5
session.unregisterService(number); expected = [5]
## an event for a service of one's own
got = []
class Listener:
    def heard(self, key, value, message):
        got.append([key, value])
session.registerService("Listener", Listener())
memory.subscribeToEvent("MyEvent", "Listener", "heard")
memory.raiseEvent("MyEvent", [1, "two"]); until(lambda: got)
memory.unsubscribeToEvent("MyEvent", "Listener")
seen, expected = got, [["MyEvent", [1, "two"]]]
## a picture of the upper camera
video = session.service("ALVideoDevice")
name = video.subscribeCamera("program", 0, 1, 11, 10)
picture = video.getImageRemote(name); video.releaseImage(name)
seen = [picture[0], picture[1], len(picture[6]), len(set(picture[6])) > 3,
        video.unsubscribe(name)]
expected = [320, 240, 320 * 240 * 3, True, True]
## a warning in the log
said = []; listener = session.service("LogManager").getListener()
listener.onLogMessagesWithBacklog.connect(said.extend)
moved = motion.moveTo(0.2, 0.0, 0.0); text = "moveTo: walking is not simulated"
seen = [moved, until(lambda: text in [one["message"] for one in said])]
expected = [False, True]
## keys before their first event
keys = ["FrontTactilTouched", "robotIsWakeUp", "AutonomousLife/State",
        "ALTextToSpeech/TextDone", "LeftBumperPressed"]
seen, expected = memory.getListData(keys).count(None), 0
## the head is touched
got = []; touch = memory.subscriber("TouchChanged")
touch.signal.connect(lambda value: got.append(value))
memory.raiseEvent("FrontTactilTouched", 1.0)
memory.raiseEvent("FrontTactilTouched", 0.0); until(lambda: len(got) > 1)
seen = [one[0] for one in got]
expected = [["Head/Touch/Front", True], ["Head/Touch/Front", False]]
## the torso is upright
key = "Device/SubDeviceList/InertialSensor/Angle%s/Sensor/Value"
seen = [near(memory.getData(key % axis), 0.0, 0.25) for axis in "XY"]
expected = [True, True]
## words are recognised
session.service("ALSpeechRecognition").subscribe("program")
## a face is tracked
tracker = session.service("ALTracker"); tracker.registerTarget("Face", 0.1)
## a preference is read
session.service("ALPreferenceManager").getValue("domain", "setting")
## a microphone records
session.service("ALAudioDevice").subscribe("program")
## an error of a missing key is short
try:
    memory.getData("No/Such/Key")
except RuntimeError as error:
    seen = [len(str(error)) < 300, "No/Such/Key" in str(error)]
expected = [True, True]
## a hand moves by almath
before = almath.Transform(motion.getTransform("LArm", 0, False))
goal = almath.Transform.fromPosition(0.0, 0.0, 0.05) * before
motion.transformInterpolations(
    "LArm", 0, list(goal.toVector()), almath.AXIS_MASK_VEL, 2.0)
after = almath.Transform(motion.getTransform("LArm", 0, True))
seen, expected = near(after.r3_c4 - before.r3_c4, 0.05, 0.01), True
posture.goToPosture("StandInit", 0.8)
## degrees to radians
motion.angleInterpolation("HeadYaw", 30.0 * almath.TO_RAD, 1.0, True)
seen, expected = near(angle("HeadYaw"), 0.5236), True
## joints by speed, then relative
motion.setAngles(["HeadYaw", "HeadPitch"], [0.3, 0.1], 0.2)
came = until(lambda: near(angle("HeadYaw"), 0.3))
motion.changeAngles("HeadYaw", -0.3, 0.2)
seen = [came, until(lambda: near(angle("HeadYaw"), 0.0))]; expected = [True, True]
## an arm waves along Bezier curves
points = [[-0.5, [3, -0.3, 0.0], [3, 0.3, 0.0]],
          [0.5, [3, -0.3, 0.0], [3, 0.3, 0.0]]]
motion.angleInterpolationBezier(["RShoulderPitch"], [[1.0, 2.0]], [points])
seen, expected = near(angle("RShoulderPitch"), 0.5, 0.08), True
posture.goToPosture("StandInit", 0.8)
## a motion is cancelled
future = motion.angleInterpolation("HeadYaw", 1.0, 20.0, True, _async=True)
until(lambda: angle("HeadYaw") > 0.05); future.cancel()
until(lambda: not motion.getTaskList()); here = angle("HeadYaw"); time.sleep(1.0)
seen, expected = [near(angle("HeadYaw"), here, 0.02), here < 0.5], [True, True]
## a motion is started with post
number = motion.pCall("angleInterpolation", "HeadYaw", 0.4, 1.0, True)
begun = motion.isRunning(number)
seen = [begun, motion.wait(number, 0), near(angle("HeadYaw"), 0.4)]
expected = [True, False, True]
## hands open and close
motion.openHand("LHand"); opened = motion.getAngles("LHand", True)[0]
motion.closeHand("LHand")
seen = [opened > 0.8, motion.getAngles("LHand", True)[0] < 0.2]; expected = [True, True]
## the torso goes down
high = motion.getPosition("Torso", 2, True)
path = [high[0], high[1], high[2] - 0.03] + high[3:]
motion.positionInterpolations("Torso", 2, path, 63, 2.0)
seen = near(high[2] - motion.getPosition("Torso", 2, True)[2], 0.03, 0.01)
expected = True; posture.goToPosture("StandInit", 0.8)
## the body knows itself
names = motion.getBodyNames("Body"); x, y, _ = motion.getCOM("Body", 2, True)
seen = [len(names), len(motion.getLimits("Body")), near(x, 0.0, 0.05),
        near(y, 0.0, 0.02), 5.0 < motion.getMass("Body") < 6.0]
expected = [26, 26, True, True, True]
## place of a camera
place = motion.getPosition("CameraTop", 0, True)
seen, expected = [len(place), 0.1 < place[2] < 0.25], [6, True]
## commands through the DCM
dcm = session.service("DCM")
dcm.createAlias(["Head", ["HeadYaw/Position/Actuator/Value"]])
dcm.set(["Head", "ClearAll", [[-0.2, dcm.getTime(1000)]]])
seen, expected = until(lambda: near(angle("HeadYaw"), -0.2)), True
## stiffness of an arm
motion.setStiffnesses("LArm", 0.0); limp = motion.getStiffnesses("LArm")
motion.stiffnessInterpolation("LArm", 1.0, 1.0)
seen = [set(limp), set(motion.getStiffnesses("LArm"))]; expected = [{0.0}, {1.0}]
## a text is spoken
got = []; status = memory.subscriber("ALTextToSpeech/Status")
status.signal.connect(lambda value: got.append(value[1]))
speech.say("\\rspd=90\\Hello, I am a robot."); until(lambda: "done" in got)
seen, expected = got[-1:], ["done"]
## eyes change their colour
leds.fadeRGB("FaceLeds", 0x0000FF, 0.2); blue = leds.getIntensity("LeftFaceLed1")
leds.reset("FaceLeds")
seen, expected = [round(one, 1) for one in blue], [0.0, 0.0, 1.0]
## a resource is waited for
manager = session.service("ALResourceManager")
manager.acquireResource("Head", "one", "", 5)
waiting = manager.acquireResource("Head", "two", "", 30, _async=True)
free = manager.isResourceFree("Head"); manager.releaseResource("Head", "one")
waiting.value(); seen = [free, manager.areResourcesOwnedBy(["Head"], "two")]
expected = [False, True]
## settings of autonomous life
life = session.service("ALAutonomousLife"); life.setState("disabled")
life.setAutonomousAbilityEnabled("All", False)
awareness = session.service("ALBasicAwareness"); awareness.setEnabled(False)
seen = [life.getState(), life.getAutonomousAbilityEnabled("BasicAwareness"),
        awareness.isEnabled()]
expected = ["disabled", False, False]
## battery, temperature, sonar
sonar = session.service("ALSonar"); sonar.subscribe("program")
key = "Device/SubDeviceList/%s/Sensor/Value"; far = memory.getData(key % "US/Left")
hot = memory.getData(key % "LKneePitch/Temperature"); sonar.unsubscribe("program")
seen = [far > 0.2, 20.0 < hot < 80.0,
        0 <= session.service("ALBattery").getBatteryCharge() <= 100]
expected = [True, True, True]
## face detection
face = session.service("ALFaceDetection"); face.subscribe("Test_Face", 500, 0.0)
## tracker
tracker = session.service("ALTracker"); tracker.registerTarget("RedBall", 0.06)
## photo capture
photo = session.service("ALPhotoCapture")
photo.setResolution(2); photo.setPictureFormat("jpg")
photo.takePictures(1, "recordings/", "image")
## Choregraphe Say box: pCall, tags, wait, stop
ids = []; sentence = "\\RSPD=" + str(100) + "\\ One two three. \\RST\\ "
n = speech.pCall("say", str(sentence)); ids.append(n); timed_out = speech.wait(n, 0)
n = speech.pCall("say", "A much longer text that is stopped before its end, " * 8)
until(lambda: speech.isRunning(n), 5); time.sleep(0.3); speech.stop(n)
done = until(lambda: not speech.isRunning(n), 5)
seen, expected = [timed_out, done], [False, True]
## system, model, battery
system, model, battery = map(session.service, ("ALSystem", "ALRobotModel", "ALBattery"))
system.setRobotName("nina")
seen = [system.robotName(), system.systemVersion(), model.getRobotType(),
    model.hasArms(), 0 <= battery.getBatteryCharge() <= 100, system.freeMemory(
    ) > 0, len(system.diskFree(True)) > 0, type(model.getConfig()).__name__]
expected = ["nina", "2.8.5.10", "Nao", True, True, True, True, "str"]
## walking with configuration, async and stop
motion.moveInit()
ok = motion.moveTo(0.3, 0.0, 0.1, [["MaxStepX", 0.02], ["MaxStepFrequency", 0.8]])
motion.moveToward(0.5, 0.0, 0.0, [["Frequency", 0.5]])
future = motion.moveTo(0.1, 0, 0, _async=True); motion.waitUntilMoveIsFinished()
seen = [ok, motion.moveIsActive(), future.value(), motion.stopMove(),
    posture.getPostureFamily()]
expected = [False, False, False, True, "Standing"]
## postures
names = posture.getPostureList()
a = posture.goToPosture("Crouch", 0.7); here = posture.getPosture()
b = posture.goToPosture("Sit", 0.7); c = posture.goToPosture("Flying", 0.7)
d = posture.goToPosture("StandZero", 0.7); e = posture.applyPosture("StandInit", 0.3)
posture.setMaxTryNumber(2)
seen = [len(names), a, here, b, c, d, e, len(posture.getPostureFamilyList())]
expected = [8, True, "Crouch", False, False, True, True, 12]
## two programs: one holds the head, the other waits
other = qi.Session(); other.connect(sys.argv[1]); theirs = other.service("ALMotion")
mine = motion.angleInterpolation("HeadYaw", 0.5, 2.0, True, _async=True)
until(lambda: motion.getTaskList(), 5)
t = theirs.angleInterpolation("HeadYaw", -0.2, 1.0, True, _async=True)
theirs.setAngles("HeadYaw", 0.9, 0.5); mine.value(); high = angle("HeadYaw"); t.value()
seen = [near(high, 0.5, 0.1), near(angle("HeadYaw"), -0.2), motion.getTaskList()]
expected = [True, True, []]; other.close()
## animated speech with marks and configuration
animated = session.service("ALAnimatedSpeech"); got = []
sub = memory.subscriber("ALTextToSpeech/CurrentSentence")
sub.signal.connect(got.append)
animated.say("^start(animations/Stand/Gestures/Hey_1) Hello there",
    {"bodyLanguageMode": "contextual"})
until(lambda: got, 5)
seen = [len(got) > 0 and "Hello there" in got[-1], "^" in "".join(got)]
expected = [True, False]
## futures: then, callbacks, several at once
order = []; a = speech.say("one two", _async=True)
b = motion.angleInterpolation("HeadYaw", 0.4, 1.0, True, _async=True)
b.addCallback(lambda f: order.append(f.hasError()))
c = b.then(lambda f: motion.angleInterpolation("HeadYaw", 0.0, 1.0, True)) if hasattr(b,
    "then") else b
a.value(); c.value(); b.wait(); until(lambda: order, 5)
later = qi.runAsync(motion.getAngles, "HeadYaw", True)
seen = [order, near(later.value()[0], 0.0)]; expected = [[False], True]
## chains and lists of names
motion.setAngles("LArm", [1.2, 0.2, -1.0, -0.6, 0.0, 0.5], 0.3)
ok = until(lambda: near(angle("LShoulderPitch"), 1.2, 0.08), 10)
a = motion.getAngles(["HeadYaw", "LArm"], True)
motion.setStiffnesses(["LArm", "RArm"], [0.9] * 12)
s = motion.getStiffnesses(["LArm", "RArm"]); motion.setStiffnesses("Body", 1)
motion.angleInterpolationWithSpeed(["HeadYaw", "HeadPitch"], [0.2, -0.1], 0.2)
seen = [ok, len(a), len(s), near(s[0], 0.9, 0.01), near(angle("HeadPitch"), -0.1)]
expected = [True, 7, 12, True, True]; posture.goToPosture("StandInit", 0.8)
## shapes of angleInterpolation
motion.angleInterpolation("HeadYaw", [0.3, -0.3, 0.0], [0.5, 1.5, 2.0], True)
motion.angleInterpolation(["HeadYaw", "HeadPitch"], [[0.2, 0.0], [0.1]], [[0.5, 1.0],
    [1.0]], True)
motion.angleInterpolation(["HeadYaw", "HeadPitch"], [0.2, -0.1], 1, True)
motion.angleInterpolation("Head", [0.1, 0.0], [1.0, 1.2], True)
motion.angleInterpolation("HeadYaw", 0.1, 1.0, False)
motion.angleInterpolation(("HeadYaw",), (0.25,), (1.0,), True)
seen = near(angle("HeadYaw"), 0.25); expected = True
## an app that runs until the chest button is pressed
presses = []; sub = memory.subscriber("ChestButtonPressed")
def pressed(value):
    presses.append(value)
    if value == 1.0:
        app.stop()
sub.signal.connect(pressed)
threading.Timer(0.5, lambda: memory.raiseEvent("ChestButtonPressed", 1.0)).start()
app.run(); seen, expected = presses, [1.0]
## LEDs by DCM
dcm = session.service("DCM")
dcm.set(["Face/Led/Red/Left/0Deg/Actuator/Value", "Merge", [[1.0, dcm.getTime(0)]]])
dcm.set(["ChestBoard/Led/Blue/Actuator/Value", "ClearAll", [[0.5, dcm.getTime(100)]]])
key = "Device/SubDeviceList/%s"
seen = [until(lambda: near(memory.getData(
    key % "Face/Led/Red/Left/0Deg/Actuator/Value"), 1.0), 5), until(lambda: near(
    memory.getData(key % "ChestBoard/Led/Blue/Actuator/Value"), 0.5), 5)]
expected = [True, True]
## geometry
tf = motion.getTransform("CameraBottom", 2, True)
pos = motion.getPosition("LHand", 0, True); leg = motion.getPosition("RLeg", 2, True)
poly = motion.getSupportPolygon(2, True)
com = motion.getCOM("Body", 1, True); arm = motion.getMass("LArm")
foot = motion.getFootSteps()
seen = [len(tf), tf[15], len(pos), near(leg[2], 0.0, 0.02), len(poly) >= 4, len(com),
    0.1 < arm < 1.0, len(foot), len(motion.getSensorNames()) > 20]
expected = [16, 1.0, 6, True, True, 3, True, 3, True]
## setPositions and setTransforms of both hands, many times
x = motion.getPosition("RArm", 0, False)
for k in range(20):
    p = list(x); p[2] += 0.02 * ((k % 2) - 0.5) * 2 * 0.5
    motion.setPositions("RArm", 0, p, 0.5, 7); time.sleep(0.02)
motion.setPositions(["LArm", "RArm"], [0, 0], [motion.getPosition("LArm", 0, False), x],
    0.5, [7, 7])
seen = until(lambda: near(motion.getPosition("RArm", 0, True)[2], x[2], 0.01), 10)
expected = True
## first lesson: stiffness, head scan, summary, rest
motion.stiffnessInterpolation("Body", 1.0, 1.0); posture.goToPosture("StandInit", 0.5)
for yaw in (0.5, -0.5, 0.0):
    motion.setAngles("HeadYaw", yaw, 0.3)
    until(lambda: near(angle("HeadYaw"), yaw), 10)
text = motion.getSummary(); motion.rest()
seen = [near(angle("HeadYaw"), 0.0, 0.3), "HeadYaw" in text, motion.robotIsWakeUp(),
    max(motion.getStiffnesses("Body"))]
expected = [True, True, False, 0.0]
motion.wakeUp(); posture.goToPosture("StandInit", 0.8)
"""
