"""torch.load without map_location on every rank

## What it does
Finds `torch.load(path)` without `map_location` in a program that creates a process group which may use NCCL, an
`Accelerator`, or a `Trainer` of Lightning that is told of several ranks, beside `DistributedDataParallel(net,
device_ids=...)` in a class or function that each rank runs, and a function that ignores its own parameter
`map_location`. What goes into `load_state_dict` of an optimizer, perhaps beside a network's, is a warning, as the
program goes on from what it has saved, and so is what one rank of the same program is seen to save, to the same path or
under the same keys. What else is loaded is a hint, and the state of a scheduler or a sampler is not reported. A hint is
also a path that is an option of the program (`args.resume`) which no script or text of the repository passes that
starts it, one that is loaded only with such an option, and one that is called pretrained or by the name of a published
model. It is a hint, too, where nothing in the project saves weights, where nothing in it calls the function, and where
each command that starts the program starts one process on a machine, whose GPU 0 is its own, or the commands of the
repository start several ranks of nothing that uses the file. A load that a condition on the job chooses, or one on
whether the process has been given a device, beside one of the same file with map_location, is not reported, nor is one
under an option with which the program makes no group.

## Why it harms
Tensors return to the device from which they were saved. Every rank loads a checkpoint written by rank 0 onto GPU 0,
which runs out of memory or holds a CUDA context of each process.

## Example
```python
state = torch.load("last.pt")
```

## Use instead
```python
state = torch.load("last.pt", map_location="cpu")
```

## Fix safety
Safe: `map_location="cpu"` is added; `load_state_dict` copies to the parameters' own device.

## When it is wrong
When the checkpoint holds CPU tensors only.

## References
https://docs.pytorch.org/docs/stable/generated/torch.load.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from ddpdoctor.lint.facts import attendance, devices, exclusion, launch, loaded_states, paths
from ddpdoctor.lint.facts.loaded_states import Content
from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import frameworks, heuristics
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, RelatedRole, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import text_of

RULE = LintRule("DD173", "load-without-map-location", Severity.WARNING, advice='pass map_location, for example "cpu"')


_MESSAGE = "every rank loads onto the device from which the file was saved, usually GPU 0: set map_location"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Loads on all ranks without a device."""
    groups = facts.named(devices.GROUP)
    makers = [c for c in facts.named(frameworks.ACCELERATOR) if not _kept_on_cpu(c)]
    makers += launch.trainers_of_ranks(facts)
    # who wraps a network of one GPU in each process is run by all of them, wherever the group is made
    wraps = [c for c in facts.named(*DDP_PATHS) if devices.of_one_gpu(c)]
    on_gpus = _on_gpus(facts, groups) or bool(makers)
    for call in facts.named("torch.load"):
        placed = _is_told(call) or call.keyword("mmap") is not None or call.opaque
        alone = call.context.some_ranks_only or attendance.left_to_the_first(facts, call) or _for_one(facts, call)
        if placed or alone or _is_fallback(facts, call) or _own_file(call) or _put_together(facts, call):
            continue
        content = loaded_states.content_of(call)
        known = _knows_device(facts, call)
        in_job = (on_gpus and _in_the_job(facts, call, [*groups, *makers])) or _beside(call, wraps)
        if content is Content.PLAIN or not (known or in_job):
            continue
        ignored = known and _parameter(call) is not None
        resumed = _is_resumed(facts, call, content) and not _published(facts, call)
        severity = Severity.WARNING if ignored or resumed else Severity.HINT
        message = _MESSAGE if severity is Severity.WARNING else f"if the file holds tensors of a GPU, {_MESSAGE}"
        related = ((known, "here the device is known"),) if known else ()
        fix = _fix(facts, call, "map_location" if ignored else '"cpu"')
        asked = severity is Severity.WARNING and not ignored
        given = Unconfirmed(call.site, RelatedRole.UNSTARTED) if asked else None
        # of a helper, who gives it no device
        asked_by = call.context.chain[-1:] if call.argument(1, "map_location") is not None else ()
        yield facts.finding(
            RULE,
            next(iter(asked_by), call.site),
            message,
            related=related,
            fix=fix,
            context=call.context,
            severity=severity,
            unconfirmed=given,
        )


