"""A collective that only a failed rank runs, or a failure that one rank swallows

## What it does
Finds collectives in `finally:` and `except:` that also run after an exception, `destroy_process_group()` there with
NCCL, and handlers in a training loop that swallow an exception from a DDP backward or another collective, or go on
with the next batch where a rank's own batch has raised one and the rest of the turn holds a collective. And handlers
around such a loop that catch whatever happens and let the process end as one that has done its work, as loguru's
`@logger.catch` does. An import fails on the ranks whose disk does not hold the module, so a collective in its handler
counts.

## Why it hangs
An exception rarely occurs on all ranks at once. The rank on which it occurs waits in the handler's collective for ranks
that are in another one, and the traceback is not printed before the timeout. A rank that swallows the exception stays
one collective behind: its next step is paired with the previous one of the other ranks. One that ends with status 0
leaves the others waiting: the launcher ends them only where a rank has failed.

## Example
```python
try:
    train(model, loader)
finally:
    dist.barrier()
    dist.destroy_process_group()
```

## Use instead
```python
train(model, loader)
dist.barrier()
dist.destroy_process_group()
```

## Fix safety
No automatic fix: the author must decide what happens after a failure.

## When it is wrong
When the exception can occur only on all ranks together. Not reported are: a `finally` whose block needs no other rank
(all ranks reach it, whatever happens in the block); a collective under a condition on how the block ended; handlers
that raise again, leave the loop, tell a caller that leaves it, or call something that may inform the other ranks; and
`destroy_process_group()` on gloo, behind another collective in the same block, and where a handler has caught every
exception. Neither is what only one rank swallows and runs, which the others do not wait for there. Nor are blocks that,
as far as they can be followed, only make tensors and run collectives, or catch what fails where it fails: equal sizes
fit on all devices or on none. A group that gives up after two minutes by its own `timeout` makes a `finally` a hint,
and so does a file of tests: a test that fails has done its work. A group waits at its end since torch 2.6: where all
that the texts of the repository ask for are older ones, its destruction is a hint.

## References
https://github.com/pytorch/torchtitan/pull/1342
https://loguru.readthedocs.io/en/stable/api/logger.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import devices, exception_handlers, lone_failures, skipped_batches
from ddpdoctor.lint.facts.module_facts import ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.trace import steps
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.ranks.reach import Reached
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.truths import rank_decided
from ddpdoctor.lint.values.values import Symbol
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.model.record import replace
from ddpdoctor.program.nodes import walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD116",
    "collective-in-exception-path",
    Severity.WARNING,
    ("DD208", "DD253"),
    advice="let a failed rank end: no collective in except or finally, and none left out by a handler",
)

#: making groups again is how a job recovers
_SETUP = frozenset({"init_process_group", "new_group"})
#: the file and so many folders around it, less one, tell whether it belongs to tests
_NEAR = 4
#: what catches whatever one rank may run into
_ANY = frozenset({"Exception", "BaseException", "RuntimeError"})
_DESTROY = "torch.distributed.destroy_process_group"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Every `try` of the file, and what does the same; what stands in tests is a hint."""
    near = "/".join(facts.module.path.split("/")[-_NEAR:])
    of_tests = heuristics.OF_TESTS.found_in(near)
    for found in (*_tries(facts), *_decorated(facts)):
        yield replace(found, severity=Severity.HINT) if found is not None and of_tests else found


