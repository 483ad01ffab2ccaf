"""DistributedSampler without set_epoch

## What it does
Finds a shuffling `DistributedSampler` whose loader is iterated in an epoch loop without any call of `set_epoch`, or
with one that asks `loader.sampler` whether it has epochs, where the sampler is in the loader's `batch_sampler`. It is
an error where the loop over the loader goes back over what it gets, itself or in a function that it calls: of an
evaluation the order does not matter, nor where the gradients are only read and nothing changes weights. Of data that
are random numbers, made up when the data set is, it is a hint. It is a warning where an option says how many epochs
there are, which is one by default, unless a command starts the program with more, in a script, a text or the program's
own comments; a hint where commands start it and none has more. It is a hint, too, of a program that scripts and texts
start without a launcher.

## Why it harms
The order of the sampler is a function of `seed + epoch`, and the epoch stays 0 unless it is set: every epoch visits the
data in exactly the same order.

## Example
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
for epoch in range(10):
    for batch in loader:
        step(batch)
```

## Use instead
```python
for epoch in range(10):
    sampler.set_epoch(epoch)
    for batch in loader:
        step(batch)
```

## Fix safety
Unsafe: it changes the order of the data, which is the purpose.

## When it is wrong
Frameworks that call it themselves (Accelerate, Lightning, Ignite, mmengine) are known. The rule is silent if a file
that the script uses calls `set_epoch` on anything that may be this sampler; a wrapper in a file that lint cannot find
is not seen. A loader that a file only creates for other code to iterate is reported if no file of the project mentions
`set_epoch` or a framework that calls it, and its data are not called after an evaluation.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, epoch_calls, loaders, loop_purpose, random_draws, unheard_epochs
from ddpdoctor.lint.facts.epoch_calls import EpochSet
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import EnclosingLoop, Iteration
from ddpdoctor.lint.knowledge import aliases, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Items, Listed, Made, Table
from ddpdoctor.lint.values.iteration import iterated_of
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, RelatedRole, Severity
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD101",
    "missing-set-epoch",
    Severity.WARNING,
    advice="call sampler.set_epoch(epoch) at the beginning of each epoch",
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders with a shuffling sampler that are iterated more than once, and those not iterated in this file."""
    # a loader may be peeked into before it is gone through: the loop that trains speaks for its sampler
    found = [finding for finding in _repeated(facts) if finding is not None]
    yield from sorted(found, key=lambda finding: finding.severity is not Severity.ERROR)
    yield from _handed_out(facts)


