"""Which options a line of a program depends on, and whether a command gives them."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.deferred import given_options
from ddpdoctor.lint.deferred.needed_settings import Needed
from ddpdoctor.program import source

#: with the option that the test is about, and the condition under which the last line runs
PROGRAM = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument({option})
parser.add_argument("--epochs", type=int, default=3)
args = parser.parse_args()
if {condition}:
    for part in parts():
        load(part)
"""


def asked(option: str, condition: str) -> list[tuple[str, ...]]:
    program = PROGRAM.format(option=option, condition=condition)
    return [one.dests for one in given_options.asked_at(program.encode(), 9, 9)]


@pytest.mark.parametrize(
    ("option", "condition", "needed"),
    [
        ('"--resume", action="store_true"', "args.resume", True),
        ('"--resume"', "args.resume", True),
        ('"--resume", default=""', "args.resume and rank() == 0", True),
        ('"--resume", default=""', "os.path.isfile(args.resume)", True),
        ('"--resume", default=None', "args.resume is not None", True),
        ('"--resume", default=0', "args.resume > 0", True),
        ('"--resume", default="no"', 'args.resume == "auto"', True),
        ('"-r", "--resume-from", dest="resume"', "args.resume", True),
        # on by default, or what that is cannot be seen
        ('"--resume", default="last"', "args.resume", False),
        ('"--resume", default=""', "args.resume is not None", False),
        ('"--resume", default=DEFAULT', "args.resume", False),
        ('"--resume", required=True', "args.resume", False),
        ('"--no-resume", dest="resume", action="store_false"', "args.resume", False),
        # it runs without the option as well
        ('"--resume", action="store_true"', "not args.resume", False),
        ('"--resume", action="store_true"', "args.resume or always", False),
        ('"--resume", default=None', "args.resume is None", False),
        ('"--resume", default=""', "len(args.resume) == 0", False),
        # another object's, and an option of another file
        ('"--resume", action="store_true"', "model.resume", False),
        ('"--resume", action="store_true"', "args.finetune", False),
    ],
)
def test_an_option_without_which_a_line_does_not_run(option: str, condition: str, needed: bool) -> None:
    assert asked(option, condition) == ([("resume",)] if needed else [])


def test_the_other_side_of_a_condition_runs_without_its_options() -> None:
    program = PROGRAM.format(option='"--resume"', condition="args.resume") + "else:\n    load()\n"
    assert given_options.asked_at(program.encode(), 11, 11) == []


def test_one_of_the_options_that_a_line_reads_is_enough() -> None:
    (read,) = given_options.asked_at(b"x = load(\n    args.weights, cfg.device,\n    args.get(name))", 1, 3)
    assert read.dests == ("device", "weights")


def test_all_spellings_of_an_option_give_it() -> None:
    program = PROGRAM.format(option='"-r", "--resume-from", dest="resume"', condition="args.resume")
    (needed,) = given_options.asked_at(program.encode(), 9, 9)
    given = {command: given_options.gives(command.encode(), needed.names) for command in (
        "python train.py --resume-from last.pt", "python train.py -r last.pt", "python train.py $@",
        "python train.py --epochs 9")}  # fmt: skip
    assert list(given.values()) == [True, True, True, False]


@pytest.mark.parametrize("raw", [b"if args.x:\n", b"\xff = 1", b""])
def test_a_file_that_cannot_be_read_asks_for_nothing(raw: bytes) -> None:
    assert given_options.asked_at(raw, 1, 1) == []


def test_an_option_that_the_program_sets_itself_is_not_left_to_a_command() -> None:
    program = PROGRAM.format(option='"--resume"', condition="args.resume")
    set_there = program.replace("if args.resume", "args.resume = newest()\nif args.resume")
    assert given_options.asked_at(set_there.encode(), 10, 10) == []
    of_its_own = program.replace("if args.resume", "self.resume = args.resume\nif args.resume")
    assert [one.dests for one in given_options.asked_at(of_its_own.encode(), 10, 10)] == [("resume",)]


#: with what is beside the last call of the function, whose line is the fifth
WAYS = """\
import argparse


def scored(args, rows):
    write(rows)


def main(args):
    if args.do_test:
        scored(args, 1)
    for epoch in range(args.epochs):
        if args.do_eval:
            for rows in 1, 2:
                scored(args, rows)
{more}

parser = argparse.ArgumentParser()
parser.add_argument("--do_eval", action="store_true")
parser.add_argument("--do_test", action="store_true")
parser.add_argument("--epochs", type=int, default=3)
main(parser.parse_args())
"""
EITHER = {frozenset({"do_test"}), frozenset({"do_eval"})}


@pytest.mark.parametrize(
    ("more", "ways"),
    [
        ("", EITHER),
        ("    scored(args, 3)", {*EITHER, frozenset()}),
        (
            "    if args.do_test and args.do_eval:\n        scored(args, 3)",
            {*EITHER, frozenset({"do_test", "do_eval"})},
        ),
        # started in processes
        ("    mp.spawn(scored, args=(args, 3))", {*EITHER, frozenset()}),
        ("    if args.do_test:\n        mp.Process(target=scored, args=(args, 3)).start()", EITHER),
        # it may be called from wherever it is handed to
        ("    register(scored)", {frozenset()}),
        ("\n\ndef scored(args):\n    pass", {frozenset()}),
    ],
)
def test_a_function_runs_where_one_of_its_calls_does(more: str, ways: set[frozenset[str]]) -> None:
    module = given_options.module_of(WAYS.format(more=more).encode())
    assert module is not None
    options = given_options.given_in(module)
    assert set(map(_dests, given_options.ways_to(module.tree, 5, options, lambda _: False))) == ways
    assert given_options.ways_to(module.tree, 5, options, lambda name: name == "scored") == [frozenset()]


def _dests(way: frozenset[Needed]) -> frozenset[str]:
    return frozenset(needed.name for needed in way)


def test_of_too_many_ways_none_is_known() -> None:
    calls = "".join("    if args.do_test:\n        scored(args, 3)\n" for _ in range(20))
    module = given_options.module_of(WAYS.format(more=calls).encode())
    assert module is not None
    ways = given_options.ways_to(module.tree, 5, given_options.given_in(module), lambda _: False)
    assert ways == [frozenset()]


DECORATED = "def main(args):\n    if args.do_eval:\n        scored()\n\n\n@{decorator}\ndef scored():\n    write()\n"


@pytest.mark.parametrize(("decorator", "needed"), [("torch.no_grad()", {"do_eval"}), ("app.command()", set())])
def test_what_may_call_a_function_is_no_mere_decorator(decorator: str, needed: set[str]) -> None:
    tree = ast.parse(DECORATED.format(decorator=decorator))
    declared = source.tree_of(
        b'import argparse\nargparse.ArgumentParser().add_argument("--do_eval", action="store_true")'
    )
    assert declared is not None
    options = given_options.given_in_all([ast.unparse(declared).encode()])
    assert [*map(_dests, given_options.ways_to(tree, 8, options, lambda _: False))] == [frozenset(needed)]
