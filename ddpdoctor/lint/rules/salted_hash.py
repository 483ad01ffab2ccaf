"""Ranks take another number each for the hash of a text, or another order of a set of texts

## What it does
Finds `hash(text)` where all ranks have to come to one number: it decides which rank has something
(`hash(name) % world_size == rank`), which samples there are (`hash(name) % 10 == 0`), or by which number a network
knows a name (`torch.tensor(hash(word) % buckets)`), also through variables, lists and functions of the program, and in
what a loader runs of a data set. And it finds collectives that are called one by one in the order of a set of texts, or
of what was made in that order: `for name in {"loss", "accuracy"}: dist.all_reduce(sums[name])`; and parts of a network
that are made in such an order: `nn.ModuleDict({name: nn.Linear(64, 1) for name in set(names)})`.

## Why it harms
Python salts the hashes of texts and bytes, by a number that each process draws when it starts. No two ranks agree: of
what is divided by such hashes some goes to several ranks and some to none, each rank holds out other samples, and one
row of an embedding stands for other names on each rank. After a restart all of it is different again. The order of a
set is that of its hashes: one rank adds up its loss where another adds up its accuracy, and where the shapes are equal,
nothing fails. DDP and FSDP pair the parameters of the ranks by their order, and so do with the parts of a network.

## Example
```python
rows = [row for row in log if hash(row["user"]) % world_size == rank]
```

## Use instead
```python
rows = [row for row in log if zlib.crc32(row["user"].encode()) % world_size == rank]
```

## Fix safety
No automatic fix: a checkpoint may hold numbers made by the old hash.

## When it is wrong
Numbers, and tuples of numbers, have the same hash in all processes. Where nothing shows what is hashed, the message
says so first, and what decides on samples or names is a hint. Not reported where `PYTHONHASHSEED` is set for all ranks,
nor for what one rank alone does. Of sets, only those count whose elements are texts as the code shows: the names of an
`nn.ModuleDict` always are.

## References
https://docs.python.org/3/reference/datamodel.html#object.__hash__
"""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts import blocks, launch, orders_of_parts, orders_of_sets, run_by_loaders, salted_hashes
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.facts.salted_hashes import Use, Used
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.tags import ANY_RANK
from ddpdoctor.model.finding import Finding, RelatedRole, Severity

RULE = LintRule(
    "DD156",
    "salted-hash",
    Severity.WARNING,
    advice="take what is the same in all processes: zlib.crc32(text.encode()), or sorted(names)",
)

_MESSAGES = {
    Use.OWNER: (
        "each process salts this hash in its own way, so the ranks do not agree on which of them has what: some goes "
        "to several ranks and some to none"
    ),
    Use.SAMPLE: "each process salts this hash in its own way, so each rank chooses other samples",
    Use.ID: "each process salts this hash in its own way, so one name is another number on each rank",
}
_TOLD = {Use.OWNER: "compared with the rank here", Use.SAMPLE: "chosen here", Use.ID: "goes into a tensor here"}


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Hashes of texts that have to be the same on all ranks, and what is done in the order of such hashes."""
    yield from _in_order_of_sets(facts)
    yield from _networks(facts)
    calls, kept = _hashes(facts)
    for call in calls:
        module = blocks.module_of(facts, call.site)
        if module is None or call.context.some_ranks_only or facts.mentions(salted_hashes.SETTING):
            continue
        if salted_hashes.SETTING in module.text or salted_hashes.SETTING in facts.module.text:
            continue
        text = salted_hashes.is_text(module, call)
        used = next(salted_hashes.uses(facts, call, kept), None) if text is not False else None
        if used is not None and (used.use is Use.OWNER or launch.trains_on_several(facts)):
            yield _told(facts, call, used, sure=text is True)


def _hashes(facts: ModuleFacts) -> tuple[list[CallEvent], frozenset[str]]:
    """The calls of `hash`, also in what loaders run of data sets, and the attributes in which the program's objects
    keep numbers of the rank."""
    calls, in_loaders = facts.named("builtins.hash"), run_by_loaders.named(facts, "builtins.hash")
    seen = {call.site for call in calls}
    calls = [*calls, *(call for call in in_loaders.calls if call.site not in seen)]
    kept = {name for (_, name), value in facts.analysis.heap.items() if value.tags & ANY_RANK} if calls else set[str]()
    return calls, in_loaders.by_rank | kept


def _in_order_of_sets(facts: ModuleFacts) -> Iterator[Finding | None]:
    for call, loop in orders_of_sets.collectives_in_one(facts):
        message = (
            f"the order of a set of texts is another one in each process, and each rank calls {call.path} in its own: "
            "what belongs to one name meets what belongs to another"
        )
        # a command may give all processes one salt
        open_ = Unconfirmed(call.site, RelatedRole.UNSTARTED)
        related = ((loop.site, "goes through the set here"),)
        yield facts.finding(RULE, call.site, message, related=related, context=call.context, unconfirmed=open_)


def _networks(facts: ModuleFacts) -> Iterator[Finding | None]:
    for place, wrap, origin in orders_of_parts.in_order_of_sets(facts):
        message = (
            "each process has these parts of the network in an order of its own, that of a set of texts: the ranks "
            "pair them by their order, so what belongs to one name is mixed with what belongs to another"
        )
        open_ = Unconfirmed(place.site, RelatedRole.UNSTARTED)
        related = [(wrap.site, "the ranks' parts are paired here")]
        related += [(origin, "the set is made here")] if origin is not None and origin.line != place.site.line else []
        yield facts.finding(RULE, place.site, message, related=tuple(related), context=place.context, unconfirmed=open_)


def _told(facts: ModuleFacts, call: CallEvent, used: Used, *, sure: bool) -> Finding | None:
    # a command may give all processes one salt
    open_ = Unconfirmed(call.site, RelatedRole.UNSTARTED)
    severity = Severity.WARNING if sure or used.use is Use.OWNER else Severity.HINT
    return facts.finding(
        RULE,
        call.site,
        Conditional("" if sure else "where these are texts, ", _MESSAGES[used.use]),
        related=((used.site, _TOLD[used.use]),) if used.site.line != call.site.line else (),
        severity=severity,
        context=call.context,
        unconfirmed=open_,
    )