def _handed_out(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders that this file creates for unknown callers: the other files of the project decide."""
    made = [c for c in facts.named(aliases.LOADER) if not c.context.loops and not c.context.no_grad]
    given = [s for c in made if (s := loaders.sampler_of(c.result)) and s.site.file == facts.module.path]
    if not given or epoch_calls.mentioned(facts):
        return
    gone_through = {s.site for i in facts.iterations if (s := loaders.sampler_of(i.loop.over))}
    for sampler in given:
        if sampler.site not in gone_through and loaders.shuffles(sampler) and not _to_evaluate(sampler):
            message = (
                "set_epoch is never called on this sampler, so every epoch has the same order: call it in the loop"
            )
            yield facts.finding(
                RULE, sampler.site, message, unconfirmed=Unconfirmed(sampler.site), severity=Severity.HINT
            )


def _to_evaluate(sampler: Made) -> bool:
    """Whether the data are called after an evaluation."""
    node = sampler.node
    given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "dataset")] if node is not None else []
    return bool(given) and heuristics.EVALUATED.found_in(last_name(given[0]))


def _repeated(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loaders that go round more than once."""
    for iteration in (*facts.iterations, *_begun_anew(facts)):
        sampler = _sampler(iteration)
        epochs = _epochs(iteration)
        if sampler is None or epochs is None or _made_anew(facts, sampler, epochs):
            continue
        if _in_any_order(facts, iteration, epochs, sampler):
            continue
        found = epoch_calls.epoch_set(facts, iteration, sampler)
        # what begins anew here may only be what is passed over before the loop that trains, which tells the epochs
        if found is EpochSet.IN_LOOP or (found is EpochSet.OUTSIDE and _begins_anew(iteration)):
            continue
        place = _place(iteration, sampler)
        local = place.file == facts.module.path
        here = place if local else iteration.loop.site
        so = f"so every epoch has the same order: {_where(facts, iteration, epochs)}"
        said = f"{_WHERE_SET[found].format('this sampler' if local else 'the sampler of this loader')}, {so}"
        related = _related(facts, iteration, epochs, place)
        fix = _fix(facts, iteration, sampler, epochs) if not _begins_anew(iteration) else None
        trains = loop_purpose.trains(facts, iteration)
        if not trains and _to_evaluate(sampler):
            continue
        severity = Severity.ERROR if found is EpochSet.NEVER and trains else Severity.WARNING
        message: str | Conditional = said
        open_: Unconfirmed | None = None
        if option := loaders.once_by_default(facts, epochs):
            message = Conditional(f"if {option} is more than 1, ", said)
            sure = severity is Severity.ERROR
            severity = Severity.WARNING if sure else Severity.HINT
            open_ = Unconfirmed(epochs.site, RelatedRole.UNSTARTED) if sure else None
        # who tells epochs, though in vain, wants another order for each
        if found is not EpochSet.UNHEARD and _is_random(facts, sampler):
            message = Conditional("once it trains on other data than random numbers, ", said)
            severity = Severity.HINT
        yield facts.finding(
            *(RULE, here, message),
            related=related,
            fix=fix,
            context=iteration.context,
            severity=severity,
            unconfirmed=open_,
        )


def _related(
    facts: ModuleFacts, iteration: Iteration, epochs: EnclosingLoop, made: SourceSite
) -> tuple[tuple[SourceSite, str], ...]:
    """The loops, the sampler where it is not in this file, and the calls that do not reach it."""
    local = made.file == facts.module.path
    second = (iteration.loop.site, "the loader is iterated here") if local else (made, "the sampler is created here")
    told = unheard_epochs.found(facts, iteration.loop.over).values()
    beside = ((site, "called on the loader's own sampler, if that has it") for site in told)
    return ((epochs.site, "the epoch loop"), second, *beside)


#: what is said of the sampler
_WHERE_SET = {
    EpochSet.NEVER: "set_epoch is never called on {}",
    EpochSet.OUTSIDE: "set_epoch is never called on {} in its loop",
    EpochSet.UNHEARD: "set_epoch is never called on {}, which is in the batch_sampler: the loader's own has none",
}


def _begun_anew(facts: ModuleFacts) -> Iterator[Iteration]:
    """Loaders whose batches are taken one by one, and that begin anew when they have come to their end:
    `except StopIteration: batches = iter(loader)`."""
    for call in facts.named("builtins.iter"):
        if call.context.handler == "except" and len(call.args) == 1:
            loop = EnclosingLoop(call.node, call.site, iterated_of(call.args[0])[0], "")
            yield Iteration(loop, call.context, call.index)


def _begins_anew(iteration: Iteration) -> bool:
    return isinstance(iteration.loop.node, ast.Call)


def _where(facts: ModuleFacts, iteration: Iteration, epochs: EnclosingLoop) -> str:
    """Where the call belongs, in words."""
    if _begins_anew(iteration):
        return f"call it with another number before the loader begins anew at line {iteration.loop.site.line}"
    of = f" of {posixpath.basename(epochs.site.file)}" if epochs.site.file != facts.module.path else ""
    return f"call it in the loop at line {epochs.site.line}{of}"


def _is_random(facts: ModuleFacts, sampler: Made) -> bool:
    """Whether the data are random numbers."""
    return random_draws.made_up(facts.analysis, sampler.argument(0, "dataset")) or _drawn(facts, sampler)


def _drawn(facts: ModuleFacts, sampler: Made) -> bool:
    """Whether the data are what a function of the project draws."""
    given = sampler.node.args[0] if sampler.node is not None and sampler.node.args else None
    if not isinstance(given, ast.Name) or sampler.site.file != facts.module.path:
        return False
    values = [value for name, value in facts.assignments if name == given.id]
    return bool(values) and all(random_draws.made_up_by_call(facts.analysis, facts.module, v) for v in values)


def _sampler(iteration: Iteration) -> Made | None:
    over = iteration.loop.over
    if over is None or iteration.context.no_grad or over.tags & Tag.PREPARED:
        return None
    sampler, given = loaders.sampler_of(over), loaders.given_sampler(over)
    if sampler is None or given is None or loaders.turns_by_itself(given):
        return None
    return sampler if loaders.shuffles(sampler) and not loaders.reorders_batches(over) else None


def _in_any_order(facts: ModuleFacts, iteration: Iteration, epochs: EnclosingLoop, sampler: Made) -> bool:
    """Whether the order of what the loop gets does not matter: it evaluates, or measures, or looks at one batch."""
    if loop_purpose.evaluates(facts, iteration, epochs) or _takes_one(iteration):
        return True
    if loop_purpose.evaluates_this_time(facts, iteration) or loop_purpose.measures(facts, iteration, epochs):
        return True
    if loop_purpose.attacks(facts, iteration):
        return True
    return loop_purpose.evaluates_by_call(facts, iteration) and epoch_calls.another_is_told(facts, epochs, sampler)


def _takes_one(iteration: Iteration) -> bool:
    """Whether the loop ends with its first turn: it looks at one batch, and what order the others have is the same."""
    loop = iteration.loop.node
    return isinstance(loop, ast.For) and isinstance(loop.body[-1], (ast.Break, ast.Return))


def _place(iteration: Iteration, sampler: Made) -> SourceSite:
    """Where the sampler is created; for a class of the project, where that class is called."""
    given = loaders.given_sampler(iteration.loop.over)
    obj = given.object if given is not None else None
    return obj.site if isinstance(obj, Instance) and obj.site is not None else sampler.site


def _epochs(iteration: Iteration) -> EnclosingLoop | None:
    """The loop that repeats the loader's loop; not one that certainly runs once, nor one over several loaders."""
    for loop in reversed(iteration.context.loops):
        if loop.node is iteration.loop.node:
            continue
        several = loop.over is not None and isinstance(loop.over.object, (Items, Listed, Table))
        if isinstance(loop.node, (ast.For, ast.While)) and not several and not loaders.runs_once(loop):
            return loop
    return None


def _made_anew(facts: ModuleFacts, sampler: Made, epochs: EnclosingLoop) -> bool:
    """Each iteration creates the sampler, from something that may differ between iterations."""
    if not _made_within(facts, sampler, epochs):
        return False
    node = sampler.node
    inside = epochs.site.file == sampler.site.file and epochs.site.line <= sampler.site.line <= epochs.site.end_line
    if node is None or not inside:
        return True
    changed = {n.id for n in walk(epochs.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    given = [n for part in (*node.args, *(k.value for k in node.keywords)) for n in walk(part)]
    return any(isinstance(n, (ast.Call, ast.Subscript)) or (isinstance(n, ast.Name) and n.id in changed) for n in given)


def _made_within(facts: ModuleFacts, sampler: Made, epochs: EnclosingLoop) -> bool:
    """Whether the sampler is made in the loop, and not only the first time that it is asked for."""
    calls = (call for call in facts.named(aliases.SAMPLER) if call.site == sampler.site)
    inside = any(loop.node is epochs.node for call in calls for loop in call.context.loops)
    return inside and not _made_at_first(facts, sampler.site)


def _made_at_first(facts: ModuleFacts, site: SourceSite) -> bool:
    """Whether it is made where there is none yet, to be kept: `if self.loader is None: self.loader = ...`."""
    module = blocks.module_of(facts, site)
    for node in blocks.around(module, site) if module is not None else ():
        test = node.test if isinstance(node, ast.If) else None
        if isinstance(test, ast.Compare) and isinstance(test.left, ast.Attribute) and isinstance(test.ops[0], ast.Is):
            kept = text_of(test.left)
            if any(isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and text_of(n) == kept
                   for n in walk(node)):  # fmt: skip
                return True
    return False


def _fix(facts: ModuleFacts, iteration: Iteration, sampler: Made, epochs: EnclosingLoop) -> Fix | None:
    """Insert the call if sampler and loop are in one function and the loop counts epochs."""
    loop = epochs.node
    name = loaders.assigned_name(facts, sampler)
    if name is None or not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
        return None
    if epochs.site.file != facts.module.path or not loaders.same_function(facts, sampler.site.line, epochs.site.line):
        return None
    counted = epochs.over is not None and isinstance(epochs.over.object, Made) and (
        epochs.over.object.path == "builtins.range")  # fmt: skip
    first = loop.body[0]
    line = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))])
    if not counted or line == loop.lineno or _rebound(facts.module.tree.body, name, sampler.site.line, line):
        return None
    written = facts.module.lines[line - 1]
    pad = written[: len(written) - len(written.lstrip())]
    text = f"{name}.set_epoch({loop.target.id})\n{pad}"
    given = loaders.given_sampler(iteration.loop.over)
    if given is not None and given.tags & Tag.MAYBE and sampler.node is not None:
        # without other ranks it is None, or a sampler that has no epochs
        text = f"if isinstance({name}, {text_of(sampler.node.func)}):\n{pad}    {text}"
    at = len(pad) + 1
    return Fix(Applicability.UNSAFE, (Edit(line, at, line, at, text),))


def _rebound(block: list[ast.stmt], name: str, made: int, used: int) -> bool:
    """Between the lines `made` and `used` the name is reassigned; the other side of a branch does not count."""
    for index, statement in enumerate(block):
        if not statement.lineno <= made <= (statement.end_lineno or made):
            continue
        later = [n for s in block[index + 1 :] if s.lineno < used for n in walk(s) if isinstance(n, ast.Name)]
        if any(n.id == name and isinstance(n.ctx, ast.Store) and n.lineno < used for n in later):
            return True
        inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        inner += [handler.body for handler in getattr(statement, "handlers", [])]
        return any(_rebound(b, name, made, used) for b in inner)
    return False
