"""Exits of the job's processes, as the probe in the launcher recorded them: one JSON line each."""

from __future__ import annotations

from pathlib import Path

from ddpdoctor.model import json_text
from ddpdoctor.model.codec import DecodeError, decode
from ddpdoctor.model.processes import Exit

#: the file's name in the folder of the run
EXITS = "exits"


def read_exits(run: Path) -> tuple[Exit, ...]:
    """All exits recorded so far, in order; an incomplete last line is left for the next call."""
    try:
        lines = (run / EXITS).read_bytes().splitlines()
    except OSError:
        return ()
    found: list[Exit] = []
    for line in lines:
        try:
            found.append(decode(Exit, json_text.parsed(line)))
        except (DecodeError, ValueError):
            continue
    return tuple(found)
