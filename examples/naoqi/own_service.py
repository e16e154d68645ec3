"""Offer a service with a signal; another program finds it, calls it and listens.

nao-testbed naoqi serve
python examples/naoqi/own_service.py tcp://127.0.0.1:9559
"""

import sys

import qi


class Greeter:
    """Methods and signals of this object are those of the service."""

    def __init__(self, session: qi.Session) -> None:
        self.greeted = qi.Signal()
        self._speech = session.service("ALTextToSpeech")

    def greet(self, name: str) -> str:
        """Say hello, and raise the signal."""
        text = f"Hello, {name}."
        self._speech.say(text)
        self.greeted(name)
        return text


url = sys.argv[1] if len(sys.argv) > 1 else "tcp://127.0.0.1:9559"
mine, other = qi.Session(), qi.Session()
mine.connect(url)
other.connect(url)

number = mine.registerService("Greeter", Greeter(mine))
greeter = other.service("Greeter")
heard = qi.Promise()
greeter.greeted.connect(heard.setValue)
print("answer:", greeter.greet("Ada"))
print("heard:", heard.future().value(5_000))
mine.unregisterService(number)
