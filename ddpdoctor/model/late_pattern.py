"""Regular expressions that are compiled when they are first used. To the type checker they are `re.compile`'s.

Lint has some two hundred, most of which no run needs: to compile them all took a fifth of the time in which one file is
linted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

__all__ = ["late_pattern"]

if TYPE_CHECKING:
    from re import compile as late_pattern
else:

    class late_pattern:  # noqa: N801 - stands for re.compile
        """A pattern that has not been compiled yet; its methods and attributes are those of the compiled one."""

        def __init__(self, text, flags=0):
            self._text, self._flags = text, flags

        def __getattr__(self, name):
            """Asked for what is not there yet; what has been found stays, so that it costs nothing again."""
            found = getattr(re.compile(self._text, self._flags), name)
            setattr(self, name, found)
            return found
