"""What lint finds does not hang on how a program is written: names, order of an `if`'s sides, blocks around blocks.

The literate cases of one file are rewritten, and the rewritten program must have the findings of the case.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ddpdoctor.lint import registry
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from tests.e2e.variants import disguise
from tests.unit.lint.test_lint_cases import CASES, TORCH, Case, cases

ALL = Settings(frozenset(registry.names()))
SINGLE = [
    case
    for path in sorted(CASES.glob("DD*.md"))
    for case in cases(path)
    if list(case.files) == ["main.py"] and not TORCH.search(case.title)
]


def renamed(tree: ast.Module) -> None:
    """Other names for what the program alone names."""
    disguise.rename(tree)


def turned(tree: ast.Module) -> None:
    """The sides of every `if` the other way round, under the negated condition."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If):
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse = node.orelse or [ast.Pass()], node.body


def wrapped(tree: ast.Module) -> None:
    """Every function's body under `if True:`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = [ast.If(ast.Constant(True), node.body, [])]


REWRITINGS: dict[str, Callable[[ast.Module], None]] = {"renamed": renamed, "turned": turned, "wrapped": wrapped}


#: Cases whose findings change: the rule, or the interpreter, reads a name or the way a statement is written.
KNOWN = {
    "renamed": {
        "DD111: a function for one process, which has no rank",
        "DD173: the first rank, or a process that is alone",
        "DD101: data to evaluate on, which a method goes through without gradients",
        "DD101: one loop that trains or evaluates, as its caller says",
        "DD157: texts that each rank pads to its longest",
        "DD157: generated texts of a batch by its name",
        "DD111: the rank is asked for before there is a group",
        "DD111: Lightning: a callback's barrier on rank 0",
        "DD111: mmengine: rank from get_dist_info, and a hook",
        "DD115: both sides come to the same function, which makes the group where there is none",
        "DD116: a barrier in finally",
        "DD116: the end of the group behind a wait, and behind a handler that has caught all",
        "DD118: ranks that only meet",
        "DD118: the root sends a list without a name, the others read theirs",
        "DD123: available is not initialised",
        "DD128: a group for each epoch",
        "DD128: counted micro-batches in each step, and counted steps in each epoch",
        "DD128: for each epoch, in a function that a launcher records",
        "DD124: every rank downloads what it does not find",
        "DD129: Only a folder that may be there",
        "DD129: in an expression",
        "DD131: a seed from the configuration that a function is given",
        "DD133: a list of which each rank takes its share",
        "DD133: shares of a permutation, and in blocks",
        "DD143: refused where a rank is not its local rank",
        "DD143: no more ranks than this machine has devices",
        "DD144: one node by condition",
        "DD145: chosen by version",
        "DD156: by a function, a variable, a list of parts, a comprehension",
        "DD161: a dtype, a memory format, or wrapped only sometimes",
        "DD171: what the parent writes before it spawns the ranks, and what a loader's cache is",
        "DD171: settings that write themselves",
        "DD173: each rank loads what it has saved itself",
        "DD173: put together on the CPU",
        "DD173: what was never on a GPU",
        "DD174: the first node only",
        "DD175: a global that may be something else",
        "DD179: what is only read, and what is written elsewhere",
        "DD182: a queue of features",
        "DD182: averages that are shown, and batch norm",
        "DD184: a sum that is shown",
        "DD184: the loss itself, divided and gone backward",
        "DD191: both names, by version",
        "DD192: a folder whose name speaks of the machine's disk",
    },
    "turned": {
        "DD111: a function for one process, which has no rank",
        "DD113: one of a few constants, chosen by the batch and asked again",
        "DD115: both sides come to the same function, which makes the group where there is none",
        "DD123: the function that is spawned is called directly for one process",
        "DD127: what torch 2 no longer has",
        "DD171: the kind of the job, which Accelerate tells all processes alike",
        "DD143: refused where a rank is not its local rank",
        "DD124: the others read in the else branch at once",
        "DD144: one node: more are refused",
    },
    "wrapped": {
        "DD111: a count that a context raises while its block runs switches barriers off",
        "DD111: a generator that holds a switch while its block runs",
        "DD112: What a subclass decides",
        "DD115: both sides come to the same function, which makes the group where there is none",
        "DD114: a decorator that lets the first rank alone run it, with barriers switched off",
    },
}


def _found(text: str) -> Counter[str]:
    return Counter(f.code for f in Linter(ALL).bytes("main.py", text.encode(), named=True).findings)


def _check(case: Case, rewrite: Callable[[ast.Module], None]) -> None:
    tree = ast.parse("\n".join(case.files["main.py"]))
    before = ast.unparse(tree)
    rewrite(tree)
    after = ast.unparse(ast.fix_missing_locations(tree))
    assert _found(after) == _found(before), after


def _id(case: Case) -> str:
    return f"{case.code}: {case.title}"


def _each(step: int) -> list[Any]:
    """Every rewriting of every `step`-th case; each rewriting begins with another case."""
    return [
        pytest.param(case, rewrite, id=f"{_id(case)}, {name}", marks=_MARK if _id(case) in KNOWN[name] else ())
        for start, (name, rewrite) in enumerate(REWRITINGS.items())
        for case in SINGLE[start * step // len(REWRITINGS) :: step]
    ]


_MARK = pytest.mark.xfail(strict=True, reason="goes by a name, or by how it is written")


@pytest.mark.parametrize(("case", "rewrite"), _each(6))
def test_a_sample(case: Case, rewrite: Callable[[ast.Module], None]) -> None:
    _check(case, rewrite)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "rewrite"), _each(1))
def test_every(case: Case, rewrite: Callable[[ast.Module], None]) -> None:
    _check(case, rewrite)
