"""Which language a text is in, the same answer every time."""

from functools import cache
from pathlib import Path

import langdetect
from langdetect.detector_factory import DetectorFactory
from langdetect.lang_detect_exception import LangDetectException

_PROFILES = Path(langdetect.__file__).with_name("profiles")
_SEED = 0
LANGUAGES = frozenset(path.name for path in _PROFILES.iterdir())


def language_of(text: str) -> str | None:
    """The ISO 639-1 code of the language of `text` (langdetect's), None where it has no letters to tell it by.

    langdetect draws random samples; here with a fixed seed in a detector of its own, so that neither earlier texts nor other users of the package matter.
    """
    detector = _factory().create()
    try:
        detector.append(text)
        return detector.detect()
    except LangDetectException:
        return None


@cache
def _factory() -> DetectorFactory:
    factory = DetectorFactory()
    factory.load_profile(str(_PROFILES))
    factory.set_seed(_SEED)
    factory.seed = _SEED
    return factory
