"""Data of which a rank of the job holds only its own share, and where that was taken."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import blocks, loaders
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.knowledge import aliases, heuristics
from ddpdoctor.lint.values import loader_join
from ddpdoctor.lint.values.abstract_objects import External, Instance, Items, Listed, Made, Method
from ddpdoctor.lint.values.tags import SHARES, Tag
from ddpdoctor.lint.values.values import RANK_NUMBERS, WORLD, Value, symbol_key
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

#: functions and methods whose result has the samples that they are given
_KEEPING = frozenset({
    "builtins.list", "builtins.tuple", "builtins.sorted", "torch.utils.data.Subset", "torch.utils.data.ConcatDataset",
    "torch.utils.data.TensorDataset", "datasets.Dataset.from_list", "datasets.Dataset.from_dict",
    "datasets.concatenate_datasets", "?.map", "?.filter", "?.select", "?.shuffle", "?.with_format", "?.with_transform",
    "?.decode", "?.to_tuple", "?.map_tuple", "?.map_dict", "?.batched", "?.compose", "?.with_epoch",
    "?.rename_column", "?.remove_columns", "?.select_columns", "copy", "map", "filter", "shuffle",
})  # fmt: skip
#: gives the part of a data set of Hugging Face's that one node, or rank, shall have
_SPLITTING = ("datasets.distributed.split_dataset_by_node", "datasets.split_dataset_by_node")
_SHARDING = "?.shard"
#: a stream of files of which each rank reads those that a splitter leaves to it
_STREAM, _SPLITTER, _BY_RANK = "webdataset.WebDataset", "nodesplitter", "split_by_node"
#: steps from a data set to what it was made of
_DEEPEST = 5


def of(facts: ModuleFacts, value: Value | None, depth: int = 0) -> SourceSite | None:
    """Where a rank takes its share of the data that is given; None if it does not, or maybe as one of another group
    than all ranks."""
    if value is None or depth > _DEEPEST or value.tags & Tag.MAYBE:
        return None
    site = _taken(facts, value)
    if site is not None:
        return site
    obj = value.object
    site = next((found for part in _given(obj) if (found := of(facts, part, depth + 1)) is not None), None)
    return site if site is not None or not isinstance(obj, Instance) else _kept(facts, value, obj)


def _kept(facts: ModuleFacts, value: Value, obj: Instance) -> SourceSite | None:
    """Where an object of the project takes its share, or is made to."""
    over = loaders.yielded(facts, value, obj)
    site = _taken(facts, over) if over is not None else None
    if site is not None or obj.site is None or _is_by_group(text_of(obj.info.node)):
        return site
    return obj.site if loaders.shard_tags(facts, value) & SHARES else None


def _given(obj: object) -> tuple[Value, ...]:
    """What a data set was made of."""
    if isinstance(obj, Items):
        return obj.items
    if isinstance(obj, Listed):
        return (obj.element,) if obj.element is not None else ()
    if isinstance(obj, Method):
        return (obj.receiver,) if obj.name in _KEEPING else ()
    if isinstance(obj, Instance) or (isinstance(obj, Made) and obj.path in _KEEPING):
        return (*obj.args, *(given for _, given in obj.keywords))
    return ()


def _taken(facts: ModuleFacts, value: Value) -> SourceSite | None:
    """Where the value itself is taken from what all ranks have."""
    key = symbol_key(value)
    share = facts.analysis.shares.get(key) if key is not None else None
    if share is not None:
        return share.site if share.sure or not _is_by_group(_reckoning(facts, share.site)) else None
    made = value.object
    if not isinstance(made, Made) or made.opaque:
        return None
    if made.path == "builtins.range":
        strided = len(made.args) == 3 and _is_rank(made.args[0]) and _is_number(made.args[2])
        return made.site if strided else None
    if made.path in _SPLITTING:
        sure = _is_rank(made.argument(1, "rank")) and _is_number(made.argument(2, "world_size"))
        return made.site if sure else None
    if made.path == _STREAM:
        splitter = made.keyword(_SPLITTER)
        given = splitter.object if splitter is not None else None
        return made.site if isinstance(given, External) and given.path.endswith(_BY_RANK) else None
    if made.path == _SHARDING:
        # the first is what has the method
        sure = _is_number(made.argument(1, "num_shards")) and _is_rank(made.argument(2, "index"))
        return made.site if sure else None
    return None


def _is_rank(value: Value | None) -> bool:
    return value is not None and bool(value.tags & Tag.RANK) and value.atoms == RANK_NUMBERS.atoms


def _is_number(value: Value | None) -> bool:
    return value is not None and bool(value.tags & Tag.WORLD) and value.constant == WORLD


def _reckoning(facts: ModuleFacts, site: SourceSite) -> str:
    """How a share is taken, as it is written: its line, and what the function assigns to the names in it."""
    module = blocks.module_of(facts, site)
    if module is None:
        return ""
    scope = innermost_function(module.tree, site.line) or module.tree
    lines = range(site.line, site.end_line + 1)
    parts: list[ast.AST] = [n for n in walk(scope) if isinstance(n, ast.expr) and n.lineno in lines]
    assigned = [n for n in walk(scope) if isinstance(n, ast.Assign) and len(n.targets) == 1]
    for _ in range(_DEEPEST):
        words = {last_name(n) for part in parts for n in walk(part) if isinstance(n, (ast.Name, ast.Attribute))}
        parts += [n.value for n in assigned if last_name(n.targets[0]) in words and n.value not in parts]
    return "\n".join(text_of(part) for part in parts if isinstance(part, ast.expr))


def _is_by_group(text: str) -> bool:
    """Whether shares may be those of nodes, or of groups of ranks."""
    return heuristics.DIVIDES_BY_GROUP.found_in(text)


def is_iterable(facts: ModuleFacts, value: Value | None) -> bool:
    """Whether a data set has no positions that a sampler could divide, or may have none."""
    obj = value.object if value is not None else None
    if isinstance(obj, Instance):
        return any(path.endswith("IterableDataset") for path in external_bases(facts.analysis, obj.info))
    return isinstance(obj, Made) and (obj.path in (*_SPLITTING, _STREAM) or obj.path.startswith("?."))


def of_sampler(facts: ModuleFacts, value: Value | None) -> SourceSite | None:
    """Where a sampler of torch, or of the project, takes the share of a rank."""
    made = loader_join.made_of(value)
    if value is None or value.tags & Tag.MAYBE:
        return None
    if made is not None and made.path == aliases.SAMPLER:
        return made.site if is_over_all(made) else None
    obj = value.object
    return _kept(facts, value, obj) if isinstance(obj, Instance) else None


def is_over_all(sampler: Made) -> bool:
    """Whether a DistributedSampler divides the data over all ranks of the job."""
    replicas, rank = sampler.argument(1, "num_replicas"), sampler.argument(2, "rank")
    whole = (replicas is None or _is_none(replicas) or _is_number(replicas)) and (
        rank is None or _is_none(rank) or _is_rank(rank)
    )
    return whole and not sampler.opaque


def _is_none(value: Value) -> bool:
    return value.known and value.constant is None
