"""Receives from any rank whose messages are kept as if they arrived in the order of the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts.exception_handlers import names_in
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag

_RECEIVE = "torch.distributed.recv"


def taken_for_order(facts: ModuleFacts) -> Iterator[tuple[CallEvent, EnclosingLoop]]:
    """Each such receive with its loop: one over ranks, whose variable is the place of what is received."""
    for call in facts.named(_RECEIVE):
        loop = call.context.loops[-1] if call.context.loops else None
        if loop is None or not _over_ranks(loop):
            continue
        if _from_any(call) and _into_place(call, loop) and _drops_sender(facts, call):
            yield call, loop


def _over_ranks(loop: EnclosingLoop) -> bool:
    """`for rank in range(1, world_size)`, or a list of that."""
    made = loop.over.object if loop.over is not None else None
    return isinstance(made, Made) and made.path == "builtins.range" and any(v.tags & Tag.WORLD for v in made.args)


def _from_any(call: CallEvent) -> bool:
    """Whether it says from which rank it receives neither by that one's number nor by its tag."""
    if any(name in _TELLING for name, _ in call.keywords):
        return False
    source = call.argument(1, "src")
    return source is None or (source.known and source.constant is None)


#: what tells senders apart beside `src`
_TELLING = frozenset({"group_src", "tag"})


def _into_place(call: CallEvent, loop: EnclosingLoop) -> bool:
    """`dist.recv(parts[i])`, where the loop counts `i`"""
    into = call.node.args[0] if call.node.args else None
    target = loop.node.target if isinstance(loop.node, ast.For) else None
    return isinstance(into, ast.Subscript) and target is not None and not names_in(into.slice).isdisjoint(
        names_in(target)
    )  # fmt: skip


def _drops_sender(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether nobody looks at the sender's rank, which a receive returns."""
    return isinstance(facts.parents.get(call.node), ast.Expr)
