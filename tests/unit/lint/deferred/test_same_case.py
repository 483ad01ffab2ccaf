"""An option that nothing declares ends the program in the case in which alone something else is wrong."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint.deferred.same_case import is_only_read, read_before

BEFORE = """\
def prepare(self):
    if "plain" in self.args.kind:
        return_early = False
    elif "replay" in self.args.kind:
        buffer = make(self.args.replay_size)
"""
AFTER = """\
def finish(self, args):
    if "plain" in args.kind:
        pass
    elif "replay" in args.kind:
        if is_main():
            meet()
"""
TRAIN = """\
from . import after, before


def train(self):
    before.prepare(self)
    for _ in range(3):
        step(self)
    after.finish(self, self.args)
"""


def found(files: dict[str, str]) -> int | None:
    held = {"before": BEFORE, "after": AFTER, "train": TRAIN, **files}
    texts = {f"/{name}.py": text.encode() for name, text in held.items()}
    line = held["after"].split("\n").index("            meet()") + 1
    tree = ast.parse(held["after"])
    read = read_before("/after.py", tree, line, texts, lambda name: name == "replay_size")
    return read.line if read is not None and (read.file, read.option) == ("/before.py", "replay_size") else None


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({}, 5),
        ({"train": TRAIN.replace("from . import after, before", "from after import finish\nfrom before import prepare")
          .replace("before.prepare", "prepare").replace("after.finish", "finish")}, 5),
        # one that there is
        ({"before": BEFORE.replace("replay_size", "kind")}, None),
        # in another case
        ({"before": BEFORE.replace('"replay"', '"other"')}, None),
        ({"before": BEFORE.replace('"plain"', '"mild"')}, None),
        ({"after": AFTER.replace('"replay"', '"other"')}, None),
        # only perhaps: in a loop, later, or where something leaves before
        ({"before": BEFORE.replace("make(self", "[make(self").replace("size)", "size) for _ in rows]")}, None),
        ({"before": BEFORE.replace("return_early = False", "return")}, None),
        ({"before": BEFORE.replace("make(self", "made or make(self")}, None),
        # after it, or perhaps before
        ({"train": TRAIN.replace("    before.prepare(self)\n", "") + "    before.prepare(self)\n"}, None),
        ({"train": TRAIN.replace("    before.prepare", "    if self.args.new:\n        before.prepare")}, None),
        ({"train": TRAIN + "\n\ndef other(self):\n    after.finish(self, self.args)\n"}, None),
        ({"train": TRAIN.replace("after.finish", "later.finish")}, None),
    ],
)  # fmt: skip
def test_what_is_read_before(files: dict[str, str], line: int | None) -> None:
    assert found(files) == line


@pytest.mark.parametrize(
    ("text", "only"),
    [
        (b"make(args.replay_size)", True),
        (b"if args.replay_size == 1: ...", True),
        (b"", True),
        (b"parser.add_argument('--replay_size')", False),
        (b"train.py --replay-size 3", False),
        (b"replay_size: 3", False),
        (b"args.replay_size = 3", False),
        (b"args.replay_size += 3", False),
        (b"args.replay_size, args.rest = 3, 4", False),
        (b"args.replay_size: int = 3", False),
    ],
)
def test_a_name_that_is_only_read(text: bytes, only: bool) -> None:
    assert is_only_read("replay_size", text) == only
