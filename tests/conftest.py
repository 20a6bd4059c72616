"""What all tests share: property tests are not timed, since the machine may be busy."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("workbench", deadline=None)
settings.load_profile("workbench")