def _tries(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Every `try` of the file: its `finally`, its handlers, and what they swallow."""
    if not facts.reached and not facts.named(_DESTROY):
        return
    for node in facts.module.nodes:
        if not isinstance(node, ast.Try):
            continue
        if node.finalbody:
            yield from _in_finally(facts, node)
        for handler in node.handlers:
            if exception_handlers.catches_local(handler):
                yield from _in_handler(facts, node, handler)
            alone = exception_handlers.catches(handler) & facts.raised_alone
            if exception_handlers.catches_local(handler) or alone:
                yield from _swallowed(facts, node, handler)
            if alone:
                yield from _ends_loop(facts, node, handler)
            elif handler.type is None or exception_handlers.catches(handler) & _ANY:
                yield from _ends_as_done(facts, node, handler)


def _through(facts: ModuleFacts, body: list[ast.stmt]) -> Iterator[tuple[Reached, int]]:
    first, last = exception_handlers.lines_of(body)
    for item in facts.reached:
        index = item.within(facts.module.path, first, last)
        if index is not None and item.op.op not in _SETUP:
            yield item, index


def _in_finally(facts: ModuleFacts, node: ast.Try) -> Iterator[Finding | None]:
    block = [*node.body, *node.orelse]
    # a rank that fails skips what follows its failure; if that is nothing, all ranks reach `finally` alike
    missed = any(_may_fail_alone(facts, node, item.way[i], item.op.op) for item, i in _through(facts, block))
    meets_others = (
        missed or exception_handlers.trains(block) or any(_meets_others(facts, b) for b in _blocks_of(facts, node))
    )
    if not meets_others or any(_leaves_at_once(h) for h in node.handlers) or _releases(node):
        return
    if lone_failures.fails_alike(facts, block):
        return
    outcome = exception_handlers.bound_in(node)
    severity = Severity.HINT if lone_failures.waits_briefly(facts) else Severity.WARNING
    waiting = [
        (item, item.way[index])
        for item, index in _through(facts, node.finalbody)
        if _on_all_ranks(item) and not _tells_outcome(node.finalbody, item.way[index], outcome)
    ]
    for item, here in waiting:
        message = (
            f"{item.op.op} in `finally` also runs after an exception: the failed rank waits here for ranks "
            "that are in other calls, and its traceback is not printed until then"
        )
        related = ((item.op.site, f"{item.op.op} needs all ranks"),)
        yield facts.finding(RULE, here, message, related=related, severity=severity)
    # a rank that waits does not come to the end; where its exception has been told, it comes there anyway
    if not waiting and not any(map(lone_failures.swallows, node.handlers)):
        yield from _destroys(facts, node, outcome, severity)


def _destroys(facts: ModuleFacts, node: ast.Try, outcome: set[str], severity: Severity) -> Iterator[Finding | None]:
    for here in _destroyed(facts, node.finalbody):
        if not _tells_outcome(node.finalbody, here, outcome):
            message = (
                "after an exception on one rank, destroy_process_group waits here for NCCL operations that the other "
                "ranks never join: call it after the block instead"
            )
            open_ = Unconfirmed(here, RelatedRole.UNSTARTED)  # the texts of the repository may ask for an older torch
            yield facts.finding(RULE, here, message, severity=severity, unconfirmed=open_)


def _releases(node: ast.Try) -> bool:
    """`if not first: barrier()` before, `if first: barrier()` in `finally`: the others are let go, whatever happens."""
    waits = {text_of(s.test) for s in node.body if isinstance(s, ast.If)}
    frees = {text_of(s.test) for s in node.finalbody if isinstance(s, ast.If)}
    return any(f"not {test}" in waits for test in frees) or any(f"not {test}" in frees for test in waits)


def _meets_others(facts: ModuleFacts, block: list[ast.stmt]) -> bool:
    return any(True for _ in _through(facts, block)) or exception_handlers.trains(block)


def _blocks_of(facts: ModuleFacts, node: ast.Try) -> Iterator[list[ast.stmt]]:
    """The `with` blocks that run at the `yield` in this `try`."""
    if not any(isinstance(n, ast.Yield) for s in node.body for n in walk(s)):
        return
    owner: ast.AST | None = node
    while owner is not None and not isinstance(owner, ast.FunctionDef):
        owner = facts.parents.get(owner)
    if owner is None:
        return
    for user in facts.module.nodes:
        if isinstance(user, ast.With) and any(
            owner.name in exception_handlers.names_in(i.context_expr) for i in user.items
        ):
            yield user.body


def _in_handler(facts: ModuleFacts, node: ast.Try, handler: ast.ExceptHandler) -> Iterator[Finding | None]:
    if exception_handlers.about_arguments(handler):
        return
    if (lone_failures.fails_alike(facts, node.body) and not _imports(node)) or _makes_group_of_one(facts, handler.body):
        return
    regular = {item.op.op for item, _ in _through(facts, [*node.body, *node.orelse])}
    for item, index in _through(facts, handler.body):
        if item.op.op in regular or not _on_all_ranks(item):
            continue
        message = (
            f"only a rank on which the exception occurred runs this {item.op.op}: it waits for the others, unless all "
            "ranks fail together"
        )
        yield facts.finding(RULE, item.way[index], message, related=((item.op.site, f"{item.op.op} needs all ranks"),))


def _makes_group_of_one(facts: ModuleFacts, body: list[ast.stmt]) -> bool:
    """Whether what stands in for ranks that could not be started makes a group of one process for itself."""
    first, last = exception_handlers.lines_of(body)
    for call in facts.named(devices.GROUP):
        size = call.argument(3, "world_size")
        ways = (*call.context.chain, call.site)
        if size is not None and size.constant == 1 and any(_stands_in(facts, site, first, last) for site in ways):
            return True
    return False


def _swallowed(facts: ModuleFacts, node: ast.Try, handler: ast.ExceptHandler) -> Iterator[Finding | None]:
    if exception_handlers.acts(handler) or any(True for _ in _through(facts, handler.body)):
        return
    if _caller_leaves(facts, node, handler):
        return
    after = _behind(facts, node)
    if after and exception_handlers.remembered(handler, after) and any(True for _ in _through(facts, after)):
        return
    op = skipped_batches.missed(facts, node, handler)
    if op is not None:
        message = f"a rank whose own batch raises this skips it, and the others wait for that rank in {op.op}"
        yield facts.finding(RULE, handler, message, related=((op.site, f"{op.op} needs all ranks"),))
        return
    first, last = exception_handlers.lines_of(node.body)
    for item, index in _through(facts, node.body):
        outside = _repeating(facts, item, index, first, last)
        if outside is None or _is_of_one(item) or not _may_fail_alone(facts, node, item.way[index], item.op.op):
            continue
        if exception_handlers.goes_on(handler.body, after_return=outside):
            message = (
                f"an exception around {item.op.op} on one rank is swallowed here: that rank continues with its next "
                "step while the others wait for it in this one"
            )
            related = ((item.op.site, f"{item.op.op} needs all ranks"),)
            yield facts.finding(RULE, handler, message, related=related)
            return


def _ends_loop(facts: ModuleFacts, node: ast.Try, handler: ast.ExceptHandler) -> Iterator[Finding | None]:
    """An exception that one rank raises because of its own data ends its loop; the others continue theirs."""
    if exception_handlers.acts(handler) or not exception_handlers.goes_on(handler.body, after_return=True):
        return
    first, last = exception_handlers.lines_of(node.body)
    for item, index in _through(facts, node.body):
        within = [p.site for p, depth in item.loops if depth > index or _stands_in(facts, p.site, first, last)]
        if within and _repeating(facts, item, index, first, last) is None:
            message = (
                f"one rank raises this because of its own data and leaves the loop at line {within[0].line}, while "
                f"{item.op.op} in the loop needs all ranks"
            )
            yield facts.finding(RULE, handler, message, related=((item.op.site, f"{item.op.op} needs all ranks"),))
            return


def _ends_as_done(facts: ModuleFacts, node: ast.Try, handler: ast.ExceptHandler) -> Iterator[Finding | None]:
    """An exception in the training of one rank that its handler only tells: the process ends as one that is done, and
    the launcher leaves the others alone."""
    after = _behind(facts, node)
    if exception_handlers.acts(handler) or exception_handlers.tells_caller(handler) or facts.alone:
        return
    if not exception_handlers.goes_on(handler.body, after_return=True) or exception_handlers.remembered(handler, after):
        return
    first, last = exception_handlers.lines_of(node.body)
    for item, index in _through(facts, node.body):
        inside = any(depth > index or _stands_in(facts, loop.site, first, last) for loop, depth in item.loops)
        if not inside or not item.op.op.startswith("backward") or not _on_all_ranks(item):
            continue
        if _repeating(facts, item, index, first, last) is None:
            message = (
                "an exception in the training of one rank is swallowed here: its process ends as if it had succeeded, "
                f"the launcher ends no other, and those wait in {item.op.op}: raise it again"
            )
            yield facts.finding(RULE, handler, message, related=((item.op.site, f"{item.op.op} needs all ranks"),))
            return


def _decorated(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Functions that train, of which a decorator catches what one rank raises."""
    for function in facts.module.of(ast.FunctionDef):
        for decorator in function.decorator_list:
            if exception_handlers.catches_all(facts.module, decorator) and not facts.alone:
                yield from _ends_by_decorator(facts, function, decorator)


def _ends_by_decorator(facts: ModuleFacts, function: ast.FunctionDef, decorator: ast.expr) -> Iterator[Finding | None]:
    first, last = exception_handlers.lines_of(function.body)
    trained = {loop.site for call in facts.methods("backward") for loop in call.context.loops}
    for item, index in _through(facts, function.body):
        inside = [loop.site for loop, depth in item.loops if depth > index or _stands_in(facts, loop.site, first, last)]
        trains = item.op.op.startswith("backward") or not trained.isdisjoint(inside)
        if inside and trains and _on_all_ranks(item) and _repeating(facts, item, index, first, last) is None:
            message = (
                "an exception in the training of one rank ends here: its process ends as if it had succeeded, the "
                f"launcher ends no other, and those wait in {item.op.op}: let it raise again"
            )
            yield facts.finding(RULE, decorator, message, related=((item.op.site, f"{item.op.op} needs all ranks"),))
            return


def _caller_leaves(facts: ModuleFacts, node: ast.Try, handler: ast.ExceptHandler) -> bool:
    """Whether the function tells of the failure by what it returns, and every loop that calls it ends then."""
    function = facts.parents.get(node)
    while function is not None and not isinstance(function, ast.FunctionDef):
        function = facts.parents.get(function)
    if function is None or not exception_handlers.tells_caller(handler):
        return False
    loops = [loop for loop in facts.module.nodes if isinstance(loop, (ast.For, ast.While))]
    calling = [loop for loop in loops if exception_handlers.calls_in(loop, function.name)]
    return bool(calling) and all(exception_handlers.ends_with(loop, function.name) for loop in calling)


def _behind(facts: ModuleFacts, node: ast.AST) -> list[ast.stmt]:
    """The statements after one in its block."""
    parent = facts.parents.get(node)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and node in block:
            return block[block.index(node) + 1 :]
    return []


def _repeating(facts: ModuleFacts, item: Reached, index: int, first: int, last: int) -> bool | None:
    """None if no loop encloses the `try`; otherwise whether the loop is a caller's."""
    found: bool | None = None
    for loop, depth in item.loops:
        inside = _stands_in(facts, loop.site, first, last)
        if depth <= index and not inside:
            found = depth < index
    return found


def _stands_in(facts: ModuleFacts, site: SourceSite, first: int, last: int) -> bool:
    return site.file == facts.module.path and first <= site.line <= last


def _may_fail_alone(facts: ModuleFacts, node: ast.Try, before: SourceSite, op: str) -> bool:
    """A backward fails by itself; another collective's block must hold a call that can fail on one rank."""
    return op.startswith("backward") or lone_failures.may_fail_alone(facts, node.body, before)


def _imports(node: ast.Try) -> bool:
    """An import finds what is on this rank's disk: a module that one rank builds is there for some ranks only."""
    return any(isinstance(statement, ast.Import | ast.ImportFrom) for statement in node.body)


def _leaves_at_once(handler: ast.ExceptHandler) -> bool:
    """`os._exit` does not run `finally`."""
    return any(isinstance(n, ast.Attribute) and n.attr in ("_exit", "abort", "kill") for n in walk(handler))


def _on_all_ranks(item: Reached) -> bool:
    return not any(rank_decided(branch.truth) for branch in item.under)


def _is_of_one(item: Reached) -> bool:
    """Whether a branch lets one rank alone come to the operation: no other waits for it in there."""
    for branch in item.under:
        if rank_decided(branch.truth) and not any(isinstance(outcome, Symbol) for outcome in branch.truth):
            held = any(node is item.op for node, *_ in steps(branch.then))
            if sum(bool(outcome) is held for outcome in branch.truth) == 1:
                return True
    return False


def _tells_outcome(body: list[ast.stmt], here: SourceSite, outcome: set[str]) -> bool:
    """The call is under a condition on a result of the guarded block, or on the exception itself."""
    for statement in body:
        for node in walk(statement):
            inside = isinstance(node, ast.If) and node.lineno <= here.line <= (node.end_lineno or 0)
            if inside and isinstance(node, ast.If):
                names = exception_handlers.names_in(node.test)
                if names & outcome or "exc_info" in names or "exception" in names:
                    return True
    return False


def _destroyed(facts: ModuleFacts, body: list[ast.stmt]) -> Iterator[SourceSite]:
    """Where NCCL groups are destroyed, seen from these lines."""
    groups = facts.named("torch.distributed.init_process_group")
    backends = [call.argument(0, "backend") for call in groups]
    if not any(b is not None and isinstance(b.constant, str) and "nccl" in b.constant for b in backends):
        return
    first, last = exception_handlers.lines_of(body)
    for call in facts.named(_DESTROY):
        for site in (*call.context.chain, call.site):
            if site.file == facts.module.path and first <= site.line <= last and not call.context.some_ranks_only:
                yield site
                break
