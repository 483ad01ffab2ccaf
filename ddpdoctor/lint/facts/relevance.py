"""Whether a file can take part in a distributed job at all, judged by the names in it.

Most files that mention torch.distributed only test whether it is available, or name a type of it. Nothing in them can
enter a collective, be a rank or load data for one, so they need not be simulated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.knowledge import aliases, collectives, frameworks, launchers, vocabulary
from ddpdoctor.lint.knowledge.packages import NEVER_LOCAL, Does, that
from ddpdoctor.program.modules import Module
from ddpdoctor.program.project import Project

_KNOWN = frozenset(that(Does.KNOWN))
#: attributes, methods and decorators that have one meaning on any object
_WORDS = (
    vocabulary.FIRST_RANK_ATTRIBUTES
    | vocabulary.FIRST_LOCAL_RANK_ATTRIBUTES
    | vocabulary.FIRST_RANK_DECORATORS
    | frameworks.FIRST_RANK_METHODS
    | frameworks.RANK_METHODS
    | collectives.DUCK_METHODS.keys()
    | {"local_rank"}
)
#: variables and options that a launcher sets, as strings in the program
_TEXTS = frozenset({
    *launchers.VARIABLES, *launchers.OPTIONS,
})  # fmt: skip
#: functions and classes of torch that only distributed jobs use
_TORCH = frozenset(
    path
    for path in (
        *collectives.COLLECTIVES, *vocabulary.RANK_CALLS, *vocabulary.LOCAL_RANK_CALLS, *frameworks.SPAWNING,
        aliases.SAMPLER, aliases.LOADER, aliases.FSDP, "torch.distributed.fsdp.fully_shard",
        "torch.utils.data.IterableDataset", "torch.utils.data.get_worker_info", "torch.utils.data.random_split",
    )
    if path.startswith("torch.")
)  # fmt: skip
#: modules that they are in: such a module may be passed on as an object
_MODULES = frozenset(path.rpartition(".")[0] for path in _TORCH if path.startswith("torch.distributed."))
_LAST = frozenset(path.rpartition(".")[2] for path in (*_TORCH, *_MODULES, *aliases.SPELLINGS))


def takes_part(module: Module, project: Project) -> bool:
    """Whether something in the file, or in a file of the project that it imports, can matter to a distributed job."""
    if not module.words.isdisjoint(_WORDS) or any(_foreign(module, project)):
        return True
    if any(node.value.__class__ is str and node.value in _TEXTS for node in module.of(ast.Constant)):
        return True
    return not module.words.isdisjoint(_LAST) and any(map(_of_a_job, _names(module)))


def _foreign(module: Module, project: Project) -> Iterator[bool]:
    """For each import, whether it gives a framework, a file of the project, or names that are not listed."""
    targets = [*module.imports.values(), *module.stars]
    targets += [alias.name for node in module.of(ast.Import) for alias in node.names]
    for target in dict.fromkeys(targets):
        head = target.partition(".")[0]
        if head not in NEVER_LOCAL:
            yield head in _KNOWN or project.has(target, module)
    for star in module.stars:
        yield star.startswith("torch.")


def _names(module: Module) -> Iterator[list[str]]:
    """Dotted names that are imported and used, as long as written: `dist.barrier`, not `dist`."""
    inner = {id(node.value) for node in module.of(ast.Attribute)}
    for node in (*module.of(ast.Name), *module.of(ast.Attribute)):
        if id(node) in inner:
            continue
        path = module.imported(node)
        if path:
            yield path.split(".")


def _of_a_job(parts: list[str]) -> bool:
    """Whether it is one of those functions or classes, a member of one, or a module of them that is passed on."""
    paths = [aliases.canonical(".".join(parts[: n + 1])) for n in range(len(parts))]
    return paths[-1] in _MODULES or not _TORCH.isdisjoint(paths)
