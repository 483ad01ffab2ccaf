"""Files written for the job as a whole: which calls write them, to which path, and on which ranks."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts.module_facts import DDP_PATHS, ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP
from ddpdoctor.lint.values.values import Value
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import decorator_name, walk

#: calls that create a record of the run
_RUNS = ("wandb.init", "mlflow.start_run", "torch.utils.tensorboard.SummaryWriter", "tensorboardX.SummaryWriter")
#: calls after which there are several processes
_STARTS = (
    "torch.distributed.init_process_group", *DDP_PATHS, "accelerate.Accelerator", "deepspeed.init_distributed",
    "deepspeed.initialize", "horovod.torch.init",
)  # fmt: skip


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
    return node is not None and not heuristics.OWN_PATH.found_in(
        _spelled_out(_assignments(call.context.module), node, 3)
    )


def _assignments(module: Module) -> list[tuple[str, ast.expr]]:
    return [
        (target.id, node.value) for node in module.nodes if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    ]  # fmt: skip


def _spelled_out(assigned: list[tuple[str, ast.expr]], node: ast.expr, depth: int) -> str:
    """The expression's source, with that of the variables in it."""
    parts = [ast.unparse(node)]
    if depth:
        names = {n.id for n in walk(node) if isinstance(n, ast.Name)}
        parts += [_spelled_out(assigned, value, depth - 1) for name, value in assigned if name in names]
    return " ".join(parts)


def on_every_rank(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether every rank of a running process group reaches the call, and no condition or decorator may choose one."""
    context = call.context
    if context.some_ranks_only or not context.from_script or context.handler == "except":
        return False
    started = (c.index for c in facts.named(*_STARTS))
    if not any(index < call.index for index in started):
        return False
    if not all(_harmless(guard) for guard in context.guards) or heuristics.TAKES_TURNS.found_in_any(context.withs):
        return False
    return not any(_decorated(m, context.calls) for m in (facts.module, *facts.analysis.reached.values()))


def _harmless(guard: Guard) -> bool:
    """Whether the condition is on configuration or counters, and equal on all ranks as far as can be read."""
    if heuristics.CHOOSES_RANK.found_in(guard.text):
        return False
    try:
        tree = ast.parse(guard.text, mode="eval")
    except SyntaxError:
        return False
    return all(
        isinstance(n.func, ast.Name) and n.func.id in heuristics.SAME_EVERYWHERE.words
        for n in walk(tree)
        if isinstance(n, ast.Call)
    )


def _decorated(module: Module, calls: tuple[str, ...]) -> bool:
    """Whether a function on the call path has a decorator of unknown effect."""
    functions = (*module.functions, *(m for c in module.classes for m in c.methods.values()))
    names = (decorator_name(d) for info in functions if info.qualname in calls for d in info.decorators)
    return any(name not in heuristics.PLAIN_DECORATORS.words for name in names)
