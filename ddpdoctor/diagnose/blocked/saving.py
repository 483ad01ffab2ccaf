"""Whether a rank is writing data: a checkpoint, an export, an upload."""

from __future__ import annotations

import re

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.diagnose.digest.rank_state import BUSY_IO_BYTES, Activity
from ddpdoctor.diagnose.facts import Facts
from ddpdoctor.model import torch_internals
from ddpdoctor.model.ranks import Rank
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning

#: modules that write files, besides torch
_WRITERS = ("/safetensors/", "/shutil.py", "/tarfile.py")
#: names of functions that save
_SAVES = re.compile(r"(^|[._])(save|export|upload|checkpoint)", re.IGNORECASE)
#: a library's functions that may save, and do other things as well: what saves is another that they call
_MAY = re.compile(r"(^|[._])maybe_", re.IGNORECASE)
#: names of functions that may write only a line: they count as saving only if many bytes are written
_WRITES = re.compile(r"(^|[._])(dump|write)", re.IGNORECASE)


def saving_at(facts: Facts, rank: Rank) -> Site | None:
    """The frame that shows that a working rank is writing; None if it does something else, or if that is not known."""
    seen = facts.rank(rank)
    main = frames.main_thread(seen)
    if main is None or facts.state(rank).activity is not Activity.WORKING:
        return None
    busy = written(facts, rank) > 0
    # outside of the job's own frames there is only what calls them: a trainer that ends with a checkpoint names all
    # of its training so
    own = [number for number, frame in enumerate(main.frames, 1) if not facts.is_library(frame.file)]
    for frame in main.frames[: own[-1] if own else None]:
        may = _MAY.search(frame.function) and facts.is_library(frame.file)
        named = not may and (_SAVES.search(frame.function) or (busy and _WRITES.search(frame.function)))
        writer = torch_internals.is_in(frame.file, Meaning.SAVES) or any(part in frame.file for part in _WRITERS)
        if named or writer:
            return frame
    return None


def written(facts: Facts, rank: Rank) -> int:
    """Bytes written by its system calls between the samples, 0 if that is no more than the probe itself writes."""
    motion = facts.rank(rank).motion
    return motion.io_bytes if motion and motion.io_rate >= BUSY_IO_BYTES else 0
