"""How certain it is that ranks diverge at a branch."""

from __future__ import annotations

import ast

from ddpdoctor.lint.facts import blocks, early_questions, empty_batches, meeting_later, single_process
from ddpdoctor.lint.facts.handed_functions import handed_on
from ddpdoctor.lint.facts.module_facts import Conditional, ModuleFacts
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.knowledge import collectives, heuristics, vocabulary
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Symbol, Taint
from ddpdoctor.model.finding import Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import decorator_name, last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of, shown, text_of

#: tags of data that certainly differs on every rank
PROVEN = meeting_later.OWN


def severity(facts: ModuleFacts, item: CollectiveDivergence) -> Severity | None:
    """Error if ranks can certainly diverge, warning where it is likely; a hint where what they ask need not differ, or
    a branch rests on a circumstance that nothing shows; None for a file that is not being written, and where there is
    one rank, those that go on are a group of their own, or nothing tells ranks apart yet."""
    way = (*item.chain, item.op.site)
    if not item.local and early_questions.branched_too_early(facts, item.branch):
        return None
    if single_process.refuses_several(facts, way) or single_process.is_regrouped(facts, way):
        return None
    if not item.local:
        return Severity.HINT if _circumstance(facts, item) else Severity.ERROR
    if single_process.starts_ranks_later(facts, item.branch.site):
        return None
    if item.branch.tags & PROVEN and not meeting_later.circumstance(facts, item):
        return Severity.ERROR
    if len(item.branch.truth) > 1 and not _is_own(item):
        return None
    if asks_for_file(item.branch):
        kept = item.branch.tags & Tag.OWN_FILE or written(facts, item.branch) is not None
        return Severity.WARNING if kept else None
    # whether there is anything differs seldom, as first looks have shown: most who leave do by a loss that is not
    # finite, or by what an object has kept of this rank's data
    likely = heuristics.ASKS_FINITE.found_in(item.branch.text) or (not item.branch.tags & PROVEN and _differs(item))
    likely = likely or bool(empty_batches.emptied_by(facts, item.branch))
    return Severity.WARNING if likely else Severity.HINT


def undecided(facts: ModuleFacts, item: CollectiveDivergence) -> str:
    """A condition on the way to the operation, or to where ranks leave, of which nothing shows that it can hold; "" if
    there is none.

    Options of the command line can have any value: such a condition is decided by whoever starts the job. Whether a
    file is there, nobody decides.
    """
    if asked := next((branch.text for branch in facts.above(item.branch) if asks_for_file(branch)), ""):
        return asked
    way = (*item.chain, item.op.site)
    around = next((r.under for r in facts.reached if r.way == way), ())
    for branch in (*around, item.branch):
        if any(isinstance(atom, Symbol) and atom.taint is Taint.UNKNOWN for atom in branch.truth):
            open_ = open_part(branch.text, ranked=len(branch.truth) > 1)
            if open_:
                return open_
    return ""


#: decorators under which a second call with the same arguments does nothing
_KEEPING = frozenset({"cache", "lru_cache"})


def _keeping(facts: ModuleFacts, item: CollectiveDivergence) -> str:
    """The decorator of a function behind the branch that returns what it has kept of an earlier call, "" if none."""
    for site in (*item.chain, item.op.site):
        module = blocks.module_of(facts, site)
        function = innermost_function(module.tree, site.line) if module is not None else None
        if function is None:
            continue
        first, last = function.lineno, function.end_lineno or function.lineno
        if site.file == item.branch.site.file and first <= item.branch.site.line <= last:
            continue
        name = next((n for d in function.decorator_list if (n := decorator_name(d)) in _KEEPING), "")
        if name:
            return name
    return ""


def open_part(text: str, *, ranked: bool) -> str:
    """The part of a condition that reads no setting of the job and no rank, "" if there is none.

    `ranked`: it differs between ranks; a single flag that does was set by some of them alone.
    """
    tree = expression_of(text)
    if tree is None:
        return text
    if ranked and not isinstance(tree, ast.BoolOp):
        return ""
    # what comes true every so many turns is enough: `step % 500 == 0 or step == last`
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or) and any(map(recurs, tree.values)):
        return ""
    for part in tree.values if isinstance(tree, ast.BoolOp) else [tree]:
        if isinstance(part, ast.Compare) and recurs(part):
            continue
        words = {last_name(n).lower() for n in walk(part) if isinstance(n, (ast.Name, ast.Attribute))}
        if not words & vocabulary.SETTINGS_NAMES and not any("rank" in word or "main" in word for word in words):
            return text_of(part)
    return ""


