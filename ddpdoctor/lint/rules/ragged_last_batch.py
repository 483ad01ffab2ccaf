"""A smaller last batch in a collective that needs equal sizes

## What it does
Finds a `DataLoader` without `drop_last=True` whose batches enter `all_gather`, `all_gather_into_tensor` or
`reduce_scatter` while the buffers have a fixed size, or while ranks may have batches of different sizes. Finds, too,
`accelerator.gather` and `gather_for_metrics` of something that has one entry for each token, such as
`inputs["attention_mask"]` or logits that are averaged right after, which no `pad_across_processes` has made equally
long; and collectives of tensors of which each rank's data decides how many elements they have: `x[x > 0.5]`,
`nonzero()`, `unique()`, a `torch.cat` of what a condition let into a list, or of a list with an entry for each element
of the rank's own share of the data (`files[rank::world_size]`), and texts that a model of transformers has generated,
which end with the longest one of the rank.

## Why it harms
The last batch of an epoch is smaller. A gather into buffers that were created before the loop then fails with a size
error at the end of the first epoch. If only some ranks have the smaller batch, gloo aborts and NCCL hangs or mixes up
data. Batches of text are padded to the longest text in them, so every rank has tensors of another length.

## Example
```python
parts = [torch.empty(64, 128) for _ in range(world_size)]
for batch in DataLoader(data, batch_size=64, sampler=sampler):
    dist.all_gather(parts, model(batch))
```

## Use instead
```python
for batch in DataLoader(data, batch_size=64, sampler=sampler, drop_last=True):
    dist.all_gather(parts, model(batch))
```
Of what has another length on each rank, gather the sum or the mean, as in `accelerator.gather(mask.sum())`, pad it to
the largest of the gathered sizes, or gather it as an object.

## Fix safety
Unsafe: `drop_last=True` omits up to one batch of samples per epoch.

## When it is wrong
When the length of the data set is a multiple of the batch size times the number of ranks. `DistributedSampler` gives
every rank equally many samples, so with it, buffers of each batch's own size are right and not reported. Where all
texts have one length, padded or packed, what belongs to the tokens can be gathered: it is not reported where every
tokenizer in the files that the program uses is called with `padding="max_length"` and `truncation`.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ddpdoctor.lint.facts import edits, loaders
from ddpdoctor.lint.facts.loaders import Share
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter import loop_extent
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop, Iteration
from ddpdoctor.lint.knowledge import heuristics, vocabulary
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Instance, Items, Listed, Made, Method
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD110",
    "ragged-last-batch",
    Severity.WARNING,
    advice="pass drop_last=True, or gather sums and counts instead of batches",
)

#: collectives whose second argument must have one size on all ranks
_EQUAL_SIZES = tuple(
    f"torch.distributed.{row.name}"
    for row in c10d.FUNCTIONS.values()
    if row.equal_sizes and row.position(row.gives) == 1
)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives of equal sizes on data of a batch that may be ragged."""
    for call in facts.named(*_EQUAL_SIZES):
        given = call.argument(1, "tensor") or call.argument(1, "input_tensor") or call.argument(1, "input")
        if given is None or not _grows_with_batch(given):
            continue
        for loop in call.context.loops:
            loader = loaders.loader_of(loop.over)
            if loader is None or not _ragged(loader):
                continue
            if _is_even(facts, loop) and not _is_of_full_batches(facts, call, loop):
                continue
            yield _finding(facts, call, loader)
    yield from _of_tokens(facts)
    yield from _of_picked(facts)
    yield from _of_shares(facts)


#: operation -> position and name of what each rank gives to it, of equal sizes, and of the list that it fills
_GIVEN = {
    f"torch.distributed.{row.name}": ((row.position(row.gives), row.gives), row.overwrites)
    for row in c10d.FUNCTIONS.values()
    if row.equal_sizes and row.gives
}
#: functions whose result has as many elements as the data decides
_PICKING = frozenset(f"torch.{name}" for name in vocabulary.PICKING)
#: functions that make one tensor of a list
_JOINING = frozenset({
    *(f"torch.{name}" for name in ("cat", "concat", "concatenate", "stack", "tensor", "as_tensor")),
    *(f"numpy.{name}" for name in ("concatenate", "stack", "vstack", "hstack", "array", "asarray")),
})  # fmt: skip
#: methods and functions whose result has the elements of their tensor, or as many
_KEEPING = frozenset({
    "cuda", "cpu", "to", "float", "double", "half", "long", "int", "contiguous", "detach", "clone", "numpy", "flatten",
    "squeeze", "unsqueeze", "narrow", "sigmoid", "softmax", "exp", "log", "abs", "torch.from_numpy", "torch.as_tensor",
    "torch.tensor", "torch.sigmoid", "torch.exp", "torch.log",
})  # fmt: skip


