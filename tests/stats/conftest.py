"""Makes the modules in tests/ importable here, and property tests independent of the machine's speed."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
