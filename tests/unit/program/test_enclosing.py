"""What stands around a line, in all the places where statements can stand."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.model.evidence import SourceFile
from ddpdoctor.model.stacks import Site
from ddpdoctor.program import enclosing
from ddpdoctor.program.program import Program

FILE = "/job/train.py"
TEXT = """\
@decorated(lambda: 1)  # decorator
def outer(x):
    def inner(y):
        for z in y:
            use(z)  # in inner
        return [go(z) for z in y]  # comprehension
    if x:
        a = dist.barrier()  # then
    else:
        b = input(table.input())  # else
    match x:
        case 1:
            while x:
                case()  # case
    with model.no_sync(), other as o:
        step()  # with
    try:
        risky()
    except OSError:
        handle()  # handler
    finally:
        end()
class C:
    async def method(self):
        await self.x()  # method
top()  # top
"""


def line(mark: str) -> int:
    return 1 + next(n for n, text in enumerate(TEXT.splitlines()) if text.endswith(f"# {mark}"))


def at(mark: str) -> Site:
    return Site(FILE, line(mark), "")


PROGRAM = Program({FILE: SourceFile(FILE, TEXT)})


@pytest.mark.parametrize(
    ("mark", "functions"),
    [
        ("decorator", []),
        ("in inner", ["outer", "inner"]),
        ("comprehension", ["outer", "inner"]),
        ("case", ["outer"]),
        ("handler", ["outer"]),
        ("method", ["method"]),
        ("top", []),
    ],
)
def test_functions_around(mark: str, functions: list[str]) -> None:
    tree = ast.parse(TEXT)
    assert [node.name for node in enclosing.functions_around(tree, line(mark))] == functions
    found = enclosing.function_around(PROGRAM, at(mark))
    assert (found.name if found else None) == (functions[-1] if functions else None)


def test_loops_within_the_function() -> None:
    assert [span.text for span in enclosing.enclosing_loops(PROGRAM, at("in inner"))] == ["for z in y:"]
    assert [span.text for span in enclosing.enclosing_loops(PROGRAM, at("case"))] == ["while x:"]
    assert enclosing.enclosing_loops(PROGRAM, at("comprehension")) == ()
    found = enclosing.enclosing_loop(PROGRAM, at("comprehension"))
    assert found is not None
    assert found.first == line("comprehension")


def test_both_sides_of_a_branch() -> None:
    own, other = enclosing.branches(PROGRAM, at("then")) or (None, None)
    assert own is not None
    assert other is not None
    assert line("then") in own
    assert line("else") in other
    assert enclosing.branches(PROGRAM, at("else")) == (other, own)
    assert enclosing.branches(PROGRAM, at("with")) is None


def test_what_a_line_calls() -> None:
    span = enclosing.Span(line("else"), line("else"), "")
    assert enclosing.called_names(PROGRAM, FILE, span) == {"input"}
    assert enclosing.builtins_called(PROGRAM, at("else"), frozenset({"input", "print"})) == ["input"]
    assert [ast.unparse(call) for call in enclosing.calls_on(PROGRAM, at("else"))] == [
        "input(table.input())",
        "table.input()",
    ]
    assert enclosing.called_names(PROGRAM, "/job/other.py", span) == frozenset()


def test_the_with_that_names_something() -> None:
    found = enclosing.with_block(PROGRAM, at("with"), frozenset({"no_sync"}))
    assert found is not None
    assert found.text == "with model.no_sync(), other as o:"
    assert enclosing.with_block(PROGRAM, at("then"), frozenset({"no_sync"})) is None


def test_conditions_that_hold_on_a_line() -> None:
    tree = ast.parse("if a:\n    if b: x()\n    elif c:\n        y()\n    else:\n        def f():\n            z()\n")
    held = [[ast.unparse(test) for test in enclosing.conditions_around(tree, line)] for line in (2, 4, 7)]
    assert held == [["a", "b"], ["a", "c"], ["a"]]


MET = """\
def run(a, b, c):
    if a:
        return
    if b:
        x()
    elif c:
        raise ValueError
    else:
        y()
    for turn in range(3):
        if turn:
            x()
        else:
            continue
        if not turn:
            break
        y()
    z()
"""


@pytest.mark.parametrize(
    ("line", "met"),
    [
        (3, ["a"]),
        (5, ["not a", "b"]),
        (7, ["not a", "not b", "c"]),
        (9, ["not a", "not b", "not c"]),
        (12, ["not a", "turn"]),
        (14, ["not a", "not turn"]),
        (17, ["not a", "turn", "turn"]),
        (18, ["not a"]),
    ],
)
def test_what_has_to_hold_for_a_line_to_run(line: int, met: list[str]) -> None:
    assert [ast.unparse(test) for test in enclosing.conditions_met(ast.parse(MET), line)] == met


def test_conditions_on_which_a_line_depends() -> None:
    tree = ast.parse("if a:\n    x()\nelse:\n    def f():\n        y(1 if b\n          else 2)\nz()\n")
    held = [[ast.unparse(test) for test in enclosing.choices_at(tree, line)] for line in (2, 5, 6, 7)]
    assert held == [["a"], ["a", "b"], ["a", "b"], []]
