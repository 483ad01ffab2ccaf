"""Whether a rank is writing something out: a checkpoint, an export, an upload."""

from __future__ import annotations

import re

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import BUSY_IO_BYTES, Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model import torch_internals
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning

#: who writes files, beside torch
_WRITERS = ("/safetensors/", "/shutil.py", "/tarfile.py")
#: what functions that save are called
_SAVES = re.compile(r"(^|[._])(save|export|upload|checkpoint)", re.IGNORECASE)
#: what functions are called that may write no more than a line: only where bytes are seen to flow do they save
_WRITES = re.compile(r"(^|[._])(dump|write)", re.IGNORECASE)


def saving_at(facts: Facts, rank: Rank) -> Site | None:
    """The frame that shows a rank at work to be writing; None where it does something else, or it cannot be told."""
    seen = facts.rank(rank)
    main = frames.main_thread(seen)
    if main is None or facts.state(rank).activity is not Activity.WORKING:
        return None
    busy = written(facts, rank) > 0
    for frame in main.frames:
        named = _SAVES.search(frame.function) or (busy and _WRITES.search(frame.function))
        writer = torch_internals.is_in(frame.file, Meaning.SAVES) or any(part in frame.file for part in _WRITERS)
        if named or writer:
            return frame
    return None


def written(facts: Facts, rank: Rank) -> int:
    """Bytes that went through its system calls between the samples, 0 where that is no more than the probe's own."""
    motion = facts.rank(rank).motion
    return motion.io_bytes if motion and motion.io_bytes >= BUSY_IO_BYTES else 0
