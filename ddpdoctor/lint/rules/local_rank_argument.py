"""A script that accepts only --local_rank

## What it does
Finds `add_argument("--local_rank")` without `--local-rank`, where neither the file nor a file that it uses reads
LOCAL_RANK, or where the script puts the option into LOCAL_RANK itself. A file that only reads LOCAL_RANK is a hint: it
works under torchrun, and not under the old launcher of torch 2. It is a warning all the same where a script or text of
the repository starts it with the old launcher. So is one that fills it, unless the scripts and texts say how programs
are started, and not this one in that way. A program that they start otherwise, or not at all while they start others
with a launcher, is a hint.
It is an error where a shell script of the repository starts this very file with the old launcher, the file ends at
options that it does not know, and no text of the repository asks for torch 1. Where one does it is a hint: that torch
passes the underscore.

## Why it harms
Since torch 2.0 the old launcher passes `--local-rank`, and the script ends with "unrecognized arguments". torchrun
passes nothing: `local_rank` keeps its default on every rank, and all ranks use device 0.

## Example
```python
parser.add_argument("--local_rank", type=int, default=0)
```

## Use instead
```python
parser.add_argument("--local-rank", "--local_rank", type=int, default=int(os.environ.get("LOCAL_RANK", 0)))
```

## Fix safety
Unsafe: the other spelling is added; the source of the value is not changed.

## When it is wrong
DeepSpeed's launcher passes `--local_rank`; files that use it are not reported, and what scripts and texts start only
with it, or as one process, is a hint. So is a program that they start otherwise than with the old launcher where
neither it nor a file that it imports reads the option, but perhaps to keep it elsewhere under the same name.

A program that parses with `parse_known_args` only goes on without an option that it does not know. It is reported only
where the option then has a fixed default, and nothing reads LOCAL_RANK: each rank then uses the same device.

Not reported are programs that need torch 1, because they import what torch 2 does not have, or a file of the project
that does. A program that has its rank from Slurm or Horovod, too, is a hint where no text starts it with the old
launcher.

## References
https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set

from ddpdoctor.lint.facts import launch
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import heuristics, packages
from ddpdoctor.lint.knowledge.renames import GONE
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model.finding import Applicability, Edit, Finding, Fix, RelatedRole, Severity
from ddpdoctor.program.modules import Module
from ddpdoctor.program.options import Option, declared_by, renamed_in
from ddpdoctor.program.sites import site_of
from ddpdoctor.program.text import text_of

RULE = LintRule(
    "DD146",
    "local-rank-argument",
    Severity.WARNING,
    advice="read LOCAL_RANK from the environment, or accept --local-rank, too",
)


_MESSAGE = "torchrun sets LOCAL_RANK and passes no --local_rank; torch 2's old launcher passes --local-rank"

_UNKNOWN = "torch 2's old launcher passes --local-rank, which this does not know"


def check(facts: ModuleFacts) -> Iterator[Finding | None]:
    """Options spelled with an underscore only."""
    text = facts.module.text
    # the launcher of DeepSpeed passes it with an underscore
    if facts.torch_version < (2, 0) or heuristics.DEEPSPEED_LAUNCHER.found_in(text):
        return
    options = facts.methods("add_argument")
    renamed = renamed_in(facts.module.of(ast.Assign))
    underscored = list(_underscored(options, renamed))
    if not underscored or _needs_torch_1(facts):
        return
    read = heuristics.READS_LOCAL_RANK.found_in_any(facts.texts)
    hands_on = _hands_on(facts)
    if _goes_on(facts.module) and hands_on is None:
        # what it does without the option is right if the environment tells it, and wrong with a number that is fixed
        underscored = [call for call in underscored if _is_required(call) or (not read and _is_fixed(call))]
    for call in underscored:
        if hands_on is not None:
            message: str | Conditional = Conditional("if torch.distributed.launch starts it, ", _UNKNOWN)
        else:
            message = Conditional("unless only torchrun starts it: ", _UNKNOWN) if read else _otherwise(facts, call)
        at = site_of(facts.module, call.node.args[0])
        edit = Edit(at.line, at.column, at.line, at.column, '"--local-rank", ')
        related = ((site_of(facts.module, hands_on), "the option is what the rest of the program reads"),) if (
            hands_on is not None) else ()  # fmt: skip
        fix = Fix(Applicability.UNSAFE, (edit,))
        severity = Severity.WARNING if isinstance(message, str) else Severity.HINT
        open_ = Unconfirmed(call.site, RelatedRole.UNSTARTED if hands_on is None else RelatedRole.UNCONFIRMED)
        yield facts.finding(RULE, call.site, message, fix=fix, severity=severity, related=related, unconfirmed=open_)


def _otherwise(facts: ModuleFacts, call: CallEvent) -> str | Conditional:
    """What is said of a program that does not read LOCAL_RANK, with how else it may have its number."""
    if _starts_its_ranks(facts):
        return Conditional("if a launcher starts it, though it has its ranks started otherwise: ", _UNKNOWN)
    if _asks_slurm(facts):
        return Conditional("unless only Slurm starts it: ", _MESSAGE)
    if call.context.from_script and _one_process(facts):
        return Conditional("if several processes are started, which nothing else here shows: ", _MESSAGE)
    return _MESSAGE


def _underscored(calls: Iterable[CallEvent], renamed: Set[str]) -> Iterator[CallEvent]:
    """The calls that spell the option so, where the parser has no other, and its default is not the launcher's."""
    options = [(call, option) for call in calls if (option := declared_by(call.node, renamed)) is not None]
    dashed = [c.receiver.atoms for c, option in options if c.receiver is not None and "--local-rank" in option.flags]
    for call, option in options:
        told = "--local_rank" in option.flags and not _from_environment(option)
        if told and (call.receiver is None or call.receiver.atoms not in dashed):
            yield call


