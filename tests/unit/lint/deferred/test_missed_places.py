"""Whether the runs of several ranks that a repository shows come to the data set that a finding is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddpdoctor.lint import engine
from ddpdoctor.lint.deferred.reached_lines import ReachedLines
from ddpdoctor.lint.deferred.repository import Repository as Project
from ddpdoctor.lint.deferred.shown_runs import runs_of
from ddpdoctor.lint.settings import Settings
from tests.unit.lint.deferred.test_deferred_findings import Repository, repository

__all__ = ["repository"]

DATA = """\
from torchvision.datasets import CIFAR10, MNIST, ImageFolder


def build(name, root):
    if name == "digits":
        return MNIST(root, download=True)
    if name == "small":
        return CIFAR10(root, download=True)
    return ImageFolder(root)
"""

BY_OPTION = """\
import argparse

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import data


def main(args):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(make(args))
    {before}
    for batch in data.build({passed}, args.root):
        net(batch).backward()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="{default}")
    parser.add_argument("--root")
    main(parser.parse_args())
"""


def program(default: str = "pictures", passed: str = "args.data", before: str = "pass") -> str:
    return BY_OPTION.format(default=default, passed=passed, before=before)


def told(code: str = "DD124") -> set[tuple[str, str]]:
    """(file, severity) of each finding."""
    return {(one.file, one.severity.value) for one in engine.lint(["."], Settings(frozenset({code}))).findings}


def severity() -> str:
    """Of what the program does, whichever of its lines it is told of."""
    return max(told(), key=lambda one: one[1] == "warning")[1]


@pytest.mark.parametrize(
    ("command", "severity_"),
    [
        ("torchrun --nproc_per_node 4 other.py --data digits", "hint"),
        ("torchrun --nproc_per_node 4 train.py --data pictures", "hint"),
        ("torchrun --nproc_per_node 4 train.py --data digits", "warning"),
        ("torchrun --nproc_per_node 4 train.py --data small", "warning"),
        ("torchrun --nproc_per_node 4 train.py", "hint"),
        ("torchrun --nproc_per_node 4 train.py --data $DATA", "warning"),
        ("torchrun --nproc_per_node 4 train.py --data your_data", "warning"),
        ("torchrun --nproc_per_node 4 train.py --data pictures --settings run.yaml", "hint"),
        ("torchrun --nproc_per_node 4 train.py --settings run.yaml", "warning"),
        ("torchrun --nproc_per_node 4 train.py --data pictures\npython train.py --data digits", "hint"),
        ("torchrun --nproc_per_node 4 train.py --data pictures\ntorchrun train.py --data digits", "warning"),
    ],
)
def test_a_parameter_that_an_option_gives(command: str, severity_: str, repository: Repository) -> None:
    repository({"train.py": program(), "data.py": DATA, "run.sh": f"{command}\n"})
    assert severity() == severity_


RUN = {"run.sh": "torchrun --nproc_per_node 4 train.py --data pictures\n"}


@pytest.mark.parametrize(
    ("before", "passed", "severity_"),
    [
        ("name = args.data", "name", "hint"),
        ("name = args.data.lower()", "name", "hint"),
        ("name = args.data if args.root else 'plain'", "name", "hint"),
        ("name = args.data if args.root else 'digits'", "name", "warning"),
        ("name = args.data\n    if args.root:\n        name = 'digits'", "name", "warning"),
        ("name = pick(args.data)", "name", "warning"),
        ("args.data = pick()", "args.data", "warning"),
        ("pass", "'digits'", "warning"),
        ("if args.data != 'pictures': data.build('digits', args.root)", "args.data", "hint"),
        ("if args.data == 'pictures': data.build('digits', args.root)", "args.data", "warning"),
        ("data.build('digits', args.root) if args.data == 'pictures' else None", "args.data", "warning"),
    ],
)
def test_what_is_passed(before: str, passed: str, severity_: str, repository: Repository) -> None:
    repository({"train.py": program(passed=passed, before=before), "data.py": DATA, **RUN})
    assert severity() == severity_


@pytest.mark.parametrize(
    ("condition", "severity_"),
    [
        ('name in ("digits", "letters")', "hint"),
        ('name in ("digits", "pictures")', "warning"),
        ('name not in ("pictures", "letters")', "hint"),
        ('name != "digits"', "warning"),
        ('"digit" in name', "hint"),
        ('"pic" in name', "warning"),
        ('name.startswith("dig")', "hint"),
        ('name.startswith("pic")', "warning"),
        ("name.endswith(known)", "warning"),
        ('name == "digits" and root', "hint"),
        ('name == "digits" or root', "hint"),
        ('name == "digits" or len(root) > 3', "warning"),
        ('not name == "pictures"', "hint"),
        ("name is None", "hint"),
        ("name", "warning"),
        ("name == 3", "warning"),
        ('"a" < name < "b"', "warning"),
        ("name > 'a'", "warning"),
    ],
)
def test_what_is_asked(condition: str, severity_: str, repository: Repository) -> None:
    data = DATA.replace('name == "digits"', condition).replace("CIFAR10(root, download=True)", "None")
    repository({"train.py": program(), "data.py": data, **RUN})
    assert severity() == severity_


BUILDER = """\
from torchvision.datasets import MNIST, ImageFolder


