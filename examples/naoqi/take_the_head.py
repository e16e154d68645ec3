"""Take the head before moving it: another program waits until it is given back.

nao-testbed naoqi serve
python examples/naoqi/take_the_head.py tcp://127.0.0.1:9559
"""

import sys

import qi

url = sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:9559"
one, two = qi.Session(), qi.Session()
one.connect(url)
two.connect(url)

mine, others = (s.service("ALResourceManager") for s in (one, two))
mine.acquireResource("Head", "Dance", "", 5)
one.service("ALMotion").angleInterpolation("HeadYaw", 0.4, 0.5, True)
try:
    others.acquireResource("HeadYaw", "Look", "", 0)
except RuntimeError as error:
    print("refused:", str(error).splitlines()[0])
waits = others.acquireResource("HeadYaw", "Look", "", 60, _async=True)
mine.releaseResource("Head", "Dance")
waits.value()
print("Look has it:", others.areResourcesOwnedBy(["HeadYaw"], "Look"))
