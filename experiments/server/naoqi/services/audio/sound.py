"""ALAudioPlayer and ALAudioDevice: tones on the loudspeakers; files and microphones.

Files of the robot do not exist here. A WAV file of this machine can be loaded and takes
its duration, but stays silent: the loudspeakers output only speech and tones.
"""

import itertools
import wave
from pathlib import Path

from nao_testbed.experiments.server.naoqi.arguments import (
    Value,
    in_range,
    known,
    number,
)
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.experiments.server.naoqi.service import (
    ALService,
    Blocks,
    SharedPart,
    check_room,
)
from nao_testbed.experiments.server.naoqi.services.audio.speech import Speech
from nao_testbed.models import BadInput

SHORTEST_S, LONGEST_S = 0.001, 3600.0


class Sounds:
    """Loaded files and volumes, for all clients."""

    def __init__(self, parts: Parts) -> None:
        """Create an empty list of files."""
        del parts
        self.files: dict[int, tuple[str, float]] = {}
        """Path and length in s, by number."""
        self.volumes: dict[int, float] = {}
        self.playing: dict[int, tuple[Blocks, float]] = {}
        """Future and start time, by number."""
        self.master = 1.0
        self.output = 50
        self.is_muted = False
        self.numbers = itertools.count(1)

    def file(self, number_: int) -> tuple[str, float]:
        """Return path and length of a file, which must be loaded."""
        known("File number", str(number_), [*map(str, self.files)], "the player")
        return self.files[number_]


class Tones(ALService):
    """Service that plays tones."""

    _sounds, _speech = SharedPart(Sounds), SharedPart(Speech)

    def playSine(self, frequence: int, gain: int, pan: int, duration: float) -> Blocks:
        """Play a tone on the loudspeakers, and wait."""
        del pan
        in_range("frequency in Hz", frequence, 20, 8000)
        in_range("gain", gain, 0, 100)
        in_range("duration in s", duration, SHORTEST_S, LONGEST_S)
        hz, volume = float(frequence), gain / 100.0
        return self._speech.tone(self._client.name, hz, volume, duration)


class ALAudioPlayer(Tones):
    """Plays files and tones."""

    NAME = "ALAudioPlayer"

    def loadFile(self, fileName: str) -> int:
        """Load a file; return its number."""
        try:
            with wave.open(str(Path(fileName)), "rb") as file:
                length_s = file.getnframes() / file.getframerate()
        except (OSError, EOFError, wave.Error, ValueError) as error:
            raise BadInput(
                f"file {fileName!r} cannot be played ({error}); give a WAV file."
            ) from error
        sounds = self._sounds
        found = next(sounds.numbers)
        check_room(sounds.files, found, "loaded files")
        sounds.files[found] = fileName, length_s
        return found

    def play(self, taskId: int, *volumeAndPan: Value) -> Blocks:
        """Wait for the duration of a file, which stays silent."""
        for one in volumeAndPan:
            number(one)
        return self._play(taskId, 0.0)

    def playFile(self, fileName: str, *volumeAndPan: Value) -> Blocks:
        """Load a file and wait for its duration; it stays silent."""
        return self.play(self.loadFile(fileName), *volumeAndPan)

    def playFileFromPosition(
        self, fileName: str, position: float, *volumeAndPan: Value
    ) -> Blocks:
        """Do as `playFile`, from a position in s on."""
        del volumeAndPan
        return self._play(self.loadFile(fileName), position)

    def pause(self, taskId: int) -> None:
        """End a file."""
        self._stop(taskId)

    def stop(self, id: int) -> None:  # as published
        """End a file, or a call."""
        self._stop(id)
        super().stop(id)

    def stopAll(self) -> None:
        """End all files and tones."""
        for one in list(self._sounds.playing):
            self._stop(one)

    def getCurrentPosition(self, taskId: int) -> float:
        """Return the position in a file, in s."""
        _, length_s = self._sounds.file(taskId)
        playing = self._sounds.playing.get(taskId)
        if playing is None:
            return 0.0
        return min(self._served.time_s - playing[1], length_s)

    def getFileLength(self, taskId: int) -> float:
        """Return the length of a file in s."""
        return self._sounds.file(taskId)[1]

    def setVolume(self, taskId: int, volume: float) -> None:
        """Store the volume of a file, from 0 to 1."""
        self._sounds.file(taskId)
        self._sounds.volumes[taskId] = in_range("volume", volume, 0.0, 1.0)

    def getVolume(self, taskId: int) -> float:
        """Return the volume of a file."""
        self._sounds.file(taskId)
        return self._sounds.volumes.get(taskId, 1.0)

    def setMasterVolume(self, volume: float) -> None:
        """Set the volume of tones, from 0 to 1."""
        self._sounds.master = in_range("volume", volume, 0.0, 1.0)

    def getMasterVolume(self) -> float:
        """Return the volume of tones."""
        return self._sounds.master

    def setPanorama(self, pan: float) -> None:
        """Store the panorama; both loudspeakers play the same."""
        in_range("pan", pan, -1.0, 1.0)
        self._client.pretended["ALAudioPlayer.setPanorama"] += 1

    def unloadFile(self, taskId: int) -> None:
        """Unload a file."""
        self._sounds.file(taskId)
        self._stop(taskId)
        del self._sounds.files[taskId]

    def unloadAllFiles(self) -> None:
        """Unload all files."""
        self.stopAll()
        self._sounds.files.clear()

    def getLoadedFilesIds(self) -> list[int]:
        """Return the numbers of all files."""
        return list(self._sounds.files)

    def getLoadedFilesNames(self) -> list[str]:
        """Return the paths of all files."""
        return [path for path, _ in self._sounds.files.values()]

    def _play(self, number_: int, position: float) -> Blocks:
        _, length_s = self._sounds.file(number_)
        if not 0.0 <= position <= length_s:
            raise BadInput(f"position is {position:g} s of {length_s:g} s.")
        self._client.pretended["ALAudioPlayer: a file that is not heard"] += 1
        self._served.event("sound", said=self._sounds.files[number_][0])
        done = self._served.pause(length_s - position)
        begin = self._served.time_s - position
        self._sounds.playing[number_] = done, begin
        done.add_done_callback(lambda _: self._sounds.playing.pop(number_, None))
        return done

    def _stop(self, number_: int) -> None:
        playing = self._sounds.playing.pop(number_, None)
        if playing is not None and not playing[0].done():
            playing[0].set_result(None)


class ALAudioDevice(Tones):
    """Volume of the loudspeakers; microphones are not simulated."""

    NAME = "ALAudioDevice"

    def setOutputVolume(self, volume: int) -> None:
        """Set the volume of speech, from 0 to 100."""
        in_range("volume", volume, 0, 100)
        self._sounds.output = volume
        self._put_volume()

    def getOutputVolume(self) -> int:
        """Return the volume, from 0 to 100."""
        return self._sounds.output

    def muteAudioOut(self, mute: bool) -> None:
        """Mute or unmute the loudspeakers."""
        self._sounds.is_muted = mute
        self._put_volume()

    def isAudioOutMuted(self) -> bool:
        """Return true if the loudspeakers are muted."""
        return self._sounds.is_muted

    def flushAudioOutputs(self) -> None:
        """Stop the speech."""
        with self._served.access():
            self._speech.stop_all()

    def _put_volume(self) -> None:
        sounds = self._sounds
        level = 0.0 if sounds.is_muted else sounds.output / 100.0
        self._speech.output = level