class Builder(object):
    digits = 1
    pictures = 2

    def build(self, kind, root):
        if kind == self.digits:
            return MNIST(root, download=True)
        return ImageFolder(root)
"""


@pytest.mark.parametrize(
    ("passed", "missed"),
    [("builder.pictures", True), ("data.Builder.pictures", False), ("Builder.pictures", True),
     ("builder.digits", False), ("builder.other", False)],
)  # fmt: skip
def test_what_a_class_has_by_a_name(passed: str, missed: bool, repository: Repository) -> None:
    text = program(passed=passed, before="builder = data.Builder()").replace("data.build(", "builder.build(")
    repository({"train.py": text, "data.py": BUILDER, **RUN})
    project, path = Project(str(Path.cwd())), str(Path("train.py").resolve())
    lines = ReachedLines(project, runs_of(project, path))
    assert (lines.missed("data.py", 10) is not None) is missed


BY_SETTING = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import data


def main(cfg):
    dist.init_process_group("nccl")
    net = DistributedDataParallel(make(cfg))
    for name in cfg.data.train if cfg.learn else cfg.data.test:
        for batch in data.build(name, cfg.root):
            net(batch).backward()


if __name__ == "__main__":
    main(read_settings())
"""


@pytest.mark.parametrize(
    ("files", "more", "severity_"),
    [
        ({"a.yaml": "data:\n  train: ('pictures',)\n  test: small\n"}, "", "warning"),
        ({"a.yaml": "data:\n  train: ('pictures',)\n  test: letters\n"}, "", "hint"),
        ({"a.yaml": "data:\n  train:\n    - pictures\n  test: letters\n"}, "", "warning"),
        ({"a.yaml": "data:\n  train: ${data}\n  test: letters\n"}, "", "warning"),
        ({"a.yaml": "data:\n  train: unknown\n  test: other\n"}, "", "warning"),
        ({"a.json": '{\n  "train": "pictures",\n  "test": ["pictures"]\n}\n'}, "", "hint"),
        ({"a.json": '{"train": "pictures", "test": "pictures"}\n'}, "", "warning"),
        ({"c.py": "_C.data.train = ('pictures',)\n_C.data.test = 'pictures'\n"}, "", "hint"),
        ({"c.py": "_C.data.train = pick()\n_C.data.test = 'pictures'\n"}, "", "warning"),
        ({"c.py": "given = {'train': 'pictures', 'test': 'pictures'}\n"}, "", "hint"),
        ({"a.yaml": "train: digits\ntest: digits\n"}, "data.train=pictures data.test=pictures", "hint"),
        ({"a.yaml": "train: digits\ntest: digits\n"}, "data.train \"'pictures',\" data.test 'pictures'", "hint"),
        ({"a.yaml": "train: pictures\ntest: pictures\n"}, "data.train=digits", "warning"),
        ({"a/x.yaml": "train: pictures\ntest: pictures\n", "b/y.yaml": "train: digits\n"}, "a/x.yaml", "hint"),
        ({"a/x.yaml": "train: pictures\ntest: pictures\n", "a/y.yaml": "train: digits\n"}, "a/x.yaml", "warning"),
        ({}, "", "warning"),
    ],
)  # fmt: skip
def test_a_setting(files: dict[str, str], more: str, severity_: str, repository: Repository) -> None:
    data = DATA.replace("return ImageFolder", 'assert name in ("pictures", "letters")\n    return ImageFolder')
    text = BY_SETTING.replace("import data\n", "import c\nimport data\n") if "c.py" in files else BY_SETTING
    run = f"torchrun --nproc_per_node 4 train.py {more}\n"
    repository({"train.py": text, "data.py": data, "run.sh": run, **files})
    assert severity() == severity_


