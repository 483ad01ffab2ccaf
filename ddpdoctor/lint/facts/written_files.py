"""Files written for the job as a whole: which calls write them, and what path they are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddpdoctor.lint.facts import paths
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent
from ddpdoctor.lint.knowledge import filesystem, frameworks, heuristics
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK
from ddpdoctor.lint.values.values import Value, const
from ddpdoctor.program.nodes import last_name
from ddpdoctor.program.text import text_of

#: what writes curves to a folder
_LOGS = ("torch.utils.tensorboard.SummaryWriter", "torch.utils.tensorboard.writer.SummaryWriter",
         "tensorboardX.SummaryWriter")  # fmt: skip
#: calls that create a record of the run
RUNS = ("wandb.init", "mlflow.start_run")


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
    return [*found, *_by_methods(facts), *_tables(facts)]


def _tables(facts: ModuleFacts) -> Iterator[tuple[CallEvent, Value, ast.expr | None]]:
    """The same of methods by which the tables of pandas write themselves."""
    for method, row in filesystem.OF_OBJECTS.items():
        for call in facts.methods(method) if row.use is filesystem.Use.WRITES_FILE else ():
            path = call.argument(row.position, row.name)
            if path is not None and not _at_end(call.keyword("mode")) and _near(facts, call):
                yield call, path, paths.argument_of(call.node, row.position, row.name)


def _by_methods(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """The same of methods by which objects write themselves."""
    found: list[tuple[CallEvent, Value, ast.expr | None]] = []
    for call in facts.methods("save"):
        path = call.argument(0, "f")
        if path is not None and _scripted(call.receiver):
            found.append((call, path, paths.argument_of(call.node, 0, "f")))
    for call in facts.methods("dump"):
        # `cfg.dump(path)`; a module of the kind of `json` puts an object into an open file
        if len(call.args) == 1 and _of_settings(call) and _near(facts, call):
            found.append((call, call.args[0], paths.argument_of(call.node, 0, "")))
    for call in facts.methods("save_pretrained"):
        path = call.argument(0, "save_directory")
        if path is not None and call.keyword("is_main_process") is None and not _by_framework(call):
            found.append((call, path, paths.argument_of(call.node, 0, "save_directory")))
    return found


def _by_framework(call: CallEvent) -> bool:
    """Whether the weights go through a function such as `accelerator.save`, which writes on the main process alone."""
    given = next((keyword.value for keyword in call.node.keywords if keyword.arg == "save_function"), None)
    return given is not None and text_of(given) != "torch.save"


def appended(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """(call, path, the path's expression) of every call that opens a file to write at its end."""
    found = [
        (call, path, paths.argument_of(call.node, 0, "file"))
        for call in facts.named(filesystem.OPEN)
        if (path := call.argument(0, "file")) is not None and _at_end(call.argument(1, "mode"))
    ]
    found += [
        (call, call.receiver, call.node.func.value)
        for call in facts.methods("open")
        if call.receiver is not None and isinstance(call.node.func, ast.Attribute) and _at_end(call.argument(0, "mode"))
    ]
    return [item for item in found if _near(facts, item[0])]


def _at_end(mode: Value | None) -> bool:
    return mode is not None and str(mode.constant).startswith("a")


def _of_settings(call: CallEvent) -> bool:
    """Whether it is a method of the program's settings, by their name."""
    return isinstance(call.node.func, ast.Attribute) and heuristics.SETTINGS.found_in(last_name(call.node.func.value))


def _near(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is in this file, or called directly from it: deeper in the calls it is seldom clear that the file is
    written at all.
    """
    sites = (*call.context.chain, call.site)
    return facts.module.path in (site.file for site in sites[-2:])


def runs(facts: ModuleFacts) -> list[CallEvent]:
    """Calls that start a run in an experiment tracker."""
    return facts.named(*RUNS)


def logs(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """(call, folder, the folder's expression) of every writer of curves, and of its own one where none is given."""
    found: list[tuple[CallEvent, Value, ast.expr | None]] = []
    for call in facts.named(*_LOGS):
        folder, name = (0, "log_dir") if call.argument(0, "log_dir") is not None else (0, "logdir")
        path = const(_RUNS) if in_folder_of_moment(call) else call.argument(folder, name)
        if path is not None and _near(facts, call):
            found.append((call, path, paths.argument_of(call.node, folder, name)))
    return found


#: the folder in which a writer of curves makes one that is named after the time, in seconds, and the machine
_RUNS = "runs"


def in_folder_of_moment(call: CallEvent) -> bool:
    """Whether a writer of curves is given no folder, nor anything to name its own one by."""
    return not (call.opaque or call.args or any(call.keyword(k) for k in ("log_dir", "logdir", "comment")))


#: methods that draw, each with the name of what it draws as its first argument
_DRAWING = ("add_scalar", "add_scalars", "add_histogram", "add_image")
_DRAWN = frozenset({
    *_DRAWING, "add_images", "add_figure", "add_text", "add_video", "add_audio", "add_graph", "add_hparams",
    "add_embedding", "add_pr_curve", "add_mesh", "add_summary",
})  # fmt: skip


def draws_apart(facts: ModuleFacts) -> bool:
    """Whether all curves have the rank in their names."""
    names = [(use, use.argument(0, "tag"), use.argument(0, "main_tag")) for use in facts.methods(*_DRAWING)]
    return bool(names) and all(_of_rank(use, tag or main) for use, tag, main in names)


def _of_rank(use: CallEvent, name: Value | None) -> bool:
    # a curve may be of a ranking: that name is the same on all ranks
    if name is None or (name.known and len(name.atoms) == 1):
        return False
    node = next(iter((*use.node.args[:1], *(k.value for k in use.node.keywords if k.arg in ("tag", "main_tag")))), None)
    return bool(name.tags & ANY_RANK) or (node is not None and heuristics.NAMES_RANK.found_in(text_of(node)))


def is_handed_to_callback(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a framework's callback is given the writer, and draws on rank 0 alone."""
    uses = facts.named(*frameworks.DRAW_ON_FIRST_RANK)
    given = (value for use in uses for value in (*use.args, *(value for _, value in use.keywords)))
    return any(isinstance(value.object, Made) and value.object.site == call.site for value in given)


def draws_on_one_rank(facts: ModuleFacts) -> bool:
    """Whether the curves are left to some ranks, drawn where nothing shows who comes, or nowhere: the writers of the
    others make files without any."""
    uses = facts.methods(*_DRAWING)
    if not uses:
        here = facts.module.words
        others = any(not _DRAWN.isdisjoint(module.words) for module in facts.modules)
        return not others or not _DRAWN.isdisjoint(here)
    chosen = [
        use.context.some_ranks_only or any(heuristics.CHOOSES_RANK.found_in(g.text) for g in use.context.guards)
        for use in uses
    ]
    return bool(chosen) and (all(chosen) or _by_one_flag(uses))


def _by_one_flag(uses: list[CallEvent]) -> bool:
    """Whether one flag lets through all that is drawn, though not the making of the writer: who draws, as a rule."""
    flags = [{g.text for g in use.context.guards if g.side and _is_flag(g.text)} for use in uses]
    return bool(set.intersection(*flags))


def _is_flag(text: str) -> bool:
    """Whether it is a name or an attribute: `args.verbose`."""
    return all(part.isidentifier() for part in text.split("."))


def _scripted(value: Value | None) -> bool:
    """Whether it is a network that was compiled to a script, which has a `save` of its own."""
    return value is not None and getattr(value.object, "path", "") in filesystem.SAVE_THEMSELVES