def _of_shares(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives of what the ranks made of shares of data that differ in length."""
    filled = _filled_by_shares(facts)
    for call in facts.named(*_GIVEN):
        given = call.argument(*_GIVEN[call.path][0])
        if given is not None and not _are_told(call):
            yield from _of_share(facts, call, (given,), filled)
    for call in facts.methods("gather", "gather_for_metrics"):
        # a tensor has a method of that name, too, with a dimension before
        if len(call.args) == 1:
            yield from _of_share(facts, call, _each_of(call.args[0]), filled)


def _of_share(
    facts: ModuleFacts, call: CallEvent, given: tuple[Value, ...], filled: list[Iteration]
) -> Iterator[Finding | None]:
    share = next((share for value in given if (share := _share_behind(value, filled)) is not None), None)
    if share is None:
        return
    op = call.method or call.path.rpartition(".")[2]
    message = Conditional(
        "unless all ranks have equally many, ",
        f"each rank has an entry here for each element of its own share of the data, and {op} needs equally many: "
        "gather the numbers and pad to the largest, or gather it as an object",
    )
    severity = Severity.HINT if share.of_batches else Severity.WARNING
    related = ((share.site, "filled here from the rank's share"),)
    yield facts.finding(RULE, call.site, message, related=related, severity=severity, context=call.context)


class _Share(NamedTuple):
    """Where a list gets an element for each one of a rank's share of the data."""

    site: SourceSite
    #: from a loader, of data that is most often chosen so that it divides evenly
    of_batches: bool


def _filled_by_shares(facts: ModuleFacts) -> list[Iteration]:
    """Loops over shares of data that may be longer on some ranks."""
    return [
        iteration for iteration in facts.iterations
        if iteration.loop.over is not None
        and not loop_extent.limited(iteration.loop)
        and loaders.share_of(facts, iteration.loop.over) is Share.CUT
    ]  # fmt: skip


def _made_of(value: Value) -> tuple[str, Value | None]:
    """The function or method that a value comes from, and what that was given first: ("cat", the list)."""
    obj = value.object
    if isinstance(obj, Method):
        return obj.name, obj.receiver
    if isinstance(obj, Made) and obj.args:
        return obj.path.removeprefix("?."), obj.args[0]
    return "", None


def _share_behind(value: Value, filled: list[Iteration], depth: int = 0) -> _Share | None:
    """The list with an element for each one of a rank's share that a tensor is made of."""
    name, of = _made_of(value)
    if of is None:
        return None
    if name not in _JOINING or not isinstance(of.object, Listed):
        return _share_behind(of, filled, depth + 1) if name in _KEEPING and depth < _DEEPEST else None
    if of.tags & Tag.FILLED_UP:
        return None
    if of.tags & Tag.SHARD:
        return _Share(of.object.site, of_batches=False)
    listed = of.object
    loop = next((one.loop for one in filled if _is_within(listed, one)), None)
    return _Share(loop.site, loaders.loader_of(loop.over) is not None) if loop is not None else None


def _is_within(listed: Listed, iteration: Iteration) -> bool:
    """Whether a list was added to in a loop, and nowhere further inside."""
    loop = iteration.loop.site
    inside = listed.site.file == loop.file and loop.line <= listed.site.line <= loop.end_line
    return inside and isinstance(iteration.loop.node, (ast.For, ast.AsyncFor)) and _adds(iteration.loop.node, listed)


def _adds(loop: ast.For | ast.AsyncFor, listed: Listed) -> bool:
    """Whether the loop adds to a list in each turn, where the list has its last element from."""
    return any(
        isinstance(node, ast.Call) and last_name(node.func) == "append" and node.lineno == listed.site.line
        for node in walk(loop)
    )


def _are_told(call: CallEvent) -> bool:
    """Whether the buffers of a gather may have sizes that were told before."""
    if not call.path:
        return False
    filled = _GIVEN[call.path][1]
    expected = call.argument(0, filled) if filled.endswith("_list") else None
    return expected is not None and not _is_alike(expected)


def _of_picked(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Collectives of tensors whose size each rank decides by its data."""
    for call in facts.named(*_GIVEN):
        (position, name), _ = _GIVEN[call.path]
        given = call.argument(position, name)
        if given is None or not _is_picked(given) or _are_told(call):
            continue
        yield _unequal(facts, call, call.path.rpartition(".")[2])
    for call in facts.methods("gather", "gather_for_metrics"):
        # a tensor has a method of that name, too, with a dimension before
        if len(call.args) == 1 and any(map(_is_picked, _each_of(call.args[0]))):
            yield _unequal(facts, call, call.method)


def _each_of(given: Value) -> tuple[Value, ...]:
    return given.object.items if isinstance(given.object, Items) else (given,)


def _unequal(facts: ModuleFacts, call: CallEvent, op: str) -> Finding | None:
    message = (
        f"each rank decides by its own data how many elements this has, and {op} needs equally many: pad it to the "
        "largest, or gather it as an object"
    )
    return facts.finding(RULE, call.site, message, context=call.context)


def _is_picked(value: Value, depth: int = 0) -> bool:
    """Whether this rank's data decides how many elements a tensor has."""
    obj = value.object
    name, of = _made_of(value)
    if of is None:
        return False
    if name in vocabulary.PICKING or name in _PICKING:
        return of.taint is Taint.RANK_LOCAL
    if name == "generate" and isinstance(obj, Made):
        return _is_of_own_length(obj)
    if name in _JOINING and isinstance(of.object, Listed):
        element = of.object.element
        uneven = bool(of.tags & Tag.UNEVEN) and not of.tags & Tag.FILLED_UP
        return uneven or (element is not None and _is_picked(element, depth + 1))
    return name in _KEEPING and depth < _DEEPEST and _is_picked(of, depth + 1)


#: what tells a model of transformers how long a text may become, and what makes all equally long
_LONGEST = frozenset({"max_new_tokens", "max_length", "generation_config"})
_EQUAL = frozenset({"min_new_tokens", "min_length", "synced_gpus"})


def _is_of_own_length(made: Made) -> bool:
    """Whether it is a text of a model of transformers, which ends where the last one of this rank's batch does."""
    given = dict(made.keywords)
    # texts that a tokenizer has prepared, or a batch of them, tell nothing about lengths
    settings = [value for name, value in made.keywords if name in ("*", "**") and not _is_batch(value)]
    return bool(_LONGEST & given.keys()) and not _EQUAL & given.keys() and not settings


def _is_batch(value: Value) -> bool:
    made = value.object
    moved = isinstance(made, Method) and made.name in _KEEPING
    return moved or bool(value.tags & Tag.BATCH) or (isinstance(made, Made) and made.path.startswith("?."))


#: methods of methods that are followed
_DEEPEST = 8


def _is_alike(filled: Value) -> bool:
    """Whether the entries of a list were made as large as a tensor of this rank."""
    element = filled.object.element if isinstance(filled.object, Listed) else None
    made = element.object if element is not None else None
    return isinstance(made, Made) and made.path.endswith("_like")


#: how Accelerate is told to leave the last batches as they are
_UNEVEN_WORD = "even_batches"


def _is_even(facts: ModuleFacts, loop: EnclosingLoop) -> bool:
    """Whether every rank gets as many samples in each batch, or may: from a sampler for several ranks, one of the
    program's own, or because Accelerate fills up the last batches."""
    given = loaders.given_sampler(loop.over)
    if loaders.sampler_of(loop.over) is not None or (given is not None and isinstance(given.object, Instance)):
        return True
    prepared = loop.over is not None and bool(loop.over.tags & Tag.PREPARED)
    return prepared and not any(_UNEVEN_WORD in m.words for m in (facts.module, *facts.analysis.reached.values()))


def _of_tokens(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Gathers of what has an entry for each token, in a batch that each rank pads on its own."""
    if not heuristics.PADS_TEXTS.found_in(facts.module.text) or _padded_alike(facts):
        return
    for call in facts.methods("gather_for_metrics", "gather"):
        if call.site.file != facts.module.path or not call.node.args or not _by_accelerate(call.node):
            continue
        if not _by_token(call.node.args[0], reduced=_reduced(facts, call.node)) or _of_one_length(facts, call):
            continue
        message = (
            "unless all ranks pad their texts to one length, this has another size on each rank, and the gather hangs "
            "or fails: gather its sum or mean, or use pad_across_processes"
        )
        yield facts.finding(RULE, call.site, message, context=call.context)


def _padded_alike(facts: ModuleFacts) -> bool:
    """Whether the files in reach pad texts, and all to a length that does not depend on the texts."""
    modules = (facts.module, *facts.analysis.reached.values())
    padding = [call for module in modules for call in module.of(ast.Call) if _given(call, "padding") is not None]
    return bool(padding) and all(map(_to_a_length, padding))


def _to_a_length(call: ast.Call) -> bool:
    """Whether a tokenizer makes shorter texts longer and longer ones shorter, to a length that nothing computes."""
    padding, cut, length = (_given(call, name) for name in ("padding", "truncation", "max_length"))
    longer = isinstance(padding, ast.Constant) and padding.value == "max_length"
    shorter = cut is not None and not (isinstance(cut, ast.Constant) and not cut.value)
    return longer and shorter and (length is None or not any(isinstance(n, ast.Call) for n in walk(length)))


def _given(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _of_one_length(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the function pads for the gather, or makes a number of what it gathers before."""
    function = innermost_function(facts.module.tree, call.site.line)
    if function is None:
        return False
    name = text_of(call.node.args[0])
    numbers = (
        n for n in walk(function) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
        and n.lineno < call.site.line and last_name(n.value.func) in _REDUCING
    )  # fmt: skip
    reduced = any(text_of(target) == name for n in numbers for target in n.targets)
    return reduced or heuristics.ONE_LENGTH.found_in(text_of(function))


def _by_accelerate(node: ast.Call) -> bool:
    """Whether it is a gather of an `Accelerator`: a tensor has a method of that name, too."""
    if not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "gather_for_metrics" or last_name(node.func.value) == "accelerator"


def _by_token(node: ast.expr, *, reduced: bool) -> bool:
    """Whether it is an entry of a batch of texts, or logits that are only wanted for their mean."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value in vocabulary.TOKEN_ENTRIES
    return reduced and heuristics.TOKEN_LOGITS.found_in(last_name(node))


def _reduced(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether one number is made of the result at once: `gather(x).detach().mean()`."""
    parents = facts.parents
    while isinstance(method := parents.get(node), ast.Attribute) and isinstance(parents.get(method), ast.Call):
        if method.attr in ("mean", "sum"):
            return True
        node = parents[method]
    return False


#: the size of their result does not depend on the batch
_REDUCING = frozenset({
    "mean", "sum", "item", "norm", "max", "min", "amax", "amin", "std", "var", "median", "prod", "any", "all", "numel",
    "size", "tensor", "loss", "cross_entropy", "mse_loss", "nll_loss", "l1_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "smooth_l1_loss", "ones", "zeros", "full", "t", "T", "bincount",
    "histc", "len", "count_nonzero", "shape",
})  # fmt: skip


def _grows_with_batch(value: Value, depth: int = 0) -> bool:
    """The tensor is a batch, or the output of a network or mapping function for one."""
    obj = value.object
    if isinstance(obj, Items):
        return any(_grows_with_batch(item, depth + 1) for item in obj.items)
    if depth > _DEEPEST or not isinstance(obj, (Made, Method)):
        return value.tags & (Tag.BATCH | Tag.LENGTH) == Tag.BATCH
    name = obj.name if isinstance(obj, Method) else obj.path.rpartition(".")[2]
    if name in _REDUCING or "loss" in name.lower():
        return False
    if isinstance(obj, Method) and name == "__call__":
        called = obj.receiver.object  # a network, or a criterion
        return bool(value.tags & Tag.BATCH) and not (isinstance(called, Made) and "loss" in called.path.lower())
    if isinstance(obj, Method):
        return _grows_with_batch(obj.receiver, depth + 1)
    criterion = name == "__call__" and len(obj.args) > 2
    return not criterion and any(_grows_with_batch(v, depth + 1) for v in obj.args)


def _ragged(loader: Made) -> bool:
    """The last batch is kept, and batches have more than one sample."""
    size = loader.argument(1, "batch_size")
    single = size is None or (size.known and size.constant == 1)
    batches = loader.argument(4, "batch_sampler")
    return loaders.drops_last(loader, 8) is False and not single and batches is None


#: make a tensor of the size that they are given
_SIZED = frozenset({"torch.zeros", "torch.empty", "torch.ones"})


def _is_of_full_batches(facts: ModuleFacts, call: CallEvent, loop: EnclosingLoop) -> bool:
    """Whether the output buffer was created outside the loop, or by numbers: for full batches."""
    output = call.argument(0, "output_tensor") or call.argument(0, "tensor_list")
    obj = output.object if output is not None else None
    if not isinstance(obj, (Made, Listed)):
        return False
    first, last = (obj.site.line, obj.site.column), (obj.site.end_line, obj.site.end_column)
    making = [c for c in facts.calls if c.site.file == obj.site.file
              and first <= (c.site.line, c.site.column) and (c.site.end_line, c.site.end_column) <= last]  # fmt: skip
    by_numbers = any(c.path in _SIZED and c.args and all(size.known for size in c.args) for c in making)
    return by_numbers or (bool(making) and not any(t.node is loop.node for c in making for t in c.context.loops))


def _finding(facts: ModuleFacts, call: CallEvent, loader: Made) -> Finding | None:
    op = call.path.rpartition(".")[2]
    message = f"the last batch of this loader can be smaller, and {op} needs equal sizes: set drop_last=True or pad"
    related = ((call.site, f"{op} of data from each batch"), (loader.site, "the loader"))
    here = loader.site if loader.site.file == facts.module.path else call.site
    return facts.finding(RULE, here, message, related=related, fix=_fix(facts, loader), context=call.context)


def _fix(facts: ModuleFacts, loader: Made) -> Fix | None:
    node = loader.node
    if node is None or loader.site.file != facts.module.path or loader.keyword("drop_last") is not None:
        return None
    return Fix(Applicability.UNSAFE, (edits.with_argument(facts.module, node, "drop_last=True"),))