def _is_told(call: CallEvent) -> bool:
    """Whether the load is told a device; not by a parameter of a helper that is None where nobody gives it."""
    given = call.argument(1, "map_location")
    return given is not None and not (given.known and given.constant is None)


def _is_resumed(facts: ModuleFacts, call: CallEvent, content: Content) -> bool:
    """Whether the program goes on from a state that it has saved itself: an optimizer's, or what one rank is seen to
    save."""
    if content is not Content.WEIGHTS:
        return content is Content.OPTIMIZER
    saves = (
        s for s in facts.named("torch.save") if s.context.some_ranks_only or attendance.left_to_the_first(facts, s)
    )
    return loaded_states.is_saved_by(saves, call)


#: puts the parts of a distributed checkpoint together into one file, on the CPU
_PUTS_TOGETHER = "dcp_to_torch_save"


def _put_together(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the file is called by a name under which the program puts the parts of a checkpoint together."""
    modules = facts.modules
    makers = (m for m in modules if _PUTS_TOGETHER in m.words)
    made = (n for m in makers for n in m.of(ast.Call) if last_name(n.func) == _PUTS_TOGETHER and len(n.args) > 1)
    names = {str(name) for node in made for n in ast.walk(node.args[1]) if (name := _named(n))}
    path = call.node.args[0] if call.node.args else None
    return path is not None and any(_named(n) in names for n in ast.walk(path))


def _named(node: ast.AST) -> str:
    """A constant name or text in an expression, which tells one file from others."""
    if isinstance(node, ast.Name) and node.id.isupper():
        return node.id
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _published(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the file is called pretrained, or is loaded where something is: the CPU's tensors, as a rule."""
    named = [paths.spelled_out(call, call.node.args[0]), *_defaults(facts, call)] if call.node.args else []
    holding = (guard.text for guard in call.context.guards if guard.side)
    return heuristics.PUBLISHED.found_in_any([*named, *holding])


def _defaults(facts: ModuleFacts, call: CallEvent) -> Iterator[str]:
    """What the options in a path are where nobody gives them."""
    names = _options_in(call)
    modules = facts.modules
    yield from (option.default_text for m in modules for name in names for option in m.options.get(name, ()))


def _options_in(call: CallEvent) -> set[str]:
    """The attributes in a path, and in what its variables are assigned."""
    path = call.node.args[0]
    parts = [path, *(value for n in walk(path) if isinstance(n, ast.Name) for value in paths.assigned(call, n.id))]
    return {node.attr for part in parts for node in walk(part) if isinstance(node, ast.Attribute)}


def _for_one(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a condition on the job, or on the device that the process has, chooses between this load and one of the
    same file that is told the device."""
    path = text_of(call.node.args[0]) if call.node.args else ""
    about = {(g.site, g.side) for g in call.context.guards if _chooses(g.text)}
    for other in facts.named("torch.load") if about else ():
        same = bool(other.node.args) and text_of(other.node.args[0]) == path
        across = any((guard.site, not guard.side) in about for guard in other.context.guards)
        if same and across and other.argument(1, "map_location") is not None:
            return True
    return False


def _chooses(condition: str) -> bool:
    return heuristics.ABOUT_GROUP.found_in(condition) or heuristics.ASKS_FOR_DEVICE.found_in(condition)


def _is_fallback(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is a second attempt, where one that is told the device has failed."""
    return call.context.handler == "except" and any(
        other.context.handler == "try"
        and other.context.function is call.context.function
        and other.argument(1, "map_location") is not None
        for other in facts.named("torch.load")
    )


def _own_file(call: CallEvent) -> bool:
    """Whether each rank loads a file of its own, which it has saved from its own device."""
    return bool(call.node.args) and heuristics.PATH_OF_RANK.found_in(paths.spelled_out(call, call.node.args[0]))


def _on_gpus(facts: ModuleFacts, groups: list[CallEvent]) -> bool:
    """Whether the program trains on GPUs, as far as its groups tell: without a backend, or with one that is chosen
    elsewhere, there may be NCCL.
    """
    return bool(groups) and (
        any(devices.on_nccl(facts, group) and devices.texts_of(group, 0, "backend") for group in groups)
        or (not all(_no_gpu(group) for group in groups) and facts.suggests(heuristics.USES_GPU))
    )


def _kept_on_cpu(maker: CallEvent) -> bool:
    """Whether an Accelerator is told to use no GPU."""
    given = maker.keyword("cpu")
    return given is not None and given.constant is not False


def _no_gpu(group: CallEvent) -> bool:
    texts = devices.texts_of(group, 0, "backend")
    return bool(texts) and not any("nccl" in text.lower() for text in texts)


def _knows_device(facts: ModuleFacts, call: CallEvent) -> SourceSite | None:
    """Where the function that loads is told a device, which this load ignores: a parameter, or another load of it."""
    parameter = _parameter(call)
    if parameter is not None:
        return site_of(call.context.module, parameter)
    for other in facts.named("torch.load"):
        given = other.argument(1, "map_location")
        same = other.context.function is call.context.function is not None
        if same and given is not None and not given.known and launch.uses_framework(facts):
            return other.site
    return None


def _parameter(call: CallEvent) -> ast.arg | None:
    """The parameter `map_location` of its function, if nothing there reads it."""
    function = innermost_function(call.context.module.tree, call.site.line)
    if function is None:
        return None
    arguments = (*function.args.args, *function.args.kwonlyargs)
    found = next((a for a in arguments if a.arg == "map_location"), None)
    read = any(isinstance(n, ast.Name) and n.id == "map_location" for s in function.body for n in ast.walk(s))
    return None if read else found


def _in_the_job(facts: ModuleFacts, call: CallEvent, groups: list[CallEvent]) -> bool:
    """In this file, and not in the process that only spawns the ranks, or in another file that this one reaches after
    creating its group."""
    root = call.context.calls[:1]
    made = [group for group in groups if group.context.calls[:1] == root]
    if made and all(_excludes(call, group) for group in made):
        return False  # `if args.dist == "off":`, where the group is made under `if args.dist == "on":`
    if call.site.file == facts.module.path:
        spawns = [c for c in facts.named(*frameworks.SPAWNING) if c.context.calls[:1] == root]
        sites = {spawn.site for spawn in spawns}
        own = [c for c in (call, *groups) if c.context.calls[:1] == root and sites.isdisjoint(c.context.chain)]
        # who spawns ranks does not go the way on which one process is started for each
        groups = [c for c in own if c is not call and not any(map(partial(_excludes, c), spawns))]
        return not spawns or own[:1] != [call] or bool(groups)
    return any(group.index < call.index and group.context.calls[:1] == root for group in groups)


def _beside(call: CallEvent, wraps: list[CallEvent]) -> bool:
    """Whether the same run of a function wraps a network of one GPU in each process: all of them load."""
    return any(
        wrap.context.calls[:1] == call.context.calls[:1] and not wrap.context.from_script and not _excludes(call, wrap)
        for wrap in wraps
    )


def _excludes(one: CallEvent, other: CallEvent) -> bool:
    """Whether no run comes to both calls."""
    return exclusion.contradict([*one.context.guards, *other.context.guards])


def _fix(facts: ModuleFacts, call: CallEvent, device: str) -> Fix | None:
    told = len(call.node.args) > 1 or any(keyword.arg == "map_location" for keyword in call.node.keywords)
    if call.site.file != facts.module.path or not call.node.args or told:
        return None
    at = site_of(facts.module, call.node.args[-1])
    edit = Edit(at.end_line, at.end_column, at.end_line, at.end_column, f", map_location={device}")
    return Fix(Applicability.SAFE, (edit,))
