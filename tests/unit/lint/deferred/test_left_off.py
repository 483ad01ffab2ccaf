"""What the runs of several ranks that a repository shows leave off, however it comes to the condition."""

from __future__ import annotations

import ast

import pytest

from ddpdoctor.lint import engine
from ddpdoctor.lint.deferred.parts_given import parts_given
from ddpdoctor.lint.settings import Settings
from tests.unit.lint.deferred.test_deferred_findings import Repository, repository

__all__ = ["repository"]

CONFIG = """\
import argparse


def read():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", type=int, default=0)
    parser.add_argument("--more")
    parser.add_argument("--names", default="")
    args = parser.parse_args()
    data = {{"training": {{}}}}
    data["training"]["resume"] = args.resume
    {more}
    return args, data


args, config = read()
"""

PROGRAM = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from settings import args, config

resume = config["training"]["resume"]
{kept}


def start(resume, optimizer):
    if {test}:
        optimizer.load_state_dict(torch.load("last.pt"))


def main():
    dist.init_process_group("nccl")
    net = DistributedDataParallel(make())
    start({passed}, torch.optim.Adam(net.parameters()))
    for batch in load():
        net(batch).backward()
    torch.save(optimizer.state_dict(), "last.pt")


if __name__ == "__main__":
    main()
"""


def severities(code: str) -> list[str]:
    return [one.severity.value for one in engine.lint(["."], Settings(frozenset({code}))).findings]


def program(test: str = "resume > 0", passed: str = "resume", kept: str = "") -> str:
    return PROGRAM.format(test=test, passed=passed, kept=kept)


def written(train: str, given: str = "", more: str = "") -> dict[str, str]:
    run = f"torchrun --nproc_per_node 4 train.py {given}\n"
    return {"train.py": train, "settings.py": CONFIG.format(more=more), "run.sh": run}


@pytest.mark.parametrize(
    ("test", "passed", "given", "severity"),
    [
        ("resume > 0", "resume", "", "hint"),
        ("0 < resume", "resume", "", "hint"),
        ("resume", "resume", "", "hint"),
        ("resume > 0", "resume", "--resume 3", "warning"),
        ("resume > 0", "resume", '"$@"', "warning"),
        ("resume > -1", "resume", "", "warning"),
        ("resume < 1", "resume", "", "warning"),
        ("resume > 0", "args.resume", "", "hint"),
        ("resume > 0", "find_last()", "", "warning"),
        ("resume > 'a'", "resume", "", "warning"),
    ],
)
def test_a_parameter_that_is_given_what_an_option_sets(
    test: str, passed: str, given: str, severity: str, repository: Repository
) -> None:
    repository(written(program(test, passed), given))
    assert severities("DD173") == [severity]


@pytest.mark.parametrize(
    ("setting", "severity"), [("resume: 3", "warning"), ("resume: false", "hint"), ("resumed: 3", "hint")]
)
def test_what_a_file_of_settings_turns_on_all_the_same(setting: str, severity: str, repository: Repository) -> None:
    repository({**written(program()), "base.yaml": f"training:\n  {setting}\n"})
    assert severities("DD173") == [severity]


@pytest.mark.parametrize(
    ("kept", "test", "given", "severity"),
    [
        ("both = args.more and args.names", "both", "", "hint"),
        ("both = args.more and args.names", "both", "--more 1", "hint"),
        ("both = args.more and args.names", "both", "--more 1 --names a", "warning"),
        ("both = args.more or args.names", "both", "", "hint"),
        ("both = args.more or args.names", "both", "--more 1", "warning"),
        ("both = args.more or args.names", "not both", "", "warning"),
        ("both = not args.more", "not both", "", "hint"),
        ("both = args.more is not None", "both", "", "hint"),
        ("both = args.more and args.names\nboth = both or find()", "both", "", "warning"),
        ("both = both and args.more", "both", "", "hint"),
        ("both = both or args.more", "both", "", "warning"),
        ("both = args.more\n\n\ndef other(x):\n    both = x", "both", "", "warning"),
        ("def other(x):\n    both = args.more\n    return both", "both", "", "warning"),
    ],
)
def test_a_variable_that_keeps_a_condition(
    kept: str, test: str, given: str, severity: str, repository: Repository
) -> None:
    repository(written(program(test, kept=kept), given))
    assert severities("DD173") == [severity]


LOOP = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(data=None, path=None, state=None):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(make())
    if path:
        optimizer.load_state_dict(torch.load(path))
    for batch in data:
        net(batch).backward()
    torch.save(optimizer.state_dict(), "last.pt")
"""
UNPACKS = """\
import click

import loop


@click.command()
@click.option("--transfer", type=str)
@click.option("--begin", type=str)
def main(**kwargs):
    opts = Part(kwargs)
    c = Part()
    c.data = load()
    if opts.transfer is not None:
        {given}
    loop.train(**c)


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("given", "command", "more", "severity"),
    [
        ("c.path = opts.transfer", "", {}, "hint"),
        ("c['path'] = opts.transfer", "", {}, "hint"),
        ("c.update(path=opts.transfer)", "", {}, "hint"),
        ("c.path = opts.transfer", "--transfer a.pt", {}, "warning"),
        ("pass\n    c.path = find()", "", {}, "warning"),
        ("pass\n    c.path, c.state = opts.transfer, None", "", {}, "warning"),
        ("pass\n    c.path = opts.transfer", "", {}, "hint"),
        ("c.path = opts.transfer", "", {"a.yaml": "path: last.pt\n"}, "warning"),
        ("setattr(c, 'path', opts.transfer)", "", {}, "warning"),
    ],
)
def test_what_a_program_unpacks(
    given: str, command: str, more: dict[str, str], severity: str, repository: Repository
) -> None:
    run = f"torchrun --nproc_per_node 4 main.py {command}\n"
    repository({"main.py": UNPACKS.format(given=given), "loop.py": LOOP, "run.sh": run, **more})
    assert severities("DD173") == [severity]


def test_of_what_is_chosen_only_what_is_off_counts(repository: Repository) -> None:
    """A load that is made with one network of several is told, whichever the commands choose."""
    repository(written(program('resume == "large"', "args.names"), "--names small"))
    assert severities("DD173") == ["warning"]


def test_an_option_of_another_program_that_is_imported(repository: Repository) -> None:
    other = 'import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument("--resume", default="x")\n'
    train = program(passed="args.resume").replace("import torch\n", "import argparse\nimport other\nimport torch\n", 1)
    own = 'parser = argparse.ArgumentParser()\nparser.add_argument("--resume", default=0)\nargs = parser.parse_args()\n'
    train = train.replace("from settings import args, config\n", own).replace('config["training"]["resume"]', "3")
    repository({"train.py": train, "other.py": other, "run.sh": "torchrun --nproc_per_node 4 train.py\n"})
    assert severities("DD173") == ["hint"]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("c.path = 1", ["1"]),
        ("c['path'] = 1; f(path=2)", ["1", "2"]),
        ("print(c.path)", []),
        ("c.path += 1", None),
        ("c.path, d = 1, 2", None),
        ("c = {'path': 1}", None),
        ("path = 1", []),
    ],
)
def test_what_gives_a_part(text: str, given: list[str] | None) -> None:
    parts = parts_given(ast.parse(text), "path")
    assert (sorted(map(ast.unparse, parts)) if parts is not None else None) == given
