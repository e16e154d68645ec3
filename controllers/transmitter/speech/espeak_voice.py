"""Intelligible speech by eSpeak NG [espeak-ng]; the extra `speech`.

The library keeps a state between texts: a flutter of the pitch and a roughness that
continue from the last text. With either of them, the same text gives a different sound
each time, so only variants without both are offered.
"""

import ctypes
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.transmitter.speech.sounds import SAMPLE_RATE_HZ
from nao_testbed.models import BadInput, ExtraMissing, UnknownName
from nao_testbed.models.values import FloatArray

SPEAKERS = ("Denis", "Diogo", "Henrique", "Hugo", "Storm", "michel", "shelby")
"""Variants of eSpeak NG without flutter and roughness."""
_FULL_SCALE = 32768.0
# From speak_lib.h: pass the samples to a callback; do not exit the process on an error;
# positions count characters; the text is UTF-8.
_SYNCHRONOUS, _DONT_EXIT, _CHARACTERS, _UTF_8 = 2, 0x8000, 1, 1
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)


class EspeakVoice:
    """Voice for a text in a language; implements `Voice`. Not thread-safe."""

    sample_rate_hz = SAMPLE_RATE_HZ

    def __init__(self, speaker: str = SPEAKERS[0], language: str = "en") -> None:
        """Load the library.

        Args:
            speaker: one of `SPEAKERS`.
            language: language in the notation of eSpeak NG, such as `en`, `de` or `fr`.

        Raises:
            UnknownName: the speaker does not exist.
            BadInput: the extra `speech` is not installed, or the language does not
                exist.
        """
        if speaker not in SPEAKERS:
            raise UnknownName("Speaker", speaker, SPEAKERS, "the voices of eSpeak NG")
        self._library, self._rate_hz = _load()
        self._voice = f"{language}+{speaker}".encode()
        self._parts: list[NDArray[np.int16]] = []
        self._callback = _Callback(self._collect)
        if self._library.espeak_SetVoiceByName(self._voice) != 0:
            raise BadInput(
                f"eSpeak NG has no language {language!r}; give one such as 'en'."
            )

    def render(self, text: str) -> FloatArray:
        """Convert a text to sound.

        Raises:
            BadInput: the text has no letter or digit.
        """
        if not any(x.isalnum() for x in text):
            raise BadInput(f"nothing to say in {text!r}; give a letter or a digit.")
        library, data = self._library, text.replace("\0", " ").encode()
        self._parts.clear()
        library.espeak_SetVoiceByName(self._voice)
        library.espeak_SetSynthCallback(self._callback)
        size = ctypes.c_size_t(len(data) + 1)
        status = library.espeak_Synth(data, size, 0, _CHARACTERS, 0, _UTF_8, None, None)
        if status != 0:
            raise BadInput(f"eSpeak NG cannot speak {text!r} (status {status}).")
        sound = np.concatenate(self._parts).astype(np.float64)
        sound = _resampled(sound, self._rate_hz)
        return sound / max(_FULL_SCALE, float(np.abs(sound).max()))

    def _collect(self, samples: object, n: int, events: object) -> int:
        """Store a part of the sound; called by the library."""
        del events
        if n > 0:
            part = np.ctypeslib.as_array(samples, (n,))
            self._parts.append(part.copy())
        return 0


@cache
def _load() -> tuple[ctypes.CDLL, int]:
    """Load the library, once per process; return it and its sample rate."""
    try:
        import espeakng_loader  # noqa: PLC0415 - an extra, needed by few
    except ImportError as error:
        raise ExtraMissing(
            "this voice", "eSpeak NG", "speech", "or choose the voice 'syllables'"
        ) from error
    library = ctypes.CDLL(espeakng_loader.get_library_path())
    data = espeakng_loader.get_data_path().encode()
    rate_hz = library.espeak_Initialize(_SYNCHRONOUS, 0, data, _DONT_EXIT)
    if rate_hz <= 0:
        raise BadInput(
            "eSpeak NG has no data; run `pip install --force-reinstall '.[speech]'` "
            "in the checkout."
        )
    return library, rate_hz


def _resampled(sound: FloatArray, rate_hz: int) -> FloatArray:
    """Resample a sound with silent ends to `SAMPLE_RATE_HZ` by its spectrum."""
    n = round(len(sound) * SAMPLE_RATE_HZ / rate_hz)
    spectrum = np.fft.rfft(sound)[: n // 2 + 1]
    return np.fft.irfft(spectrum, n) * (n / len(sound))
