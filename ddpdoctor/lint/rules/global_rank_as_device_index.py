"""The global rank used as a device index

## What it does
Finds the global rank used as a CUDA device index: `torch.cuda.set_device(rank)`, `DDP(device_ids=[rank])`,
`torch.device("cuda", rank)`, `FSDP(device_id=rank)`, `torch.load(map_location=f"cuda:{rank}")`,
`from_pretrained(device_map={"": rank})`, and, if the file contains none of these, `.to(rank)`. It is a hint: on a
single node the two ranks are the same, and at first looks no program came to harm that its texts start on several.
Where the file is not told of nodes (`--nnodes`, `node_rank`, Slurm's variables), it is one hint for the file. A
function that returns `f"cuda:{index}"`, where the index may be the rank, is treated alike.

## Why it harms
On the second node the ranks continue to count, but the devices start again at 0: invalid device ordinal.

## Example
```python
torch.cuda.set_device(dist.get_rank())
```

## Use instead
```python
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
```

## Fix safety
No automatic fix.

## When it is wrong
Not reported are: a rank passed by `mp.spawn`, which is local to its node; `rank % device_count()`; a script whose
rendezvous is localhost, which therefore runs on one node, unless it looks up the machines of a Slurm job; and tests.

## References
https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import launch
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.lint.values.abstract_objects import Items, Table
from ddpdoctor.lint.values.tags import ANY_RANK, Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, WORLD, Value
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import walk

RULE = LintRule("DD143", "global-rank-as-device-index", Severity.HINT, advice="use LOCAL_RANK for devices")


_DEVICE = {
    "torch.cuda.set_device": (0, "device"), "torch.device": (1, "index"), "torch.cuda.device": (0, "device"),
    aliases.FSDP: (-1, "device_id"), "torch.distributed.init_process_group": (-1, "device_id"),
    "torch.load": (1, "map_location"),
}  # fmt: skip
_MESSAGE = "this is the global rank, and a second node has no such device: use LOCAL_RANK"
_IF_SEVERAL = Conditional("if this is ever started on two nodes, ", _MESSAGE)


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Device indices that are the rank itself, in a script that may run on more than one node."""
    named, found = list(_named_after(facts.module)), list(_chosen(facts))
    found = found or _moved(facts)[:1]
    if (not named and not found) or launch.one_node_only(facts):
        return
    several = launch.told_of_nodes(facts)
    message = _MESSAGE if several else _IF_SEVERAL
    for node in named:
        yield facts.finding(RULE, node, message)
    for call in found:
        finding = facts.finding(RULE, call.site, message, context=call.context)
        yield finding
        if finding is not None and not several:
            return  # on how many nodes the processes are started is determined once


def _named_after(module: Module) -> Iterator[ast.AST]:
    """`f"cuda:{rank}"` as a result, where the rank is one of several things that the variable can be."""
    for node in module.of(ast.Return):
        text = node.value
        if not isinstance(text, ast.JoinedStr) or len(text.values) != 2:
            continue
        start, index = text.values
        if not (isinstance(start, ast.Constant) and start.value == "cuda:" and isinstance(index, ast.FormattedValue)):
            continue
        function = innermost_function(module.tree, node.lineno)
        if (
            function is not None
            and isinstance(index.value, ast.Name)
            and _may_be_rank(module, function, index.value.id)
        ):
            yield node


def _may_be_rank(module: Module, function: ast.AST, name: str) -> bool:
    """Whether a variable is assigned the rank in the job, without a look at how many devices the machine has."""
    nodes = walk(function)
    if any(isinstance(n, ast.Attribute) and n.attr == "device_count" for n in nodes):
        return False
    return any(
        isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
        and isinstance(n.value, ast.Call) and module.imported(n.value.func) == "torch.distributed.get_rank"
        for n in nodes
    )  # fmt: skip


def _chosen(facts: ModuleFacts) -> Iterator[CallEvent]:
    """Where a process states which device it uses."""
    for path, (position, name) in _DEVICE.items():
        for call in facts.named(path):
            if _global_rank(call.argument(position, name)):
                yield call
    yield from _mapped(facts)
    for call in facts.named("torch.device"):
        if _global_rank(call.argument(0, "type")):
            yield call
    for call in facts.named("torch.nn.parallel.DistributedDataParallel"):
        devices = call.argument(1, "device_ids")
        items = devices.object.items if devices is not None and isinstance(devices.object, Items) else ()
        if any(_global_rank(item) for item in items):
            yield call


def _mapped(facts: ModuleFacts) -> Iterator[CallEvent]:
    """Where weights are loaded to the devices that a dict names."""
    for call in facts.calls:
        placed = call.keyword("device_map") if (call.path or call.method).endswith("from_pretrained") else None
        if call.path == "torch.load":
            placed = call.argument(1, "map_location")
        if placed is not None and isinstance(placed.object, Table) and any(map(_global_rank, _held(placed.object))):
            yield call


def _held(table: Table) -> list[Value]:
    return [*(value for _, value in table.entries), *([table.rest] if table.rest is not None else [])]


def _moved(facts: ModuleFacts) -> list[CallEvent]:
    """What is put on the device of that number; the first stands for all."""
    moves = [c for c in facts.methods("to", "cuda") if _global_rank(c.argument(0, "device"))]
    return sorted(moves, key=lambda call: call.index)


def _global_rank(value: Value | None) -> bool:
    """The rank itself, or the device that is called by it."""
    if value is None or value.tags & (ANY_RANK | Tag.SPAWNED) != Tag.RANK:
        return False
    return value.atoms in (RANK_NUMBERS.atoms, tuple(f"cuda:{rank}" for rank in range(WORLD)))
