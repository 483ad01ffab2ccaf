"""Whether a folder has got other files since it was last asked: one `stat` in place of a listing. Impure."""

from __future__ import annotations

import time
from pathlib import Path

#: nanoseconds for which a change may hide another: the clock of files stands still for milliseconds, on some file
#: systems for a second
_HIDES = 2_000_000_000


class FolderChanges:
    """Follows the names in a folder; what is written into its files is no change."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = -1

    def any(self) -> bool:
        """Whether files may have been made, renamed or removed since the last call; true of a folder that cannot be
        read, and the first time."""
        try:
            changed = self._folder.stat().st_mtime_ns
        except OSError:
            return True
        before, self._seen = self._seen, changed if time.time_ns() - changed > _HIDES else -1
        return changed != before

    def forget(self) -> None:
        """The next answer is true: what a change made necessary could not be done."""
        self._seen = -1