def recurs(test: ast.expr) -> bool:
    """Whether a condition comes true every so many turns: `step % 500 == 0`."""
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in walk(test))


def worded(facts: ModuleFacts, item: CollectiveDivergence, message: str) -> Conditional:
    """The message of a divergence, with the circumstance first on which it rests."""
    if item.local:
        rests_on = meeting_later.circumstance(facts, item) or ("" if _differs(item) else _if_apart(facts, item))
    else:
        rests_on = _circumstance(facts, item)
    return Conditional(rests_on, message)


#: what a divergence rests on whose data need not differ
_IF_APART = "if what is asked here ever differs between ranks, "


def _if_apart(facts: ModuleFacts, item: CollectiveDivergence) -> str:
    """The same, with what makes it differ where that is known."""
    name = empty_batches.emptied_by(facts, item.branch)
    return f"where {name} finds no sample of a rank's batch that it can use, " if name else _IF_APART


def _differs(item: CollectiveDivergence) -> bool:
    """Whether what a condition asks is not the same on all ranks, once it has been changed; of data of which nothing
    else is known, whether there is any, may well be."""
    branch = item.branch
    if len(branch.truth) == 1 and not _asks_for_any(branch.text):
        return True
    by_one = len(branch.truth) > 1 and len({one.key for one in branch.truth if isinstance(one, Symbol)}) < len(
        branch.truth
    )
    return bool(branch.tags & (PROVEN | Tag.SIGNAL | Tag.DECLARED | Tag.OF_ROOT)) or by_one or asks_for_file(branch)


def _asks_for_any(text: str) -> bool:
    """Whether a condition asks whether there is something: `batch is None`, `not batch`, `len(rows) == 0`."""
    tree = expression_of(text)
    for part in tree.values if isinstance(tree, ast.BoolOp) else [tree]:
        asked = part.operand if isinstance(part, ast.UnaryOp) else part
        asked = asked.left if isinstance(asked, ast.Compare) else asked
        counted = isinstance(asked, ast.Call) and last_name(asked.func) in ("len", "numel")
        if counted or isinstance(asked, (ast.Name, ast.Attribute)):
            return True
    return False


def _circumstance(facts: ModuleFacts, item: CollectiveDivergence) -> str:
    """What a divergence on the rank rests on, as the beginning of a message; "" if it is proven."""
    if condition := undecided(facts, item):
        return f"where `{shown(condition)}` lets ranks come here, "
    if name := _keeping(facts, item):
        return f"unless @{name} has kept the result of an earlier call, "
    if name := handed_on(facts, item.branch.site, (*item.chain, item.op.site), item.op.op):
        return worded_handed(name)
    return ""


def worded_handed(name: str) -> str:
    """What is said first of a function that is handed on."""
    return f"unless what {name} is handed to calls it, "


#: operations by which one rank tells the others what it has
_TELLING = ("broadcast", "scatter", "recv")


def _is_own(item: CollectiveDivergence) -> bool:
    """Whether a condition that is not one unknown on all ranks is one of each rank's own, and not about the members of
    some group.

    Where it is the same on some ranks, only others have changed what it asks: ranks leave by it, unless an operation
    that they run brings it to all.
    """
    branch = item.branch
    if " in " in branch.text or branch.tags & Tag.IN_GROUP:
        return False
    if len({atom.key for atom in branch.truth if isinstance(atom, Symbol)}) == len(branch.truth):
        return item.op.op in collectives.PLAIN  # of any other the group is not known
    told = any(name in run for run in (*item.trace_runs, *item.trace_lacks) for name in _TELLING)
    return item.exit is not None and not told


def asks_for_file(branch: Branch) -> bool:
    """Whether the branch depends on whether a file exists."""
    atom = branch.truth[0]
    return len(branch.truth) == 1 and isinstance(atom, Symbol) and atom.taint is Taint.FILES


def written(facts: ModuleFacts, branch: Branch) -> SourceSite | None:
    """Where the file that the branch tests for is written, with no collective in between."""
    return facts.races.get(branch.site)
