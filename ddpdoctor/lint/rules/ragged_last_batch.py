"""A smaller last batch in a collective that needs equal sizes

## What it does
Finds a `DataLoader` without `drop_last=True` whose batches enter `all_gather`, `all_gather_into_tensor` or
`reduce_scatter` while the buffers have a fixed size, or while ranks may have batches of different sizes. Of tensors
whose size is as the rank's own data decides, DD157 tells.

## Why it harms
The last batch of an epoch is smaller. A gather into buffers that were created before the loop then fails with a size
error at the end of the first epoch. If only some ranks have the smaller batch, gloo aborts and NCCL hangs or mixes up
data.

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
## Fix safety
Unsafe: `drop_last=True` omits up to one batch of samples per epoch.

## When it is wrong
When the length of the data set is a multiple of the batch size times the number of ranks. `DistributedSampler` gives
every rank equally many samples, so with it, buffers of each batch's own size are right and not reported. Nor are
buffers for one number, which take no batch.

## References
https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import edits, loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, EnclosingLoop
from ddpdoctor.lint.knowledge import vocabulary
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values import containers
from ddpdoctor.lint.values.abstract_objects import Items, Listed, Made, Method
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Applicability, Finding, Fix, Severity
from ddpdoctor.program.nodes import names_in, walk

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
        if given is None or not _grows_with_batch(given) or _takes_one_number(call):
            continue
        for loop in call.context.loops:
            loader = loaders.loader_of(loop.over)
            if loader is None or not _ragged(loader):
                continue
            if not _parts_the_ranks(facts, loop) and not _is_of_full_batches(facts, call, loop):
                continue
            if not _told_sizes(facts, call):
                yield _finding(facts, call, loader)


def _told_sizes(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the ranks tell each other their sizes before, in the same function: it then fills up to the largest."""
    function = call.context.function
    if function is None:
        return False
    assigned = [node for node in walk(function.node) if isinstance(node, ast.Assign)]
    for other in facts.named(*_EQUAL_SIZES, "torch.distributed.all_reduce", "torch.distributed.all_gather_object"):
        if other.index < call.index and other.context.chain == call.context.chain:
            names = names_in(other.node)
            made = (node.value for node in assigned if any(names & names_in(target) for target in node.targets))
            if any(_reads_size(part) for value in made for part in walk(value)):
                return True
    return False


def _reads_size(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in (*vocabulary.SIZES, "shape")


#: methods of methods that are followed
_DEEPEST = 8


#: how Accelerate is told to leave the last batches as they are
_UNEVEN_WORD = "even_batches"


def _parts_the_ranks(facts: ModuleFacts, loop: EnclosingLoop) -> bool:
    """Whether a last batch is smaller on some ranks only: they have shares of different lengths, of which Accelerate
    fills up the last batches unless it is told not to."""
    if loop.over is None:
        return False
    if loop.over.tags & Tag.PREPARED:
        return any(_UNEVEN_WORD in m.words for m in facts.modules)
    return loaders.share_of(facts, loop.over) is not None


def _grows_with_batch(value: Value, depth: int = 0) -> bool:
    """The tensor is a batch, or the output of a network or mapping function for one."""
    obj = value.object
    if isinstance(obj, Items):
        return any(_grows_with_batch(item, depth + 1) for item in obj.items)
    if depth > _DEEPEST or not isinstance(obj, (Made, Method)):
        return value.tags & (Tag.BATCH | Tag.LENGTH) == Tag.BATCH
    name = obj.name if isinstance(obj, Method) else obj.path.rpartition(".")[2]
    if name in vocabulary.REDUCING or "loss" in name.lower():
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


def _takes_one_number(call: CallEvent) -> bool:
    """Whether each buffer is for one number, which is all that any rank can give: the loss of a batch."""
    buffers = call.argument(0, "tensor_list")
    listed = buffers.object if buffers is not None else None
    first = listed.element if isinstance(listed, Listed) else None
    if isinstance(listed, Items) and listed.items:
        first = listed.items[0]
    made = first.object if first is not None else None
    while isinstance(made, Method):
        made = made.receiver.object  # `torch.zeros(1).cuda()`
    if not isinstance(made, Made) or not made.args:
        return False
    if made.path == "torch.tensor":
        return type(made.args[0].constant) in (int, float, bool)
    sizes = [size for given in made.args for size in containers.parts_of(given) or (given,)]
    return made.path in _SIZED and all(size.constant in (1, ()) for size in sizes)


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
