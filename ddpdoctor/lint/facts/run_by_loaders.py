"""What the data sets do that loaders are given: nothing in the program calls their methods, but the loaders do."""

from __future__ import annotations

from collections.abc import Iterator

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.classes import find_method
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values.abstract_objects import Function, Instance, Made
from ddpdoctor.lint.values.tags import ANY_RANK
from ddpdoctor.lint.values.values import Value, unknown
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.imports import imported
from ddpdoctor.program.modules import FunctionInfo, Module

#: methods that a loader calls, and how many arguments they are given
_RUN = {"__iter__": 0, "__getitem__": 1}
#: data sets that hold another one
_HOLDERS = (".Subset", ".ConcatDataset")
#: data sets in one another that are looked into
_DEEPEST = 4


class RunByLoaders(NamedTuple):
    """What data sets call, and the names under which objects keep numbers of the rank meanwhile."""

    calls: list[CallEvent]
    by_rank: frozenset[str]


def named(facts: ModuleFacts, path: str) -> RunByLoaders:
    """The calls of this function, by its dotted name, in what loaders run of data sets, and in what these call. A data
    set is run only if its file, or one that it imports, has the function's name in it."""
    word = path.rpartition(".")[2]
    calls: list[CallEvent] = []
    by_rank: set[str] = set()
    seen: set[tuple[FunctionInfo, Value]] = set()
    for loader in facts.named(aliases.LOADER):
        for data in _data(loader.argument(0, "dataset")):
            for method, args in _methods(facts, data, word):
                if (method, data) in seen:
                    continue
                seen.add((method, data))
                aside = facts.analysis.run_aside(Function(method, data), args, loader)
                calls += (call for call in aside.calls if call.path == path)
                by_rank.update(name for (_, name), kept in aside.heap.items() if kept.tags & ANY_RANK)
    return RunByLoaders(calls, frozenset(by_rank))


def _data(value: Value | None, depth: int = _DEEPEST) -> Iterator[Value]:
    """Objects of the project that a loader's data set consists of."""
    obj = value.object if value is not None else None
    if value is not None and isinstance(obj, Instance):
        yield value
    elif isinstance(obj, Made) and obj.path.endswith(_HOLDERS) and obj.args and depth:
        yield from _data(obj.args[0], depth - 1)


def _methods(facts: ModuleFacts, data: Value, word: str) -> Iterator[tuple[FunctionInfo, tuple[Value, ...]]]:
    info = data.object.info
    if not any(word in module.words for module in _files(facts, info.module)):
        return
    for name, count in _RUN.items():
        method = find_method(facts.analysis, info, name)
        if method is not None:
            yield method, (unknown("index", id(info)),) * count


def _files(facts: ModuleFacts, module: Module) -> Iterator[Module]:
    """A file, and those of the project that it imports."""
    yield module
    package = module.path.endswith("/__init__.py")
    for name in imported(module.text, module.name, package=package):
        more = facts.analysis.project.find(name, module)
        if more is not None:
            yield more