def _goes_on(module: Module) -> bool:
    """Whether a program leaves options that it does not know alone: it never parses its options in the way that ends
    there."""
    called = {node.func.attr for node in module.of(ast.Call) if isinstance(node.func, ast.Attribute)}
    return "parse_known_args" in called and not any(name.startswith("parse_args") for name in called)


def _is_required(call: CallEvent) -> bool:
    """Whether the program ends where the option is not passed, even if it leaves unknown ones alone."""
    required = call.keyword("required")
    return required is not None and required.constant is True


def _is_fixed(call: CallEvent) -> bool:
    """Whether the option is the same on all ranks where it is not passed: nothing is asked for its default."""
    option = declared_by(call.node)
    default = option.default if option is not None else None
    return default is None or not any(isinstance(node, (ast.Call, ast.Subscript)) for node in ast.walk(default))


#: files of the project that are asked what they import
_MOST = 60


def _needs_torch_1(facts: ModuleFacts) -> bool:
    """Whether the program cannot be imported with torch 2: outside of any `try`, it imports what is gone, or a file of
    the project that does."""
    waiting, seen = [*facts.modules], set[str]()
    while waiting and len(seen) < _MOST:
        module = waiting.pop(0)
        if module.path in seen:
            continue
        seen.add(module.path)
        names = _imported(module)
        if not names.isdisjoint(GONE):
            return True
        others = sorted(name for name in names if name.partition(".")[0] not in packages.NEVER_LOCAL)
        found = (facts.analysis.project.find(name, module) for name in others)
        waiting += [other for other in found if other is not None]
    return False


def _imported(module: Module) -> set[str]:
    """The modules that it imports as soon as it is imported itself, and what may be modules."""
    names: set[str] = set()
    for node in module.tree.body:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            whole = "." * node.level + (node.module or "")
            names.add(whole)
            between = "" if whole.endswith(".") else "."
            names.update(f"{whole}{between}{alias.name}" for alias in node.names)
    return names


def _starts_its_ranks(facts: ModuleFacts) -> bool:
    """Whether the program starts processes, or Horovod does, and tells each its number in place of the option."""
    by_key = (target.slice for node in facts.module.of(ast.Assign) for target in node.targets
              if isinstance(target, ast.Subscript))  # fmt: skip
    told = any(stored == "local_rank" for _, stored in facts.module.attribute_stores) or any(
        isinstance(key, ast.Constant) and key.value == "local_rank" for key in by_key
    )
    by_horovod = any(path.startswith("horovod.") for path in facts.module.imports.values())
    return told and (by_horovod or facts.suggests(heuristics.STARTS_PROCESSES))


def _asks_slurm(facts: ModuleFacts) -> bool:
    """Whether it takes its number from Slurm where the option is not given."""
    return any(node.value in _BY_SLURM for node in facts.module.of(ast.Constant) if isinstance(node.value, str))


#: what tells a process its number where `srun` starts it
_BY_SLURM = ("SLURM_PROCID", "SLURM_LOCALID")


def _one_process(facts: ModuleFacts) -> bool:
    """Whether nothing in the program reads the option, or has to do with several processes."""
    if launch.uses_framework(facts) or launch.knows_ranks(facts):
        return False
    return not any(heuristics.OF_SEVERAL_PROCESSES.found_in(text) for text in facts.texts)


def _from_environment(option: Option) -> bool:
    """Whether its default is what the launcher says in the environment."""
    return option.default is not None and "LOCAL_RANK" in text_of(option.default)


def _hands_on(facts: ModuleFacts) -> ast.stmt | None:
    """Where the option is put into the environment, for launchers that do not set the variable."""
    for node in facts.module.of(ast.Assign):
        target = node.targets[0]
        names_it = isinstance(target, ast.Subscript) and "LOCAL_RANK" in text_of(target.slice)
        if names_it and any(isinstance(n, ast.Attribute) and n.attr == "local_rank" for n in ast.walk(node.value)):
            return node
    return None
