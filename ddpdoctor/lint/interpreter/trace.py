"""The trace: a function's collectives as a tree of operations, branches, loops and exits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ddpdoctor.lint.values.tags import Tags
from ddpdoctor.lint.values.values import Atom
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.sites import SourceSite


class Op(NamedTuple):
    """A collective. `members`: ranks of the simulated job in its group; None is the default group."""

    op: str
    members: tuple[int, ...] | None
    site: SourceSite
    #: what distinguishes it from others of its kind and must also match across ranks: the ranks of a new group
    detail: str = ""


class Branch(NamedTuple):
    """A branch: the condition on each rank (one atom if it is equal on all), and both sides."""

    truth: tuple[Atom, ...]
    then: tuple[Node, ...]
    other: tuple[Node, ...]
    #: the head of the whole statement
    site: SourceSite
    #: the condition as written
    text: str
    #: tags of the condition
    tags: Tags


class Loop(NamedTuple):
    """A loop; `times` is its number of iterations, one atom for all ranks or one per rank."""

    times: tuple[Atom, ...]
    body: tuple[Node, ...]
    site: SourceSite
    #: `while True`: its number of iterations is not determined by any value
    endless: bool = False
    #: what it goes through, as written
    text: str = ""


class Transfer(NamedTuple):
    """A send or receive between two ranks in the default group: not part of the sequence that all ranks share."""

    #: "send", "recv", "isend", "irecv"; "" if no more is known than that there is one, or several
    op: str
    #: the other rank, one atom for all ranks or one per rank
    peers: tuple[Atom, ...]
    #: by which both sides know which one it is, in the same way
    tags: tuple[Atom, ...]
    site: SourceSite


class FileEvent(NamedTuple):
    """A file that is tested for or written: not a collective, but relevant together with the collectives in between."""

    #: "asked" or "written"
    kind: str
    #: equal for equal paths
    path: object
    #: "file", "folder", "anything", or "" if that is not known
    what: str
    site: SourceSite


class GroupEnd(NamedTuple):
    """All ranks destroy the job's process group: who finds none after this runs no collective."""

    site: SourceSite


#: exits after which the launcher ends the other ranks, too
ENDS = frozenset({"raise", "exit"})
#: the process ends as one that is done, so that the launcher leaves the other ranks alone: `sys.exit(0)`
QUIT = "quit"


class BlockExit(NamedTuple):
    """An early exit from a block, or "yield", the place of a `with` block's body.

    Exits are "return", "break", "continue", "raise", and where the process ends QUIT, or "exit" if it may fail
    (`sys.exit(1)`).
    """

    kind: str
    site: SourceSite


class Scope(NamedTuple):
    """A call whose body is known: `return` ends here."""

    name: str
    body: tuple[Node, ...]
    site: SourceSite


#: most file events that are kept for one call
_MOST_FILES = 16

Node = Op | Branch | Loop | BlockExit | Scope | FileEvent | GroupEnd | Transfer
Trace = tuple[Node, ...]


#: A node of a trace and its position: the sites of the calls that lead to it, the branches around it, and the loops
#: that repeat it, each with the number of calls that were open when the loop was entered; all outermost first.
Step = tuple[Node, tuple[SourceSite, ...], tuple[Branch, ...], tuple[tuple[Loop, int], ...]]


def steps(nodes: Trace) -> Iterator[Step]:
    """Every node in source order, parents before children; of a branch one side and then the other."""
    stack: list[Step] = [(node, (), (), ()) for node in reversed(nodes)]
    while stack:
        step = stack.pop()
        yield step
        node: Any
        node, chain, under, loops = step
        kind = node.__class__
        if kind is Branch:
            under = (*under, node)
            inside: Trace = (*node.then, *node.other)
        elif kind is Loop:
            loops = (*loops, (node, len(chain)))
            inside = node.body
        elif kind is Scope:
            chain = (*chain, node.site)
            inside = node.body
        else:
            continue
        stack += [(inner, chain, under, loops) for inner in reversed(inside)]


def operations(nodes: Trace) -> list[tuple[Op, tuple[SourceSite, ...]]]:
    """Every operation in source order, with the calls that lead to it, outermost first."""
    return [(node, chain) for node, chain, _, _ in steps(nodes) if isinstance(node, Op)]


def all_nodes(nodes: Trace) -> Iterator[Node]:
    """Every node in any order: for questions that depend on no position."""
    stack = list(nodes)
    while stack:
        node: Any = stack.pop()
        yield node
        kind = node.__class__
        if kind is Branch:
            stack += node.then
            stack += node.other
        elif kind is Loop or kind is Scope:
            stack += node.body


