"""Ranks that make the store in which they meet: torch does in `init_process_group`, or the program itself."""

from __future__ import annotations

import ast

from ddpdoctor.diagnose.digest import frames
from ddpdoctor.model.evidence import RankEvidence
from ddpdoctor.model.observed import Observed
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Meaning, shows
from ddpdoctor.program import enclosing
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program

#: its constructor connects, tries again for as long as its timeout, and waits for the others
_CONNECTS = "TCPStore"


def makes_store(program: Program, rank: RankEvidence) -> bool:
    """Whether the main thread is where a store is made that connects, and has not moved from there."""
    main = frames.main_thread(rank)
    if main is None or not main.frames or (rank.motion is not None and rank.motion.lines_moved is Observed.YES):
        return False
    return any(shows(one.file, one.function, Meaning.MAKES_STORE) for one in main.frames) or _constructs(
        program, main.frames[0]
    )


def _constructs(program: Program, site: Site) -> bool:
    statement = next((node for node in enclosing.around(program, site) if isinstance(node, ast.stmt)), None)
    nodes = walk(statement) if statement is not None else ()
    return any(isinstance(node, ast.Call) and last_name(node.func) == _CONNECTS for node in nodes)
