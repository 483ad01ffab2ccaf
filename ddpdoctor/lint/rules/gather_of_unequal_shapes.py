"""A collective of tensors that have another shape on each rank

## What it does
Finds `all_gather`, `gather`, `all_reduce` and the gathers of Accelerate, Fabric and Lightning of tensors of which each
rank's own data decides how large they are: texts that a model of transformers has generated, which end with the longest
one of the rank; tokens that a tokenizer or `pad_sequence` has padded to the longest of the rank's batch, and the logits
of a model that gives some for each token; `x[x > 0.5]`, `nonzero()`, `unique()`, `nms`; a `torch.cat` of what a
condition let into a list, or of a list with an entry for each element of the rank's own share of the data
(`files[rank::world_size]`). As a hint, the rows of all samples of a batch, which a `collate_fn` of the program has put
one after the other by `torch.cat`, and what a model in a wrapper gives for them. As an error, tensors whose size is a
number that differs by rank.

## Why it harms
A gather makes room for tensors as large as the rank's own. Gloo raises, and NCCL does not compare: it hangs, crashes or
puts the rows of one rank into those of another. Batches that happen to be equally long go well, so that it often fails
late.

## Example
```python
told = accelerator.unwrap_model(model).generate(batch["input_ids"], max_new_tokens=64)
told = accelerator.gather_for_metrics(told)
```

## Use instead
```python
told = accelerator.unwrap_model(model).generate(batch["input_ids"], max_new_tokens=64)
told = accelerator.pad_across_processes(told, dim=1, pad_index=tokenizer.pad_token_id)
told = accelerator.gather_for_metrics(told)
```
With torch alone: gather the sizes, pad to the largest, gather, and cut. Or gather the sum or the mean, or use
`all_gather_object`.

## Fix safety
No automatic fix.

## When it is wrong
Where all texts have one length, padded or packed, what belongs to the tokens can be gathered: it is not reported where
every tokenizer in the files that the program uses is called with `padding="max_length"` and `truncation`. Groups of
ranks that compute one model together are not looked at, since these have the same data.

## References
https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.pad_across_processes
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import joined_rows, own_sizes, text_lengths
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Iteration
from ddpdoctor.lint.knowledge import collectives, frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made, Method, Table
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD157",
    "gather-of-unequal-shapes",
    Severity.WARNING,
    advice="pad to the largest of the ranks' sizes before, or gather as an object",
)


class _Meeting(NamedTuple):
    """A collective that needs equal shapes, and what this rank gives to it."""

    call: CallEvent
    op: str
    given: tuple[Value, ...]


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives of tensors of which each rank decides how large they are."""
    meetings = list(_meetings(facts))
    if not meetings:
        return
    filled, joined = own_sizes.filled_by_shares(facts), joined_rows.of_batches(facts)
    by_batch = text_lengths.pads_by_batch(facts)
    in_files = heuristics.PADS_TEXTS.found_in(facts.module.text) and not text_lengths.padded_alike(facts)
    for meeting in meetings:
        call = meeting.call
        if (found := _proved(facts, meeting)) is not None:
            yield found
        elif any(own_sizes.is_picked(value) or text_lengths.is_generated(value) for value in meeting.given):
            said = (
                f"each rank decides by its own data how many elements this has, and {meeting.op} needs equally many: "
                "pad it to the largest, or gather it as an object"
            )
            yield facts.finding(RULE, call.site, said, context=call.context)
        elif _is_by_token(facts, meeting, in_files=in_files, by_batch=by_batch):
            message = Conditional(
                "unless all ranks pad their texts to one length, ",
                "this has another size on each rank, and the gather hangs or fails: gather its sum or mean, or pad it "
                "to the largest size of all ranks (pad_across_processes)",
            )
            yield facts.finding(RULE, call.site, message, context=call.context)
        elif any(own_sizes.share_behind(value, filled) for value in meeting.given):
            yield _of_share(facts, meeting, filled)
        else:
            yield _of_samples(facts, meeting, joined)


def _is_by_token(facts: ModuleFacts, meeting: _Meeting, *, in_files: bool, by_batch: bool) -> bool:
    """Whether it has an entry for each token of texts that each rank pads by itself."""
    if any(map(text_lengths.is_of_tokenizer, meeting.given)):
        return True
    if by_batch and any(map(text_lengths.is_of_model, meeting.given)):
        return True
    return in_files and text_lengths.is_written_by_token(facts, meeting.call)


