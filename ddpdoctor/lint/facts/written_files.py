"""Files written for the job as a whole: which calls write them, to which path, and on which ranks."""

from __future__ import annotations

import ast
from enum import Enum
from typing import NamedTuple

from ddpdoctor.lint.facts import all_ranks, launch
from ddpdoctor.lint.facts.all_ranks import Witness
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.values.tags import ANY_RANK, BY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import Taint, Value
from ddpdoctor.model.finding import Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import decorator_name, last_name, walk
from ddpdoctor.program.sites import SourceSite

#: calls that create a record of the run
_RUNS = ("wandb.init", "mlflow.start_run", "torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter")


def files(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """(call, path, the path's expression) of every call that writes a file."""
    found: list[tuple[CallEvent, Value, ast.expr | None]] = []
    for name, row in filesystem.RESULTS.items():
        for call in facts.named(name):
            path = call.argument(row.position, row.name)
            if path is not None and (not row.plain or _near(facts, call)):
                found.append((call, path, _written(call.node, row.position, row.name)))
    for call in facts.named("builtins.open"):
        mode, path = call.argument(1, "mode"), call.argument(0, "file")
        # a file opened for appending may be meant for all ranks
        writes = mode is not None and str(mode.constant).startswith(("w", "x"))
        if path is not None and writes and _near(facts, call):
            found.append((call, path, _written(call.node, 0, "file")))
    for call in facts.methods("save"):
        path = call.argument(0, "f")
        if path is not None and _scripted(call.receiver):
            found.append((call, path, _written(call.node, 0, "f")))
    for call in facts.methods("save_pretrained"):
        path = call.argument(0, "save_directory")
        if path is not None and call.keyword("is_main_process") is None:
            found.append((call, path, _written(call.node, 0, "save_directory")))
    return found


def _near(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is in this file, or called directly from it: deeper in the calls it is seldom clear that the file is
    written at all.
    """
    sites = (*call.context.chain, call.site)
    return facts.module.path in (site.file for site in sites[-2:])


def runs(facts: ModuleFacts) -> list[CallEvent]:
    """Calls that start a run in an experiment tracker."""
    return facts.named(*_RUNS)


def _scripted(value: Value | None) -> bool:
    """Whether it is a network that was compiled to a script, which has a `save` of its own."""
    return value is not None and getattr(value.object, "path", "") in filesystem.SAVE_THEMSELVES


def path_of(call: CallEvent) -> tuple[Value | None, ast.expr | None]:
    """The path that a function of the table is given, or whose method is called, and its expression."""
    row = filesystem.function(call.path) if call.path else None
    if row is not None:
        return call.argument(row.position, row.name), _written(call.node, row.position, row.name)
    if call.method in filesystem.OF_PATHS and isinstance(call.node.func, ast.Attribute):
        return call.receiver, call.node.func.value
    if len(call.node.args) > 1 and len(call.args) > 1:
        return call.args[1], call.node.args[1]
    return None, None


def _written(node: ast.Call, position: int, keyword: str) -> ast.expr | None:
    if position < len(node.args):
        return node.args[position]
    return next((k.value for k in node.keywords if k.arg == keyword), None)


def one_path(call: CallEvent, path: Value, node: ast.expr | None) -> bool:
    """Whether the path is equal on every rank and node: nothing that it is made of names a process or a moment."""
    if len(path.atoms) > 1 or path.tags & (ANY_RANK | MADE_UP) or path.taint > path.taint.FILES:
        return False
    if path.object is not None and getattr(path.object, "path", "").startswith(("io.", "tempfile.")):
        return False
    if path.known:
        return isinstance(path.constant, str) and not heuristics.OWN_PATH.found_in(path.constant)
    return node is not None and not heuristics.OWN_PATH.found_in(_spelled_out(_assignments(call), node, 3))


def _assignments(call: CallEvent) -> list[tuple[str, ast.expr]]:
    """(name, expression) of the assignments to plain names that the call can see: in its function, and at the top."""
    module = call.context.module
    own = innermost_function(module.tree, call.site.line)
    return [
        (target.id, node.value) for node in module.of(ast.Assign) for target in node.targets
        if isinstance(target, ast.Name) and innermost_function(module.tree, node.lineno) in (own, None)
    ]  # fmt: skip


def _spelled_out(assigned: list[tuple[str, ast.expr]], node: ast.expr, depth: int) -> str:
    """The expression's source, with that of the variables in it."""
    parts = [ast.unparse(node)]
    if depth:
        names = {n.id for n in walk(node) if isinstance(n, ast.Name)}
        parts += [_spelled_out(assigned, value, depth - 1) for name, value in assigned if name in names]
    return " ".join(parts)


#: how a condition can differ between ranks that all look at one disk
_APART = (BY_RANK & ~Tag.FILE) | Tag.OWN_FILE


class Attendance(Enum):
    """How it is known that every rank comes to a call."""

    #: the script itself leads there
    PROVED = "proved"
    #: the function does something that only all ranks do together, or tells ranks apart beside the call
    SHOWN = "shown"
    #: nothing excludes it: the callers are not visible
    POSSIBLE = "possible"


class Attended(NamedTuple):
    """That every rank comes to a call, and what shows it."""

    how: Attendance
    witness: Witness | None = None

    @property
    def severity(self) -> Severity:
        """A hint if callers that cannot be seen may leave it to one rank."""
        return Severity.HINT if self.how is Attendance.POSSIBLE else Severity.WARNING

    @property
    def related(self) -> tuple[tuple[SourceSite, str], ...]:
        return ((self.witness.site, self.witness.text),) if self.witness is not None else ()


def on_every_rank(facts: ModuleFacts, call: CallEvent, *, fetches: bool = False) -> Attended | None:
    """Whether every rank of a job reaches the call, and no condition or decorator may choose one.

    `fetches`: what it does is worth a look also in a file that does not know of ranks.
    """
    context = call.context
    if context.some_ranks_only or context.handler == "except":
        return None
    if not all(_harmless(facts, guard) for guard in context.guards):
        return None
    if heuristics.TAKES_TURNS.found_in_any(context.withs):
        return None
    if any(_decorated(m, context.calls) for m in (facts.module, *facts.analysis.reached.values())):
        return None
    if context.from_script and launch.several(facts, call):
        return Attended(Attendance.PROVED)
    shown = all_ranks.witness(facts, call)
    if shown is not None:
        return Attended(Attendance.SHOWN, shown)
    if context.from_script:
        return Attended(Attendance.POSSIBLE) if fetches and launch.uses_framework(facts) else None
    if not fetches and not launch.knows_ranks(facts):
        return None
    return Attended(Attendance.POSSIBLE)


def _harmless(facts: ModuleFacts, guard: Guard) -> bool:
    """Whether the condition is on configuration or counters, and equal on all ranks as far as can be read."""
    if guard.value.taint in (Taint.UNIFORM, Taint.GIVEN, Taint.FILES) and not guard.value.tags & _APART:
        return True
    if heuristics.CHOOSES_RANK.found_in(guard.text):
        return False
    try:
        tree = ast.parse(guard.text, mode="eval")
    except SyntaxError:
        return False
    return all(_same_everywhere(facts, n.func) for n in walk(tree) if isinstance(n, ast.Call))


def _same_everywhere(facts: ModuleFacts, function: ast.expr) -> bool:
    """Whether a function in a condition gives the same on every rank, or is one of this file, which was followed."""
    name = last_name(function)
    if name in heuristics.SAME_EVERYWHERE.words or heuristics.ASKS_DISK.found_in(name):
        return True
    own = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self"
    return own and any(name in info.methods for info in facts.module.classes)


def _decorated(module: Module, calls: tuple[str, ...]) -> bool:
    """Whether a function on the call path has a decorator of unknown effect."""
    functions = (*module.functions, *(m for c in module.classes for m in c.methods.values()))
    names = (decorator_name(d) for info in functions if info.qualname in calls for d in info.decorators)
    return any(name not in heuristics.PLAIN_DECORATORS.words for name in names)
