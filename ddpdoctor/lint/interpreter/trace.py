"""What a function does collectively: a tree of operations, alternatives, loops and exits."""

from __future__ import annotations

from typing import NamedTuple

from ddpdoctor.lint.values.tags import Tags
from ddpdoctor.lint.values.values import Atom
from ddpdoctor.program.sites import SourceSite


class Op(NamedTuple):
    """A collective. `members`: ranks of the simulated job in its group; None is the default group."""

    op: str
    members: tuple[int, ...] | None
    site: SourceSite
    #: what tells it from another of its kind, which ranks must do alike as well: the ranks of a new group
    detail: str = ""


class Branch(NamedTuple):
    """A branch: the condition on each rank (one atom when it is the same on all), and both sides."""

    truth: tuple[Atom, ...]
    then: tuple[Node, ...]
    other: tuple[Node, ...]
    #: the whole statement's head
    site: SourceSite
    #: the condition as it is written
    text: str
    #: tags of the condition
    tags: Tags


class Loop(NamedTuple):
    """A loop; `times` tells how often it runs, one atom for all ranks or one a rank."""

    times: tuple[Atom, ...]
    body: tuple[Node, ...]
    site: SourceSite
    #: `while True`: how often it goes round is nobody's count
    endless: bool = False


class FileEvent(NamedTuple):
    """A file that is asked for or written: no collective, but what they keep apart."""

    #: "asked" or "written"
    kind: str
    #: equal where the path is
    path: object
    #: "file", "folder", "anything", or "" where that is not known
    what: str
    site: SourceSite


class BlockExit(NamedTuple):
    """Leaving a block early: return, break, continue, raise; or "yield", where a `with` block's body goes."""

    kind: str
    site: SourceSite


class Scope(NamedTuple):
    """A call whose body is known: `return` ends here."""

    name: str
    body: tuple[Node, ...]
    site: SourceSite


#: files of one call that are kept in mind
_MOST_MARKS = 16

Node = Op | Branch | Loop | BlockExit | Scope | FileEvent
Trace = tuple[Node, ...]


def operations(nodes: Trace) -> list[tuple[Op, tuple[SourceSite, ...]]]:
    """Every operation in source order, with the calls that lead to it, outermost first."""
    found: list[tuple[Op, tuple[SourceSite, ...]]] = []
    stack: list[tuple[Node, tuple[SourceSite, ...]]] = [(n, ()) for n in reversed(nodes)]
    while stack:
        node, chain = stack.pop()
        if isinstance(node, Op):
            found.append((node, chain))
        elif isinstance(node, Branch):
            stack.extend((n, chain) for n in reversed((*node.then, *node.other)))
        elif isinstance(node, Loop):
            stack.extend((n, chain) for n in reversed(node.body))
        elif isinstance(node, Scope):
            stack.extend((n, (*chain, node.site)) for n in reversed(node.body))
    return found


def exits(nodes: Trace) -> bool:
    """Whether control can leave these nodes other than at their end."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if isinstance(node, BlockExit) and node.kind != "yield":
            return True
        if isinstance(node, Branch):
            stack.extend(node.then)
            stack.extend(node.other)
        elif isinstance(node, Loop):
            stack.extend(n for n in node.body if not (isinstance(n, BlockExit) and n.kind in ("break", "continue")))
    return False


def leaving_through(nodes: Trace, last: Trace, *, looped: bool = False) -> Trace:
    """A block's nodes with what its `finally` does in front of every way out of it; `looped`: in a loop of its own."""
    if not operations(last) or exits(last) or not exits(nodes):
        return nodes
    kinds = ("return",) if looped else ("return", "break", "continue")
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, BlockExit) and node.kind in kinds:
            found.extend(last)
        elif isinstance(node, Branch):
            then, other = (leaving_through(side, last, looped=looped) for side in (node.then, node.other))
            node = node._replace(then=then, other=other)
        elif isinstance(node, Loop):
            node = node._replace(body=leaving_through(node.body, last, looped=True))
        found.append(node)
    return tuple(found)


def _marks(nodes: Trace) -> list[FileEvent]:
    """What is asked for and written in nodes without operations, each once, and not more than matters."""
    found: dict[FileEvent, None] = {}
    stack = list(reversed(nodes))
    while stack and len(found) < _MOST_MARKS:
        node = stack.pop()
        if isinstance(node, FileEvent):
            found[node] = None
        elif isinstance(node, Branch):
            stack.extend(reversed((*node.then, *node.other)))
        elif isinstance(node, (Loop, Scope)):
            stack.extend(reversed(node.body))
    return list(found)


def prune(nodes: list[Node]) -> Trace:
    """Drop calls and loops in which nothing collective happens and that nothing leaves; files are kept in mind."""
    kept: list[Node] = []
    for node in nodes:
        if isinstance(node, (Loop, Scope)) and not node.body:
            continue
        if isinstance(node, Branch) and not node.then and not node.other:
            continue
        if isinstance(node, Scope) and not operations((node,)):
            kept.extend(_marks(node.body))
            continue
        kept.append(node)
    return tuple(kept)
