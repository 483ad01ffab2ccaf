"""Files written for the job as a whole: which calls write them, and what path they are given."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import paths
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem, heuristics
from ddpdoctor.lint.values.values import Value

#: what writes curves to a folder
_LOGS = ("torch.utils.tensorboard.SummaryWriter", "torch.utils.tensorboard.writer.SummaryWriter",
         "tensorboardX.SummaryWriter")  # fmt: skip
#: calls that create a record of the run
_RUNS = ("wandb.init", "mlflow.start_run")


def files(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """(call, path, the path's expression) of every call that writes a file."""
    found: list[tuple[CallEvent, Value, ast.expr | None]] = []
    for name, row in filesystem.RESULTS.items():
        for call in facts.named(name):
            path = call.argument(row.position, row.name)
            if path is not None and (not row.plain or _near(facts, call)):
                found.append((call, path, paths.argument_of(call.node, row.position, row.name)))
    for call in facts.named("builtins.open"):
        mode, path = call.argument(1, "mode"), call.argument(0, "file")
        # a file opened for appending may be meant for all ranks
        writes = mode is not None and str(mode.constant).startswith(("w", "x"))
        if path is not None and writes and _near(facts, call):
            found.append((call, path, paths.argument_of(call.node, 0, "file")))
    for call in facts.methods("save"):
        path = call.argument(0, "f")
        if path is not None and _scripted(call.receiver):
            found.append((call, path, paths.argument_of(call.node, 0, "f")))
    for call in facts.methods("save_pretrained"):
        path = call.argument(0, "save_directory")
        if path is not None and call.keyword("is_main_process") is None:
            found.append((call, path, paths.argument_of(call.node, 0, "save_directory")))
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


def logs(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """(call, folder, the folder's expression) of every writer of curves that is given a folder."""
    found: list[tuple[CallEvent, Value, ast.expr | None]] = []
    for call in facts.named(*_LOGS):
        folder, name = (0, "log_dir") if call.argument(0, "log_dir") is not None else (0, "logdir")
        path = call.argument(folder, name)
        if path is not None and _near(facts, call):
            found.append((call, path, paths.argument_of(call.node, folder, name)))
    return found


def draws_on_one_rank(facts: ModuleFacts) -> bool:
    """Whether the curves are left to some ranks: the writers of the others make files without any."""
    uses = facts.methods("add_scalar", "add_scalars", "add_histogram", "add_image")
    chosen = [
        use.context.some_ranks_only or any(heuristics.CHOOSES_RANK.found_in(g.text) for g in use.context.guards)
        for use in uses
    ]
    return bool(chosen) and all(chosen)


def _scripted(value: Value | None) -> bool:
    """Whether it is a network that was compiled to a script, which has a `save` of its own."""
    return value is not None and getattr(value.object, "path", "") in filesystem.SAVE_THEMSELVES