def _proved(facts: ModuleFacts, meeting: _Meeting) -> Finding | None:
    """Tensors whose sizes the program names, and that are others on other ranks."""
    call = meeting.call
    found = next((s for value in meeting.given if (s := own_sizes.sizes(value, call.context.mask))), {})
    others = [rank for rank, size in found.items() if size != next(iter(found.values()))]
    if not others:
        return None
    first = next(iter(found))
    shown = " and ".join(f"{'x'.join(map(str, found[rank]))} on rank {rank}" for rank in (first, others[0]))
    message = f"{meeting.op} needs equal shapes, and this tensor has {shown}: pad it to the largest"
    return facts.finding(RULE, call.site, message, severity=Severity.ERROR, context=call.context)


def _of_share(facts: ModuleFacts, meeting: _Meeting, filled: list[Iteration]) -> Finding | None:
    """What a rank made of its share of data, where the shares differ in length."""
    shares = (own_sizes.share_behind(value, filled) for value in meeting.given)
    share = next((share for share in shares if share is not None), None)
    if share is None:
        return None
    message = Conditional(
        "unless all ranks have equally many, ",
        f"each rank has an entry here for each element of its own share of the data, and {meeting.op} needs equally "
        "many: gather the numbers and pad to the largest, or gather it as an object",
    )
    severity = Severity.HINT if share.of_batches else Severity.WARNING
    related = ((share.site, "filled here from the rank's share"),)
    call = meeting.call
    return facts.finding(RULE, call.site, message, related=related, severity=severity, context=call.context)


def _of_samples(facts: ModuleFacts, meeting: _Meeting, joined: joined_rows.Joined) -> Finding | None:
    """What has the rows of all samples of a batch, where the program's own function puts them together."""
    places = (joined_rows.behind(facts, joined, value) for value in meeting.given) if joined else ()
    place = next((place for place in places if place is not None), None)
    if place is None:
        return None
    message = Conditional(
        "unless every sample has equally many rows, ",
        "this has another number of them on each rank, those of all samples of the rank's batch, and "
        f"{meeting.op} needs equally many: gather the numbers and pad to the largest",
    )
    related = ((place, "the rows of the samples are put together here"),)
    call = meeting.call
    return facts.finding(RULE, call.site, message, related=related, severity=Severity.HINT, context=call.context)


def _meetings(facts: ModuleFacts) -> Iterator[_Meeting]:
    for path, given_at in collectives.OF_EQUAL_SHAPES.items():
        for call in facts.named(path):
            given = call.argument(given_at.position, given_at.name)
            if given is not None and not _are_told(call, given_at) and not _is_of_one_model(call, path):
                yield _Meeting(call, path.rpartition(".")[2], _each_of(given))
    for call in facts.methods(*frameworks.OF_EQUAL_SHAPES):
        as_object = call.keyword("use_gather_object")
        # a tensor has a method `gather`, too, with a dimension before
        alone = len(call.args) == 1 or (bool(call.args) and call.method == "all_gather")
        if alone and (as_object is None or as_object.constant is False):
            yield _Meeting(call, call.method, _each_of(call.args[0]))


def _each_of(given: Value) -> tuple[Value, ...]:
    if isinstance(given.object, Table):
        return tuple(value for _, value in given.object.entries)
    return given.object.items if isinstance(given.object, Items) else (given,)


def _is_of_one_model(call: CallEvent, path: str) -> bool:
    """Whether it is in a group of ranks that compute one model together, and have the same data."""
    spec = collectives.COLLECTIVES.get(path)
    position = spec.group if spec is not None else -1
    named = next((k.value for k in call.node.keywords if k.arg == "group"), None)
    if named is None and 0 <= position < len(call.node.args):
        named = call.node.args[position]
    return named is not None and heuristics.SHARES_MODEL.found_in(text_of(named))


def _are_told(call: CallEvent, given_at: collectives.Place) -> bool:
    """Whether the buffers of a gather may have sizes that were told before."""
    if not given_at.fills:
        return False
    filled = next((k.value for k in call.node.keywords if k.arg == given_at.fills), None)
    expected = call.argument(given_at.fills_at, given_at.fills)
    return expected is not None and not (isinstance(filled, ast.Constant) or _is_alike(expected))


def _is_alike(filled: Value) -> bool:
    """Whether the entries of a list were made as large as a tensor of this rank."""
    element = filled.object.element if isinstance(filled.object, Listed) else None
    made = element.object if element is not None else None
    return isinstance(made, Made) and (
        made.path.endswith("_like") or (bool(made.args) and all(map(_is_size, made.args)))
    )


def _is_size(value: Value) -> bool:
    """Whether it is `x.shape` or `x.size()`."""
    return isinstance(value.object, Method) and value.object.name in ("shape", "size")