def test_settings_for_another_program_alone(repository: Repository) -> None:
    data = DATA.replace("return ImageFolder", 'assert name in ("pictures", "letters")\n    return ImageFolder')
    files = {"x.yaml": "train: pictures\ntest: pictures\n", "y.yaml": "train: digits\n", "tune.py": "main()\n"}
    run = "torchrun --nproc_per_node 4 train.py x.yaml\npython tune.py y.yaml\n"
    repository({"train.py": BY_SETTING, "data.py": data, "run.sh": run, **files})
    assert severity() == "hint"


@pytest.mark.parametrize(
    ("also", "where"),
    [
        ('    if name == "pictures":\n        return CIFAR10(root, download=True)\n', ["data.py:6", "data.py:10"]),
        ('    if name == "pictures":\n        return MNIST(root, download=True)\n', ["data.py:6", "data.py:10"]),
        ('    if name == "letters":\n        return MNIST(root, download=True)\n', None),
    ],
)
def test_what_another_place_shows(also: str, where: list[str] | None, repository: Repository) -> None:
    """Of one line of the program only one place is told: where that is not come to, the one that is."""
    data = DATA.replace("    return ImageFolder", f"{also}    return ImageFolder")
    repository({"train.py": program(), "data.py": data, **RUN})
    findings = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    places = [[f"{note.file}:{note.line}" for note in one.related] for one in findings if one.severity.value != "hint"]
    assert places == ([where] if where is not None else [])


def test_who_names_a_file_means_to_start_it(repository: Repository) -> None:
    repository({"train.py": program(), "data.py": DATA, **RUN})
    (finding,) = engine.lint(["train.py"], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == "warning"


SEEDED = """\
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import data


def main(args):
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    net = DistributedDataParallel(make(args))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    held = data.build(args.data, args.root)
    loader = DataLoader(held, 8, sampler=DistributedSampler(held), num_workers=2)
    for epoch in range(9):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            net(batch).backward()
            optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="pictures")
    parser.add_argument("--root")
    main(parser.parse_args())
"""
AUGMENTED = """\
from torchvision import transforms
from torchvision.datasets import CIFAR10, ImageFolder


def small(root):
    return CIFAR10(root, transform=transforms.Compose([transforms.RandomCrop(32), transforms.ToTensor()]))


def pictures(root):
    return ImageFolder(root, transform=transforms.Compose([{crop}, transforms.{flip}, transforms.ToTensor()]))


def build(name, root):
    if name == "cifar10":
        return small(root)
    return pictures(root)
"""


@pytest.mark.parametrize(
    ("crop", "flip", "data", "severity_"),
    [
        ("transforms.RandomResizedCrop(224)", "RandomHorizontalFlip()", "pictures", "hint"),
        ("transforms.RandomResizedCrop(224)", "RandomHorizontalFlip()", "cifar10", "warning"),
        ("transforms.Resize((256, 256)), transforms.RandomResizedCrop(224)", "RandomHorizontalFlip()", "pictures",
         "warning"),
        ("transforms.CenterCrop(224)", "RandomHorizontalFlip()", "pictures", "warning"),
        ("transforms.CenterCrop(224)", "Normalize(0, 1)", "pictures", "hint"),
    ],
)  # fmt: skip
def test_what_is_drawn(crop: str, flip: str, data: str, severity_: str, repository: Repository) -> None:
    """A crop of random size parts the ranks, where the pictures have several sizes."""
    run = f"torchrun --nproc_per_node 4 train.py --data {data}\n"
    repository({"train.py": SEEDED, "data.py": AUGMENTED.format(crop=crop, flip=flip), "run.sh": run})
    assert told("DD131") == {("train.py", severity_)}


@pytest.mark.parametrize(
    ("stored", "severity_"), [("cudnn.deterministic = True", "hint"), ("args.deterministic = True", "warning")]
)
def test_what_is_set_in_torch_is_no_option(stored: str, severity_: str, repository: Repository) -> None:
    text = SEEDED.replace(
        "    torch.manual_seed(0)\n", f"    if args.deterministic:\n        torch.manual_seed(0)\n        {stored}\n"
    )
    text = text.replace(
        '    parser.add_argument("--root")\n',
        '    parser.add_argument("--root")\n    parser.add_argument("--deterministic", action="store_true")\n',
    )
    text = text.replace("import torch\n", "import torch\nimport torch.backends.cudnn as cudnn\n", 1)
    augmented = AUGMENTED.format(crop="transforms.CenterCrop(224)", flip="RandomHorizontalFlip()")
    repository({"train.py": text, "data.py": augmented, **RUN})
    assert told("DD131") == {("train.py", severity_)}