def operates(nodes: Trace) -> bool:
    """Whether the nodes contain an operation."""
    return _contains(nodes, _OPERATION)


_OPERATION = frozenset({Op})


def _contains(nodes: Trace, kinds: frozenset[type], ends: str = "") -> bool:
    """Whether a node of these kinds is in the nodes, or an exit of the kind `ends`; asked of all that is followed."""
    stack = list(nodes)
    while stack:
        node: Any = stack.pop()
        kind = node.__class__
        if kind in kinds or (kind is BlockExit and node.kind == ends):
            return True
        if kind is Branch:
            stack += node.then
            stack += node.other
        elif kind is Loop or kind is Scope:
            stack += node.body
    return False


def transfers(nodes: Trace) -> bool:
    """Whether ranks send to or receive from one another in the nodes."""
    return any(node.__class__ is Transfer for node in all_nodes(nodes))


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


def leaves(nodes: Trace) -> bool:
    """Whether no rank reaches the end: the interpreter records nothing after an exit."""
    return bool(nodes) and isinstance(nodes[-1], BlockExit) and nodes[-1].kind != "yield"


def leaving_through(nodes: Trace, last: Trace, *, looped: bool = False) -> Trace:
    """A block's nodes, with the nodes of its `finally` before every exit from it; `looped`: in a loop of its own."""
    if not operates(last) or exits(last) or not exits(nodes):
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


def _marks(nodes: Trace) -> list[Node]:
    """The file events in nodes without operations, each once, up to the limit; and the end of the group, if there is
    one whatever the conditions are."""
    found: dict[Node, None] = {}
    for node, _, under, _ in steps(nodes):
        if isinstance(node, GroupEnd) and not under:
            return [*found, node]
        if isinstance(node, FileEvent) and len(found) < _MOST_FILES:
            found[node] = None
    return list(found)


_KEPT = frozenset({Op, Transfer})


def prune(nodes: list[Node]) -> Trace:
    """Remove calls that contain no collective and end no process, and empty loops; their file events and the group's
    end are kept."""
    kept: list[Node] = []
    for node in nodes:
        kind = node.__class__
        if kind is BlockExit:
            kept.append(node)
            continue
        if isinstance(node, (Loop, Scope)) and not node.body:
            continue
        if isinstance(node, Branch) and not node.then and not node.other:
            continue
        # without an operation, and without a place where a rank may end its process in order
        if isinstance(node, Scope) and not _contains(node.body, _KEPT, QUIT):
            kept.extend(_marks(node.body))
            continue
        kept.append(node)
    return tuple(kept)


def while_group_stands(nodes: Trace) -> Trace:
    """The nodes without the operations behind the end of the process group, until there is another one: a program that
    runs on without a group asks `is_initialized()` before them, as a rule."""
    if not any(node.__class__ is GroupEnd for node in all_nodes(nodes)):
        return nodes
    return _while_group_stands(nodes, {}, gone=False)[0]


#: nodes and whether the group is gone before them -> what is left of them, and whether it is gone behind them
_Known = dict[tuple[int, bool], tuple[Trace, bool]]


def _while_group_stands(nodes: Trace, known: _Known, *, gone: bool) -> tuple[Trace, bool]:
    """The same calls are part of a trace wherever they are made, and are walked through once."""
    before = known.get((id(nodes), gone))
    if before is not None:
        return before
    kept: list[Node] = []
    there = gone
    for node in nodes:
        left, there = _standing(node, known, gone=there)
        if left is not None:
            kept.append(left)
    same = len(kept) == len(nodes) and all(one is two for one, two in zip(kept, nodes, strict=True))
    found = known[id(nodes), gone] = (nodes if same else tuple(kept)), there
    return found


def _standing(node: Node, known: _Known, *, gone: bool) -> tuple[Node | None, bool]:
    """What is left of a node, and whether the group is gone behind it."""
    if isinstance(node, GroupEnd):
        return None, True
    if isinstance(node, Op):
        gone = gone and node.op not in _MAKE_GROUPS
        return (None if gone else node), gone
    if isinstance(node, Branch):
        sides = [_while_group_stands(side, known, gone=gone) for side in (node.then, node.other)]
        (then, _), (other, _) = sides
        if then is not node.then or other is not node.other:
            node = node._replace(then=then, other=other)
        return node, all(ended for side, ended in sides if not leaves(side))
    if isinstance(node, (Loop, Scope)):
        body, ended = _while_group_stands(node.body, known, gone=gone)
        # a loop may not run at all
        return (node if body is node.body else node._replace(body=body)), ended if isinstance(node, Scope) else gone
    return node, gone


_MAKE_GROUPS = frozenset({"init_process_group", "deepspeed.initialize"})
