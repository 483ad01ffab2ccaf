"""Files that ranks wait for while another one writes them in place, and then read."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import files_read_again, paths
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.ranks import polling
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.modules import Module
from ddpdoctor.program.sites import SourceSite


class HalfWritten(NamedTuple):
    """A loop that waits for a file, and the call that writes it under its name from the first byte on."""

    module: Module
    loop: ast.While
    written: CallEvent
    #: the call in the loop that sleeps
    sleeps: CallEvent


def found(facts: ModuleFacts) -> list[HalfWritten]:
    """All loops that wait for files which are read afterwards."""
    loops = [(call, loop) for call in facts.named("time.sleep") if (loop := _around(facts, call)) is not None]
    half: list[HalfWritten] = []
    for root in facts.analysis.roots if loops else ():
        for asked, written in polling.early(root.trace):
            around = [(call, loop) for call, loop in loops if _is_in(asked, call, loop.test)]
            write = next(filter(_in_place, facts.calls_by_site.get(written, ())), None)
            if around and write is not None and _is_read(facts, write):
                call, loop = around[0]
                half.append(HalfWritten(_module(facts, call), loop, write, call))
    return half


def _module(facts: ModuleFacts, call: CallEvent) -> Module:
    return facts.analysis.reached.get(call.site.file, facts.module)


def _around(facts: ModuleFacts, call: CallEvent) -> ast.While | None:
    """The innermost loop on a condition in which a call is."""
    module, line = _module(facts, call), call.site.line
    around = [loop for loop in module.of(ast.While) if loop.lineno <= line <= (loop.end_lineno or line)]
    return around[-1] if around else None


def _is_in(asked: SourceSite, call: CallEvent, test: ast.expr) -> bool:
    return asked.file == call.site.file and test.lineno <= asked.line <= (test.end_lineno or test.lineno)


def _in_place(call: CallEvent) -> bool:
    """Whether a file has its name before it is complete."""
    row = filesystem.function(call.path) if call.path else None
    return call.path == filesystem.OPEN or (row is not None and row.use is Use.WRITES_FILE)


def _is_read(facts: ModuleFacts, write: CallEvent) -> bool:
    """Whether what is written is read later, by those who have waited for it: a mark that only exists is complete."""
    path, _ = paths.path_of(write)
    return path is not None and files_read_again.read_again(facts, write, path, None)
