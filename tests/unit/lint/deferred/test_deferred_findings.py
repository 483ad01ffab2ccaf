"""Findings that one file cannot decide are decided by the other files of its project, linted or not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ddpdoctor.lint import engine
from ddpdoctor.lint.deferred import started_ranks
from ddpdoctor.lint.deferred.repository import Repository as Project
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from ddpdoctor.model.finding import RelatedRole

#: writes the files of a repository, in which the test then runs
Repository = Callable[[Mapping[str, str]], None]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    def write(files: Mapping[str, str]) -> None:
        for name, content in {".git/HEAD": "", **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content, encoding="utf-8")
        monkeypatch.chdir(tmp_path)

    return write


FACTORY = """
from torch.utils.data import DataLoader, DistributedSampler


def loaders(data):
    return {"train": DataLoader(data, sampler=DistributedSampler(data))}
"""
LOOP = """
class Runner:
    def __init__(self, parts, epochs):
        self.parts, self.epochs = parts, epochs

    def fit(self):
        for number in range(self.epochs):
            for x in self.parts["train"]:
                step(x)
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, text in {"__init__": "", "data": FACTORY, "loop": LOOP}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return folder


def found(*paths: str) -> list[tuple[str, int, str]]:
    report = engine.lint(paths, Settings(frozenset({"DD101"}), hints=frozenset()))
    return [(f.file, f.line, f.severity.value) for f in report.findings]


@pytest.mark.parametrize("linted", ["shop", "shop/data.py"])
def test_a_factory_whose_project_nowhere_tells_the_epoch(shop: Path, linted: str) -> None:
    del shop
    assert found(linted) == [("shop/data.py", 6, "warning")]


@pytest.mark.parametrize(
    "script",
    ["for epoch in range(3):\n    loader.sampler.set_epoch(epoch)\n", "from accelerate import Accelerator\n"],
    ids=["told", "a framework"],
)
def test_a_script_that_is_not_linted_tells_it(shop: Path, script: str) -> None:
    (shop.parent / "train.py").write_text(script, encoding="utf-8")
    assert found("shop") == []


def test_a_project_without_epochs(shop: Path) -> None:
    (shop / "loop.py").unlink()
    assert found("shop") == []


def test_a_script_that_shows_the_loop_tells_it_once(shop: Path) -> None:
    script = "from shop.data import loaders\nfrom shop.loop import Runner\n\nRunner(loaders(range(9)), 3).fit()\n"
    (shop.parent / "train.py").write_text(script, encoding="utf-8")
    assert found("train.py", "shop") == [("train.py", 4, "warning")]


def test_a_comment_that_ignores_it(shop: Path) -> None:
    text = FACTORY.replace("(data))}", "(data))}  # ddpdoctor: ignore[DD101] one epoch")
    (shop / "data.py").write_text(text, encoding="utf-8")
    assert found("shop") == []


def test_a_framework_that_leaves_the_epoch_to_the_program_does_not_tell_it(shop: Path) -> None:
    (shop.parent / "train.py").write_text("import horovod.torch as hvd\nfrom ray import train\n", encoding="utf-8")
    assert found("shop") == [("shop/data.py", 6, "warning")]


TAKES = """
import argparse
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
dist.init_process_group("gloo")
"""
PASSES_ON = """
import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
if "LOCAL_RANK" not in os.environ:
    os.environ["LOCAL_RANK"] = str(args.local_rank)
"""


CONDITIONAL = """
import os
import torch.distributed as dist

if "WORLD_SIZE" in os.environ:
    dist.init_process_group("gloo")
train()
dist.barrier()
"""


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("Run `python tools/train.py` on one GPU.", True),
        ("$ CUDA_VISIBLE_DEVICES=0 python3 tools/train.py --debug", True),
        ("$ torchrun --nproc_per_node 8 tools/train.py", False),
        ("$ python -m torch.distributed.launch tools/train.py", False),
        ("$ python tools/other.py", False),
        ("", False),
    ],
)
def test_a_group_under_a_condition_matters_where_something_starts_one_process(
    text: str, started: bool, repository: Repository
) -> None:
    """What shows it takes the condition away; of a rule that tells hints alone, no more is made of it."""
    repository({"tools/train.py": CONDITIONAL, "README.md": text})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD123"}))).findings
    assert finding.severity.value == "hint"
    assert finding.message.startswith("where it is started without a launcher: ") != started
    shown = [note.file for note in finding.related if note.message == "it is started here without a launcher"]
    assert shown == ["README.md"] * started


def test_where_torch_1_is_asked_for_its_launcher_passes_the_underscore(repository: Repository) -> None:
    repository({"train.py": TAKES, "requirements.txt": "torch==1.13.1\n"})
    shown = engine.lint(["."], Settings(frozenset({"DD146"}), hints=frozenset())).findings
    every = engine.lint(["."], Settings(frozenset({"DD146"}))).findings
    assert (shown, [finding.severity.value for finding in every]) == ((), ["hint"])


@pytest.mark.parametrize(
    ("scripts", "severity"),
    [
        ({}, "warning"),
        ({"run.sh": "python tools/train.py\n"}, "hint"),
        ({"run.sh": "python -m torch.distributed.launch --nproc_per_node 8 tools/train.py\n"}, "error"),
        ({"tools/run.sh": 'PORT=$1\npython -m torch.distributed.launch \\\n "$(dirname "$0")/train.py"\n'}, "error"),
        ({"run.sh": "python -m torch.distributed.launch $ROOT/tools/train.py | tee log.py\n"}, "error"),
        # another program; from another folder; for another torch; only a comment
        ({"run.sh": "python -m torch.distributed.launch other.py\n"}, "hint"),
        ({"run.sh": "cd tools\npython -m torch.distributed.launch train.py\n"}, "warning"),
        (
            {"run.sh": "python -m torch.distributed.launch tools/train.py\n", "requirements.txt": "torch==1.8.1\n"},
            "hint",
        ),
        (
            {
                "run.sh": "python -m torch.distributed.launch tools/train.py\n",
                "README.md": "Tested with PyTorch 1.7.\n",
            },
            "hint",
        ),
        ({"run.sh": "python -m torch.distributed.launch tools/train.py\n", "README.md": "torch>=1.7\n"}, "error"),
        ({"run.sh": "# python -m torch.distributed.launch tools/train.py\n"}, "warning"),
        (
            {"run.sh": "torchrun tools/train.py", "README.md": "Or: `python -m torch.distributed.launch train.py`"},
            "warning",
        ),
        ({"run.sh": "torchrun --nproc_per_node 8 tools/train.py\n"}, "hint"),
        ({"docs/start.md": "python -m torch.distributed.run tools/train.py\n"}, "hint"),
        (
            {"run.sh": "python -m torch.distributed.launch \\\n  --nproc_per_node 8 --use_env \\\n  train.py\n"},
            "hint",
        ),
    ],
)
def test_how_the_scripts_of_a_repository_start_it(
    scripts: dict[str, str], severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launcher that sets LOCAL_RANK needs no option, and the old one passes another."""
    for name, text in {".git/HEAD": "", "tools/train.py": PASSES_ON, **scripts}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (finding,) = engine.lint(["tools"], Settings(frozenset({"DD146"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if torch.distributed.launch starts it") == (severity == "hint")
    (asked,) = (note for note in finding.related if note.role is not RelatedRole.NOTE)
    elsewhere = {"hint": (False,), "error": (True,), "warning": (False, True)}[severity]
    assert (asked.file != "tools/train.py") in elsewhere


OFFERS = """
import argparse

import helper

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    helper.distributed(parser.parse_args())
"""
HELPS = "def distributed(args):\n    READ\n"


@pytest.mark.parametrize(
    ("read", "command", "severity"),
    [
        ("args.local_rank", "deepspeed tools/train.py", "hint"),
        ("args.local_rank", "deepspeed --include localhost:0 tools/train.py\npython -m tools.train", "hint"),
        ("args.local_rank", "deepspeed tools/train.py\ntorchrun --nproc_per_node 8 tools/train.py", "warning"),
        ("args.local_rank", "deepspeed tools/train.py\npython -m torch.distributed.launch -m tools.train", "error"),
        ("args.local_rank", "torchrun --nproc_per_node 8 tools/train.py --deepspeed zero.json", "warning"),
        ("args.lr", "torchrun --nproc_per_node 8 tools/train.py", "hint"),
        # who keeps it elsewhere has not read it, unless something reads it from there
        ("conf['local_rank'] = args.local_rank", "torchrun --nproc_per_node 8 tools/train.py", "hint"),
        ("conf.local_rank = args.local_rank", "torchrun --nproc_per_node 8 tools/train.py", "hint"),
        ("conf.local_rank = args.local_rank\n    f(conf.local_rank)", "torchrun tools/train.py", "warning"),
        ("conf.local_rank = args.local_rank + 1", "torchrun --nproc_per_node 8 tools/train.py", "warning"),
        ("rank = args.local_rank", "torchrun --nproc_per_node 8 tools/train.py", "warning"),
        # who shows all options at once reads none of them
        ("print(vars(args))", "torchrun --nproc_per_node 8 tools/train.py", "hint"),
        ("args.lr", "python -m torch.distributed.launch tools/train.py", "error"),
        ("args.lr", "", "hint"),
        ("dist.init_process_group('nccl')", "", "warning"),
    ],
)
def test_who_passes_the_option_and_who_reads_it(read: str, command: str, severity: str, repository: Repository) -> None:
    repository({"tools/train.py": OFFERS, "tools/helper.py": HELPS.replace("READ", read), "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD146"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("program", "command", "severity"),
    [
        ("import options", "python -m torch.distributed.launch run.py", "warning"),
        ("import options", "torchrun run.py", "hint"),
        ("import others", "python -m torch.distributed.launch run.py", "hint"),
    ],
)
def test_options_of_a_program_that_another_file_declares(
    program: str, command: str, severity: str, repository: Repository
) -> None:
    repository({"options.py": PASSES_ON, "run.py": f"{program}\n", "README.md": f"    {command}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD146"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(("imported", "severity"), [("mmcv.runner", "hint"), ("mmengine.runner", "error")])
def test_a_program_for_torch_1(imported: str, severity: str, repository: Repository) -> None:
    program = f"from {imported} import init\n{OFFERS}"
    command = "python -m torch.distributed.launch train.py"
    repository({"train.py": program, "helper.py": HELPS.replace("READ", "args.lr"), "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD146"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("where torch is 2.0 or newer, ") == (severity == "hint")


def test_an_option_that_nothing_reads_is_an_error_where_a_script_starts_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place that shows it is named, and where there is none nothing is said of the question."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("")
    (tmp_path / "run.sh").write_text("set -e\npython -m torch.distributed.launch train.py\n")
    # what a comment starts is shown as several ranks, and by no command
    (tmp_path / "notes.sh").write_text("".join(f"# torchrun --nproc_per_node 4 {n}.py\n" for n in ("test", "known")))
    for name in ("train.py", "test.py"):
        (tmp_path / name).write_text(TAKES)
    (tmp_path / "known.py").write_text(TAKES.replace("parse_args", "parse_known_args"))
    monkeypatch.chdir(tmp_path)
    found = {f.file: f for f in engine.lint(["."], Settings(frozenset({"DD146"}))).findings}
    assert {file: finding.severity.value for file, finding in found.items()} == {
        "known.py": "warning", "test.py": "warning", "train.py": "error",
    }  # fmt: skip
    assert found["test.py"].related == ()
    assert [(note.file, note.line) for note in found["train.py"].related] == [("run.sh", 2)]
    # who lints one file alone, as editors do, asks nobody
    (alone,) = Linter(Settings(frozenset({"DD146"}))).file("train.py", named=True).findings
    assert (alone.severity.value, alone.related) == ("warning", ())


@pytest.mark.parametrize(
    ("options", "parsing", "severity"),
    [
        ("--nproc_per_node=1", "parse_known_args", "hint"),
        ("--nproc_per_node=2", "parse_known_args", "warning"),
        # of one process, too, it ends at an option that it does not know
        ("--nproc_per_node=1", "parse_args", "error"),
    ],
)
def test_the_option_of_a_process_that_is_alone(
    options: str, parsing: str, severity: str, repository: Repository
) -> None:
    command = f"python -m torch.distributed.launch {options} train.py"
    repository({"train.py": TAKES.replace("parse_args", parsing), "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD146"}))).findings
    assert finding.severity.value == severity


LOADS = """\
import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--start-from", default="")
args = parser.parse_args()
dist.init_process_group("nccl")
model = torch.nn.Linear(4, 4).cuda()
if args.start_from:
    optimizer.load_state_dict(torch.load(args.start_from))
torch.save(model.state_dict(), "last.pt")
"""


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        # nothing shows several ranks, or those of another program
        ("", "hint"),
        ("torchrun other.py", "hint"),
        ("torchrun --nproc_per_node 8 train.py", "hint"),
        ("torchrun --nproc_per_node 8 train.py --start_from last.pt", "warning"),
        ("srun python train.py --start-from=last.pt", "warning"),
        # one process
        ("python train.py --start-from=last.pt", "hint"),
        # what it hands on is not seen
        ('torchrun train.py "$@"', "warning"),
    ],
)
def test_what_only_an_option_loads_matters_where_a_script_passes_it(
    command: str, severity: str, repository: Repository
) -> None:
    repository({"train.py": LOADS, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity
    told = {note.message for note in finding.related} & {"no script or text that starts it passes --start_from"}
    assert bool(told) == (severity == "hint" and "torchrun" in command and "other" not in command)


@pytest.mark.parametrize(
    ("starts", "severity"),
    [
        ("", "hint"),
        ("mp.spawn(run, nprocs=8)", "warning"),
        ("mp.spawn(run, args=(args,), nprocs=1)", "hint"),
        ("run(args)", "hint"),
        ("# torchrun --nproc_per_node 8 train.py", "warning"),
    ],
)
def test_a_load_where_no_text_says_how_anything_is_started(starts: str, severity: str, repository: Repository) -> None:
    loads = LOADS.replace('default=""', 'default="last.pt"')
    repository({"train.py": f"{starts}\n{loads}", "README.md": "# Letters\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert (finding.severity.value, bool(finding.condition)) == (severity, severity == "hint")


def test_a_load_where_a_script_starts_what_it_is_told(repository: Repository) -> None:
    loads = LOADS.replace("args.start_from", '"last.pt"')
    repository({"train.py": loads, "run.sh": "torchrun --nproc_per_node 8 $program\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == "warning"


@pytest.mark.parametrize(
    ("commands", "severity"),
    [
        ("torchrun --nproc_per_node 8 train.py --start-from 'w/regnet-a5fe301d.pth'", "hint"),
        ("torchrun --nproc_per_node 8 train.py --start_from=w/resnet50-0676ba61.pth --lr 1", "hint"),
        ("torchrun train.py --start-from w/net-a5fe301d.pth\ntorchrun train.py --start-from last.pth", "warning"),
        ('torchrun train.py --start-from "$WEIGHTS"', "warning"),
    ],
)
def test_published_weights_are_of_the_cpu(commands: str, severity: str, repository: Repository) -> None:
    repository({"train.py": LOADS, "run.sh": commands})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"libs/fair/setup.py": 'setup(name="fairseq")'}, "hint"),
        ({"libs/fair/pyproject.toml": '[project]\nname = "vllm"'}, "hint"),
        ({"libs/fair/setup.py": 'setup(name="open-clip-torch")'}, "hint"),
        # a project of its own, and what is run from outside of the copy
        ({"libs/fair/setup.py": 'setup(name="letters")'}, "warning"),
        ({"libs/fair/setup.py": 'setup(name="fairseq")', "run.sh": "torchrun libs/fair/examples/train.py"}, "warning"),
        # the repository is the library
        ({"setup.py": 'setup(name="fairseq")'}, "warning"),
    ],
)
def test_an_example_of_a_library_that_was_copied(files: dict[str, str], severity: str, repository: Repository) -> None:
    loads = LOADS.replace("args.start_from", '"last.pt"')
    readme = {"libs/fair/README.md": "torchrun --nproc_per_node 8 examples/train.py"}
    repository({"libs/fair/examples/train.py": loads, **readme, **files})
    (finding,) = engine.lint(["libs/fair/examples"], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(("library", "package"), [("fairseq", "fairseq"), ("mmsegmentation", "mmseg")])
def test_the_package_of_a_library_that_was_copied(library: str, package: str, repository: Repository) -> None:
    loads = LOADS.replace("args.start_from", '"last.pt"')
    readme = {"fair/README.md": f"torchrun --nproc_per_node 8 {package}/train.py"}
    repository({f"fair/{package}/train.py": loads, "fair/setup.py": f'setup(name="{library}")', **readme})
    (finding,) = engine.lint(["fair"], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == "warning"


RESUMES = """\
import argparse

import torch
import torch.distributed as dist

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", DEFAULT)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_rank())
    model = make()
    if args.resume:
        for part in parts(args):
            optimizer.load_state_dict(torch.load(part))
    torch.save(model.state_dict(), "last.pt")
"""


@pytest.mark.parametrize(
    ("default", "command", "severity"),
    [
        ('action="store_true"', "torchrun --nproc_per_node 8 train.py", "hint"),
        ('default=""', "torchrun --nproc_per_node 8 train.py", "hint"),
        ('default="last"', "torchrun --nproc_per_node 8 train.py", "warning"),
        ('action="store_true"', "torchrun --nproc_per_node 8 train.py --resume", "warning"),
        ('action="store_true"', "", "hint"),
    ],
)
def test_what_is_loaded_only_with_an_option_that_is_off(
    default: str, command: str, severity: str, repository: Repository
) -> None:
    program = RESUMES.replace("DEFAULT", default)
    repository({"train.py": program, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity


REMOVED = """\
import torch.distributed as dist

dist.init_process_group("nccl")
dist.get_group_rank
dist.reduce_multigpu([])
"""


@pytest.mark.parametrize(("torch", "severity"), [("torch>=1.7", "error"), ("torch==1.7.1", "hint")])
def test_what_a_new_torch_does_is_a_hint_where_an_old_one_is_asked_for(
    torch: str, severity: str, repository: Repository
) -> None:
    repository({"train.py": REMOVED, "requirements.txt": torch})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD127"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"environment.yml": "dependencies:\n  - pytorch=1.5.0=py3.7_cuda\n"}, "hint"),
        ({"docker/Dockerfile": "FROM nvcr.io/nvidia/pytorch:19.05-py3\n"}, "hint"),
        ({"Dockerfile": "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel\n"}, "warning"),
    ],
)
def test_a_name_that_early_versions_may_have_had(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"train.py": "import torch.distributed as dist\n\nprint(dist.dist_backend.GLOO)\n", **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD127"}))).findings
    assert finding.severity.value == severity


SPAWNS = """
def start(args):
    # spawn them
    mp.spawn(main, nprocs=8)
"""
SPAWNS_IF = """
def start(args):
    if args.all:
        mp.spawn(main, nprocs=8)
"""
OPTION = """
import argparse
import helper

parser = argparse.ArgumentParser()
parser.add_argument("--all", action="store_true")
"""
EPOCHS = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

if __name__ == "__main__":
    dist.init_process_group("gloo")
    data = list(range(100))
    loader = DataLoader(data, sampler=DistributedSampler(data))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    for epoch in range(10):
        for batch in loader:
            model(batch.float().view(-1, 1)).sum().backward()
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "error"),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py"}, "error"),
        ({"README.md": "python train.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 1 train.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 1 -m train"}, "hint"),
        ({"run.sh": "GPUS=1\ntorchrun --nproc_per_node $GPUS train.py"}, "warning"),
        # one that no command starts, where several ranks are started of others
        ({"run.sh": "GPUS=1\ntorchrun --nproc_per_node $GPUS other.py"}, "hint"),
        # a module that is no file here is no program of it
        ({"run.sh": "python -m pip install torch"}, "error"),
        ({"run.sh": "python train.py", "job.yaml": "apiVersion: v1\nkind: PyTorchJob\n"}, "error"),
        ({"run.sh": "python train.py", "job.yaml": "apiVersion: v1\nkind: Job\n"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 1 --nnodes 4 train.py"}, "error"),
        ({"run.sh": "torchrun --nproc_per_node 1 train.py", "docs/a.md": "torchrun nets/train.py"}, "error"),
        ({"run.sh": "python train.py", "docs/a.md": "torchrun far/train.py", "other/train.py": "main()"}, "hint"),
        ({"README.md": "python train.py", "run.sh": "torchrun --nproc_per_node 8 train.py"}, "error"),
        ({"README.md": "python train.py", "start.py": "from train import main\nmp.spawn(main)\n"}, "error"),
        (
            {
                "README.md": "python train.py",
                "start.py": "from run import runs\nmp.spawn(runs)\n",
                "run.py": "import train\n",
            },
            "error",
        ),
        # what starts ranks, but other ones
        ({"README.md": "python train.py", "start.py": "from other import main\nmp.spawn(main)\n"}, "hint"),
        ({"README.md": "python train.py", "train.py": f"import helper\n{EPOCHS}", "helper.py": SPAWNS}, "error"),
        ({"README.md": "python train.py", "train.py": OPTION + EPOCHS, "helper.py": SPAWNS_IF}, "hint"),
        ({"README.md": "python train.py --all", "train.py": OPTION + EPOCHS, "helper.py": SPAWNS_IF}, "error"),
        # the copy of a library that starts no ranks of the program, and of one that may
        ({"README.md": "python train.py", "train.py": f"import timm\n{EPOCHS}", "timm/__init__.py": SPAWNS}, "hint"),
        ({"README.md": "python train.py", "train.py": f"import nets\n{EPOCHS}", "nets/__init__.py": SPAWNS}, "error"),
        # a process that is looked at
        ({"README.md": "python train.py", "train.py": f"import psutil\npsutil.Process(1)\n{EPOCHS}"}, "hint"),
        # nothing is ever started with a launcher, by whatever name a script starts it
        ({"run.sh": "python other.py"}, "hint"),
        ({"run.sh": "python other.py\ntorchrun another.py"}, "hint"),
    ],
)
def test_what_harms_several_ranks_where_texts_start_one_process(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": EPOCHS, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == severity
    conditions = ("if it is started as several ranks, ", "if several ranks run it, ")
    assert finding.message.startswith(conditions) == (severity != "error")


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("", "warning"),
        ("torchrun --nproc_per_node 8 train.py", "hint"),
        ("torchrun --nproc_per_node 8 train.py --epochs 1", "hint"),
        ("torchrun --nproc_per_node 8 train.py --epochs 10", "error"),
        ("torchrun --nproc_per_node 8 train.py --epochs=$EPOCHS", "error"),
        # of one process, however many they are
        ("python train.py --epochs 10", "hint"),
    ],
)
def test_an_epoch_that_is_the_only_one_by_default(command: str, severity: str, repository: Repository) -> None:
    option = 'args.add_argument("--epochs", type=int, default=1)\n    args = args.parse_args()\n'
    program = EPOCHS.replace(
        "    dist.init_process_group", f"    args = argparse.ArgumentParser()\n    {option}    dist.init_process_group"
    )
    program = f"import argparse\n{program}".replace("range(10)", "range(args.epochs)")
    repository({"train.py": program, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == severity
    ranks = "--epochs 10" not in command or "torchrun" in command
    assert finding.message.startswith("if --epochs is more than 1, ") == (severity != "error" and ranks)


def test_the_comments_of_a_program_show_how_it_is_started(repository: Repository) -> None:
    option = 'args.add_argument("--epochs", type=int, default=1)\n    args = args.parse_args()\n'
    program = EPOCHS.replace(
        "    dist.init_process_group", f"    args = argparse.ArgumentParser()\n    {option}    dist.init_process_group"
    )
    program = f"import argparse\n{program}".replace("range(10)", "range(args.epochs)")
    repository({"train.py": f"# torchrun --nproc_per_node=4 train.py --epochs=3\n{program}"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == "error"


CHOSEN = EPOCHS.replace("sampler=DistributedSampler(data)", "sampler=DistributedSampler(data) if apart else None")


@pytest.mark.parametrize(
    ("command", "severity"),
    [("python train.py", "hint"), ("torchrun --nproc_per_node 1 train.py", "hint")],
)
def test_a_sampler_that_is_made_only_where_there_are_ranks(command: str, severity: str, repository: Repository) -> None:
    repository({"train.py": CHOSEN, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == severity


RESTORES = """\
import torch
import torch.distributed as dist


def restore(model):
    optimizer.load_state_dict(torch.load("last.pt"))


def train(model):
    dist.init_process_group("nccl")
    CALL
    torch.cuda.synchronize()
    SAVE


if __name__ == "__main__":
    train(make())
"""


@pytest.mark.parametrize(
    ("call", "save", "command", "severity"),
    [
        # nothing shows several ranks
        ("restore(model)", 'torch.save(model.state_dict(), "last.pt")', "", "hint"),
        ("restore(model)", 'torch.save(model.state_dict(), "last.pt")', "torchrun --nproc_per_node 8 a.py", "warning"),
        # nothing writes the file
        ("restore(model)", "# torch.save(model.state_dict())", "", "hint"),
        # another command starts several, though not by a name that is known
        (
            "restore(model)",
            'torch.save(model.state_dict(), "last.pt")',
            "srun torchrun --nnodes 4 --nproc_per_node 1 a.py\n$PY -u a.py --apart\n",
            "warning",
        ),
        # nobody calls it
        ("pass", 'torch.save(model.state_dict(), "last.pt")', "", "hint"),
        # GPU 0 of the machine is the rank's own
        (
            "restore(model)",
            'torch.save(model.state_dict(), "last.pt")',
            "srun torchrun --nnodes 4 \\\n --nproc_per_node 1 \\  # a GPU each\n a.py",
            "hint",
        ),
        # Slurm shows each process its own GPU alone
        (
            "restore(model)",
            'torch.save(model.state_dict(), "last.pt")',
            "#SBATCH --gpus-per-task=1\nsrun --unbuffered python a.py --apart\n",
            "hint",
        ),
        (
            "restore(model)",
            'torch.save(model.state_dict(), "last.pt")',
            "#SBATCH --gpus-per-task=16\nsrun --unbuffered torchrun --nproc_per_node 16 a.py --apart\n",
            "warning",
        ),
    ],
)
def test_what_is_loaded_without_harm(call: str, save: str, command: str, severity: str, repository: Repository) -> None:
    repository({"a.py": RESTORES.replace("CALL", call).replace("SAVE", save), "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity


def notebook(*cells: str) -> str:
    written = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


STARTS_MODULES = """
def start(module, gpus=1):
    subprocess.run(["torchrun", "--nproc_per_node", str(gpus), "-m", module] + options)
"""


@pytest.mark.parametrize(
    ("cells", "severity"),
    [
        (["!torchrun --nproc_per_node=8 a.py"], "warning"),
        (["# once\n!torchrun --nproc_per_node=1 a.py"], "hint"),
        (["gpus = 1", "!torchrun --nproc_per_node={gpus} a.py"], "hint"),
        (["gpus = torch.cuda.device_count()", "!torchrun --nproc_per_node={gpus} a.py"], "warning"),
        (["gpus = 1", STARTS_MODULES, "which = 'a'\nstart(which, gpus=gpus)"], "hint"),
        (["gpus = 2", STARTS_MODULES, "which = 'a'\nstart(which, gpus=gpus)"], "warning"),
        (["gpus = 1", "os.system(f'torchrun --nproc_per_node={gpus} a.py')"], "hint"),
        (["%%bash\nGPUS=1\ntorchrun --nproc_per_node=$GPUS \\\n  a.py"], "hint"),
    ],
)
def test_what_a_notebook_starts(cells: list[str], severity: str, repository: Repository) -> None:
    program = RESTORES.replace("CALL", "restore(model)").replace("SAVE", 'torch.save(model.state_dict(), "last.pt")')
    repository({"a.py": program, "run.ipynb": notebook(*cells)})
    (finding,) = engine.lint(["a.py"], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity


KEEPS = """\
import pytorch_lightning as pl
import torch.distributed as dist

trainer = pl.Trainer(devices=2)
trainer.fit(make())
if dist.get_rank() == 0:
    trainer.save_checkpoint("last.ckpt")
"""


@pytest.mark.parametrize(
    ("version", "severity"), [("==1.6.1", "hint"), ("<2", "hint"), (">=1.6", "warning"), ("==2.4", "warning")]
)
def test_a_barrier_that_came_with_lightning_2(version: str, severity: str, repository: Repository) -> None:
    repository({"train.py": KEEPS, "requirements.txt": f"pytorch_lightning{version}"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD175"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("where Lightning is 2.0 or newer, ")


TASK = """\
import pytorch_lightning as pl
import torch.distributed as dist


class Task(pl.LightningModule):
    def on_train_epoch_end(self):
        if dist.get_rank() == 0:
            self.trainer.save_checkpoint("last.ckpt")
"""
TESTS_TASK = """\
import pytorch_lightning as pl

from task import Task

task = Task()
task.trainer = pl.Trainer(devices=2)
task.on_train_epoch_end()
"""


def test_what_another_file_comes_to_is_asked_about_where_that_is_a_hint(repository: Repository) -> None:
    repository({"task.py": TASK, "test_task.py": TESTS_TASK, "requirements.txt": "pytorch_lightning<2"})
    found = engine.lint(["."], Settings(frozenset({"DD175"}))).findings
    assert found
    assert {finding.severity.value for finding in found} == {"hint"}


SAVES = """\
import torch.distributed as dist
from transformers import Trainer, TrainingArguments

args = TrainingArguments(deepspeed="ds.json")
trainer = Trainer(model=make(), args=args)
trainer.train()
if dist.get_rank() == 0:
    trainer.save_model("out")
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"ds.json": '{"zero_optimization": {"stage": 2}}'}, "hint"),
        ({"ds.json": '{"zero_optimization": {"stage": 2}}', "other.json": '{"stage": 3}'}, "hint"),
        ({"ds.json": '{"zero_optimization": {"stage": 3}}'}, "warning"),
        ({"ds.json": '{"zero_optimization": {"stage": "auto"}}'}, "warning"),
        ({"configs.py": "CONFIG = {'zero_optimization': {'stage': 1}}"}, "hint"),
        # its own one, of several
        (
            {"ds.json": '{"zero_optimization": {"stage": 2}}', "a/ds.json": '{"zero_optimization": {"stage": 3}}'},
            "hint",
        ),
        (
            {"ds.json": '{"zero_optimization": {"stage": 3}}', "b.json": '{"zero_optimization": {"stage": 2}}'},
            "warning",
        ),
        ({"b.json": '{"zero_optimization": {"stage": 2}}', "c.yaml": "zero_stage: 3"}, "warning"),
        # the one that it is started with
        (
            {
                "conf/b.json": '{"zero_optimization": {"stage": 1}}',
                "conf/c.json": '{"zero_optimization": {"stage": 3}}',
                "run.sh": "deepspeed train.py --deepspeed_config conf/b.json",
            },
            "hint",
        ),
        (
            {
                "ds.yaml": "deepspeed_config:\n  zero_stage: 2\n",
                "eval.py": "CONFIG = {'zero_optimization': {'stage': 3}}",
                "run.sh": "accelerate launch --config_file ds.yaml train.py",
            },
            "hint",
        ),
    ],
)
def test_what_gathers_nothing_below_the_third_stage(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": SAVES, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD175"}))).findings
    assert finding.severity.value == severity


PREVIEWS = """\
from transformers import TrainerCallback


class Previews(TrainerCallback):
    def on_evaluate(self, args, state, control, model=None, **kwargs):
        if state.is_world_process_zero:
            print(model.generate(self.question))
"""

TUNES = """\
from transformers import Trainer

from previews import Previews

Trainer(model=make(), args=read(), callbacks=[Previews()]).train()
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 tune.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 tune.py --fsdp full_shard"}, "warning"),
        (
            {
                "run.sh": "torchrun --nproc_per_node 8 tune.py --deepspeed conf/ds.json",
                "conf/ds.json": '{"zero_optimization": {"stage": 3}}',
            },
            "warning",
        ),
        (
            {
                "run.sh": "torchrun --nproc_per_node 8 tune.py --deepspeed conf/ds.json",
                "conf/ds.json": '{"zero_optimization": {"stage": 2}}',
                "conf/other.json": '{"zero_optimization": {"stage": 3}}',
            },
            "hint",
        ),
        # nothing starts several ranks
        ({"run.sh": "python tune.py", "ds.json": '{"zero_optimization": {"stage": 3}}'}, "hint"),
    ],
)
def test_a_model_that_is_sharded_where_it_is_started(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"tune.py": TUNES, "previews.py": PREVIEWS, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD164"}))).findings
    assert finding.severity.value == severity


GETS = """\
from torch.utils.data import DataLoader
from transformers import Trainer


class Own(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=8, shuffle=True)
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"run.sh": "torchrun --nproc_per_node 8 tune.py"}, "warning"),
        ({"run.sh": "python tune.py"}, "hint"),
    ],
)
def test_a_loader_of_a_trainer_that_is_started_as_one_process(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"tune.py": "from own import Own\n\nOwn(model=make(), args=read()).train()\n", "own.py": GETS, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD103"}))).findings
    assert finding.severity.value == severity


SKIPS = """\
import pytorch_lightning as pl
import torch


class Net(pl.LightningModule):
    def training_step(self, batch, index):
        loss = self(batch).mean()
        if not torch.isfinite(loss):
            return None
        return loss
"""


@pytest.mark.parametrize(
    ("started", "severity"),
    [
        ("import pytorch_lightning as pl\nfrom net import Net\npl.Trainer(devices=4).fit(Net())\n", "warning"),
        ("from net import Net\nprint(Net())\n", "hint"),
    ],
)
def test_what_a_program_uses_that_has_lightning_start_its_ranks(
    started: str, severity: str, repository: Repository
) -> None:
    repository({"fit.py": started, "net.py": SKIPS, "run.sh": "python fit.py"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD112"}))).findings
    assert finding.severity.value == severity


FITS = """\
import json

import pytorch_lightning as pl

from net import Net

with open("config.json") as file:
    settings = json.load(file)
pl.Trainer(**settings["trainer"]).fit(Net(settings))
"""

FOLLOWS = """\
import pytorch_lightning as pl
import torch


class Net(pl.LightningModule):
    def step(self, stage, batch):
        loss = torch.nn.functional.mse_loss(self(batch[0]), batch[1])
        self.log(f"{stage}_loss", loss)
        return loss

    def training_step(self, batch, index):
        return self.step("train", batch)

    def validation_step(self, batch, index):
        self.step("val", batch)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": plateau, "monitor": self.settings["monitor"]}}
"""


@pytest.mark.parametrize(
    ("settings", "severity"),
    [
        ('{"trainer": {"devices": 4, "strategy": "ddp"}}', "warning"),
        ('{"trainer": {"devices": 1}}', "hint"),
        ('{"trainer": {"max_epochs": 10}}', "hint"),
    ],
)
def test_settings_for_several_devices(settings: str, severity: str, repository: Repository) -> None:
    repository({"fit.py": FITS, "net.py": FOLLOWS, "config.json": settings})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD181"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("trainer", "command", "severity"),
    [
        ("devices=args.devices", "python fit.py --devices 4", "warning"),
        ("devices=args.devices", "python fit.py --devices 0,1", "warning"),
        ("devices=args.devices", "python fit.py --devices 1", "hint"),
        ("strategy=args.strategy", "python fit.py --strategy ddp", "warning"),
        ("devices=args.devices", "echo", "hint"),
        ("devices=4", "python fit.py", "warning"),
    ],
)
def test_options_for_several_devices(trainer: str, command: str, severity: str, repository: Repository) -> None:
    program = FITS.replace('**settings["trainer"]', trainer)
    repository({"fit.py": program, "net.py": FOLLOWS, "run.sh": f"{command}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD181"}))).findings
    assert finding.severity.value == severity


ENDS = """\
import torch.distributed as dist


def main(read):
    dist.init_process_group("nccl")
    try:
        dist.all_reduce(read())
        print(read())
        dist.barrier()
    finally:
        dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("asked", "severity"),
    [
        ("", "warning"),
        ("torch==2.3.1", "hint"),
        ("pytorch/pytorch:2.5.1-cuda12.4", "hint"),
        ("PyTorch 2.1 or newer", "warning"),
        ("PyTorch 2.1 以上", "warning"),
        ("torch>=2.1", "warning"),
        ("torch==2.6.0", "warning"),
        ("torch==2.3.1\n# or torch==2.7", "warning"),
        ("torch>=1.9,<2.6", "hint"),
        ("torch>=1.9,<3", "warning"),
    ],
)
def test_a_group_waits_at_its_end_in_new_torch(asked: str, severity: str, repository: Repository) -> None:
    repository({"train.py": ENDS, "requirements.txt": asked})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD116"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("where torch is 2.6 or newer, ") == (severity == "hint")


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        ({"README.md": "pip install torch==1.9.1+cu111"}, True),
        ({"README.md": "PyTorch 1.9+"}, False),
        ({"docs/install.md": "conda install pytorch=1.8.0"}, True),
        ({"env.yml": "dependencies:\n  - pip:\n    - torch==1.8.1\n"}, True),
        ({"environment_old.yml": "dependencies:\n  - pytorch=1.4.0=py3.7_0\n"}, True),
        ({"model.yml": "torch: torch==1.4.0\n"}, False),
        ({"requirements.txt": "torch>=1.9.0,<1.12.0\n", "docs/requirements.txt": "torch>=1.9.0\n"}, True),
        ({"setup.py": 'setup(install_requires=["torch>=1.8, !=1.9, <2"])\n'}, True),
        ({"setup.py": 'setup(install_requires=["torch>=1.8"])\n'}, False),
        ({"requirements.txt": "torch>=1.9,<2.3\n"}, False),
        ({"requirements.txt": "tensorflow==1.15.0"}, True),
        ({"README.md": "pip install timm==0.3.4"}, True),
        ({"README.md": "pip install timm==0.3.4 torch==2.1"}, False),
        ({"Makefile": "install:\n\t@$(PIP) install torch==1.8.1+cu101\n"}, True),
        # of another part of the repository, unless no text of this one names a torch
        ({"other/requirements.txt": "torch==1.7.0"}, True),
        ({"other/requirements.txt": "torch==1.7.0", "README.md": "torch>=2.1"}, False),
        ({"tools/requirements.txt": "torch==1.7.0", "README.md": "torch>=2.1"}, True),
    ],
)
def test_which_torch_the_texts_ask_for(texts: dict[str, str], asked: bool, repository: Repository) -> None:
    repository({"tools/train.py": TAKES, **texts})
    (finding,) = engine.lint(["tools"], Settings(frozenset({"DD146"}))).findings
    assert finding.severity.value == ("hint" if asked else "warning")


def test_an_option_that_the_parser_has_in_both_spellings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = TAKES.replace("parser.parse_args", "parser.add_argument('--local-rank', type=int)\nparser.parse_args")
    (tmp_path / "train.py").write_text(both, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert "--local-rank" in both
    assert engine.lint(["."], Settings(frozenset({"DD146"}))).findings == ()


CONVERTS = """\
import apex


def wrap(config, model):
    model = apex.parallel.DistributedDataParallel(model)
    if config.sync_bn:
        model = apex.parallel.convert_syncbn_model(model)
    return model
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"a/config.py": "class Config:\n    sync_bn = False\n"}, "hint"),
        ({"a.yaml": "model:\n  sync_bn: false  # slow\n", "b.json": '{\n  "sync_bn": false\n}'}, "hint"),
        ({"a.yaml": "sync_bn: false\n", "b.yaml": "sync_bn: true\n"}, "warning"),
        ({"a.yaml": "sync_bn: false\n", "run.py": "parser.add_argument('--sync-bn', action='store_true')"}, "warning"),
    ],
)
def test_what_is_under_a_setting_that_is_off(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"train.py": CONVERTS, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD165"}))).findings
    assert finding.severity.value == severity


ENGINE = """\
import deepspeed
import torch.distributed as dist


def main():
    engine, _, _, _ = deepspeed.initialize(model=make())
    for batch in batches():
        engine.backward(engine(batch))
        engine.step()
    if dist.get_rank() == 0:
        engine.save_checkpoint("out")


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("", "error"),
        ("deepspeed --num_gpus=8 train.py", "error"),
        ("deepspeed --num_gpus=1 train.py", "hint"),
        ("GPUS=1\ndeepspeed --num_gpus=$GPUS train.py", "warning"),
    ],
)
def test_a_proof_for_several_ranks_of_what_one_runs(command: str, severity: str, repository: Repository) -> None:
    repository({"train.py": ENGINE, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD175"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if it is started as several ranks, ") == (severity != "error")


BY_TEXT = """\
import os

for lr in (1e-4, 1e-5):
    command = "CUDA_VISIBLE_DEVICES=0 \\
        python -m torch.distributed.launch --nproc_per_node {} train.py --lr {{}}".format(lr)
    os.system(command)
"""
BY_WORDS = """\
import subprocess
import sys

subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "{}", "train.py"])
"""


@pytest.mark.parametrize("program", [BY_TEXT, BY_WORDS])
@pytest.mark.parametrize(("number", "severity"), [(1, "hint"), (4, "error")])
def test_a_program_that_another_starts(program: str, number: int, severity: str, repository: Repository) -> None:
    repository({"train.py": ENGINE, "search.py": program.format(number)})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD175"}))).findings
    assert finding.severity.value == severity
    assert {note.line for note in finding.related if note.file == "search.py"} == ({4} if number == 1 else set())


SAMPLED = """\
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def main(data):
    dist.init_process_group("gloo")
    if dist.get_rank() < 2:
        group = dist.new_group([0, 1])
    loader = DataLoader(data, sampler=DistributedSampler(data), shuffle=True)


if __name__ == "__main__":
    main(read())
"""


@pytest.mark.parametrize("code", ["DD104", "DD117"])
@pytest.mark.parametrize(("number", "lower"), [(8, False), (1, True)])
def test_what_harms_only_several_ranks(code: str, number: int, lower: bool, repository: Repository) -> None:
    repository({"train.py": SAMPLED, "run.sh": f"torchrun --nproc_per_node {number} train.py"})
    (finding,) = engine.lint(["."], Settings(frozenset({code}))).findings
    assert finding.severity.value == ("hint" if lower and code == "DD117" else "error")


UNPARSED = "import torch.distributed as dist\n\ndist.init_process_group('nccl'\n"
NEWEST = f">=3.{sys.version_info.minor + 1}"


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "hint"),
        ({"other.py": "import torch"}, "hint"),
        ({"other.py": "import nets"}, "warning"),
        ({"other.py": "from nets import Net"}, "warning"),
        ({"run.sh": "torchrun nets.py"}, "warning"),
        ({"README.md": "python -m nets"}, "warning"),
        ({"other.py": "import nets", "pyproject.toml": f'[project]\nrequires-python = "{NEWEST}"'}, "hint"),
        ({"other.py": "import nets", "setup.cfg": f"[options]\npython_requires = {NEWEST}"}, "hint"),
        ({"other.py": "import nets", "pyproject.toml": '[project]\nrequires-python = ">=3.8,<3.13"'}, "warning"),
    ],
)
def test_a_file_that_does_not_parse(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"nets.py": UNPARSED, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD199"}))).findings
    assert finding.severity.value == severity
    (named,) = engine.lint(["nets.py"], Settings(frozenset({"DD199"}))).findings
    assert named.severity.value == "warning"


ACCELERATED = """\
import deepspeed
import torch.distributed as dist
from accelerate import Accelerator

deepspeed.init_distributed()
accelerator = Accelerator(mixed_precision="bf16")
if dist.get_rank() == 0:
    accelerator.save_state("out")
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"run.sh": "torchrun --nproc_per_node 8 train.py"}, "hint"),
        ({"run.sh": "accelerate launch train.py"}, "hint"),
        ({"run.sh": "accelerate launch --use_fsdp train.py"}, "warning"),
        ({"conf.yaml": "distributed_type: FSDP\n"}, "warning"),
        ({"conf.yaml": "distributed_type: MULTI_GPU\n"}, "hint"),
        ({"conf.yaml": "deepspeed_config:\n  zero_stage: 3\n"}, "warning"),
        ({"other.py": "plugin = DeepSpeedPlugin(zero_stage=stage)"}, "warning"),
    ],
)
def test_what_accelerate_is_told_of_sharding(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"train.py": ACCELERATED, **files})
    findings = engine.lint(["train.py"], Settings(frozenset({"DD175"}))).findings
    assert [finding.severity.value for finding in findings] == [severity]


SHARDING = {"conf/fsdp.yaml": "distributed_type: FSDP\n", "conf/three.json": '{"zero_optimization": {"stage": 3}}'}
OF_DDP = "distributed_type: MULTI_GPU\n"
OF_ZERO = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\n"
BY_FILE = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: conf/three.json\n"
FROZEN = """\
plugin = AcceleratorState().deepspeed_plugin
deepspeed_plugin = AcceleratorState().deepspeed_plugin if started() else None
contexts = [] if deepspeed_plugin is None else [deepspeed_plugin.zero3_init_context_manager(enable=False)]
# deepspeed_plugin = DeepSpeedPlugin(zero_stage=3)
"""


@pytest.mark.parametrize(
    ("command", "files", "severity"),
    [
        ("accelerate launch --multi_gpu train.py", {}, "hint"),
        ("accelerate launch --multi_gpu train.py\npython train.py", {}, "hint"),
        ("accelerate launch --config_file conf/ddp.yaml train.py", {"conf/ddp.yaml": OF_DDP}, "hint"),
        ("accelerate launch --config_file=conf/two.yaml train.py", {"conf/two.yaml": OF_ZERO}, "hint"),
        # of another kind, of stage 3, what is not at hand, and what the user once chose
        ("accelerate launch --multi_gpu --use_fsdp train.py", {}, "warning"),
        ("accelerate launch --multi_gpu train.py\naccelerate launch train.py", {}, "warning"),
        ("accelerate launch --config_file conf/fsdp.yaml train.py", {}, "warning"),
        ("accelerate launch --config_file conf/by.yaml train.py", {"conf/by.yaml": BY_FILE}, "warning"),
        ("accelerate launch --config_file $CONFIG train.py", {}, "warning"),
        ("ACCELERATE_USE_FSDP=1 accelerate launch --multi_gpu train.py", {}, "warning"),
        ("accelerate launch train.py", {}, "warning"),
        # the program says otherwise than the command
        ("accelerate launch --multi_gpu train.py", {"train.py": f"import plug\n{ACCELERATED}"}, "warning"),
    ],
)
def test_sharding_that_the_commands_of_a_program_rule_out(
    command: str, files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository(
        {"train.py": ACCELERATED, "plug.py": "plugin = DeepSpeedPlugin()\n", **SHARDING, "run.sh": command, **files}
    )
    findings = engine.lint(["train.py"], Settings(frozenset({"DD175"}))).findings
    assert [finding.severity.value for finding in findings] == [severity]


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"run.sh": "accelerate launch train.py", "other.py": FROZEN}, "hint"),
        ({"run.sh": "accelerate launch train.py", "other.py": "a.state.fsdp_plugin.set_state_dict_type(x)"}, "warning"),
        ({"run.sh": "accelerate launch train.py\ndeepspeed other.py --deepspeed three.json"}, "hint"),
        ({"run.sh": "accelerate launch train.py"}, "hint"),
        # what anything else names may be for it, and what lies beside it
        ({"run.sh": "accelerate launch train.py", "README.md": "Choose conf/three.json.\n"}, "warning"),
        ({"run.sh": "accelerate launch train.py", "zero.json": SHARDING["conf/three.json"]}, "warning"),
        ({"run.sh": "accelerate launch train.py\naccelerate launch --config_file three.json train.py"}, "warning"),
        ({}, "warning"),
    ],
)
def test_sharding_that_is_for_other_programs(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"train.py": ACCELERATED, "other.py": "", "conf/three.json": SHARDING["conf/three.json"], **files})
    findings = engine.lint(["train.py"], Settings(frozenset({"DD175"}))).findings
    assert [finding.severity.value for finding in findings] == [severity]


GENERATING = """\
import json

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def sample(engine, tokens, most, end):
    finished = torch.zeros(tokens.size(0), dtype=torch.bool, device=tokens.device)
    for _ in range(most):
        drawn = torch.multinomial(torch.softmax(engine(tokens).logits[:, -1], -1), 1)
        tokens = torch.cat([tokens, drawn], 1)
        finished = finished | (drawn.squeeze(1) == end)
        LEAVE
            break
    return tokens


def main(model, data):
    deepspeed.init_distributed()
    with open("ds.json") as file:
        config = json.load(file)
    engine, *_ = deepspeed.initialize(model=model, config=config)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        engine.backward(engine(sample(engine, batch, 64, 2)).loss)
        engine.step()


if __name__ == "__main__":
    main(*build())
"""
OF_STAGE = '{"zero_optimization": {"stage": %d}}'
TOGETHER = """\
done = finished.all().int()
        dist.all_reduce(done, op=dist.ReduceOp.MIN)
        if done.item():"""


@pytest.mark.parametrize(
    ("leave", "files", "severities"),
    [
        ("if finished.all():", {"ds.json": OF_STAGE % 3, "run.sh": "deepspeed --num_gpus 8 train.py"}, ["warning"]),
        ("if finished.all():", {"ds.json": OF_STAGE % 2, "run.sh": "deepspeed --num_gpus 8 train.py"}, []),
        ("if finished.all():", {"run.sh": "deepspeed --num_gpus 8 train.py"}, []),
        ("if finished.all():", {"ds.json": OF_STAGE % 3}, []),
        (TOGETHER, {"ds.json": OF_STAGE % 3, "run.sh": "deepspeed --num_gpus 8 train.py"}, []),
        (
            "if finished.all() and not model.synced:",
            {"ds.json": OF_STAGE % 3, "run.sh": "deepspeed --num_gpus 8 train.py"},
            [],
        ),
    ],
)
def test_loops_of_an_engine_that_gathers_in_each_turn(
    leave: str, files: dict[str, str], severities: list[str], repository: Repository
) -> None:
    repository({"train.py": GENERATING.replace("LEAVE", leave), **files})
    findings = engine.lint(["train.py"], Settings(frozenset({"DD113"}))).findings
    assert [finding.severity.value for finding in findings] == severities


SAVING_ENGINE = """\
import deepspeed
import torch.distributed as dist

engine, *_ = deepspeed.initialize(model=make(), config="ds.json")
if dist.get_rank() == 0:
    engine.SAVE("out")
"""


@pytest.mark.parametrize(
    ("save", "stage", "severity"),
    [
        ("save_16bit_model", "1", "hint"),
        ("save_16bit_model", "3", "error"),
        ("save_16bit_model", '"auto"', "error"),
        # every rank has a part of the optimizer, and they wait for each other
        ("save_checkpoint", "1", "error"),
    ],
)
def test_weights_that_are_whole_below_the_third_stage(
    save: str, stage: str, severity: str, repository: Repository
) -> None:
    repository(
        {"train.py": SAVING_ENGINE.replace("SAVE", save), "ds.json": f'{{"zero_optimization": {{"stage": {stage}}}}}'}
    )
    (finding,) = engine.lint(["."], Settings(frozenset({"DD175"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"tests/b.py": ""}, "hint"),
        ({"train/b.py": "torch.save(model.state_dict(), 'last.pt')"}, "warning"),
    ],
)
def test_what_another_folder_saves(files: dict[str, str], severity: str, repository: Repository) -> None:
    program = RESTORES.replace("CALL", "restore(model)").replace("SAVE", "pass")
    repository({"infer/a.py": program, **files})
    (finding,) = engine.lint(["infer/a.py"], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity


def test_an_option_that_the_program_sets_itself(repository: Repository) -> None:
    program = LOADS.replace("if args.start_from:", "args.start_from = newest()\nif args.start_from:")
    repository({"train.py": program, "run.sh": "torchrun --nproc_per_node 8 train.py"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == "warning"


@pytest.mark.parametrize(
    ("start", "gone"),
    [
        ("dist.init_process_group(backend='tcp', init_method='env://')\n", True),
        ("parser.add_argument('--backend', type=str, default='tcp')\n", True),
        ("dist.init_process_group('gloo', init_method='tcp://localhost:23456')\n", False),
    ],
)
def test_messages_of_a_torch_whose_backend_is_gone(start: str, gone: bool, repository: Repository) -> None:
    send = "import torch.distributed as dist\n\n\ndef send(data):\n    dist.isend(data, 1)\n"
    repository({"send.py": send, "train.py": f"import torch.distributed as dist\n{start}"})
    (finding,) = engine.lint(["send.py"], Settings(frozenset({"DD120"}))).findings
    assert finding.severity.value == "hint"
    assert [note.message for note in finding.related if note.file == "train.py"] == [
        "the backend that is named here, tcp, went with torch 1.0"
    ] * gone


EDGE = """
import torch
import torch.distributed as dist


class Edge(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        edge = torch.zeros_like(x)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1), dist.P2POp(dist.irecv, edge, 2)])
        return edge
"""


@pytest.mark.parametrize(("command", "severity"), [("torchrun --nproc_per_node 8", "warning"), ("python", "hint")])
def test_an_early_use_is_one_in_whatever_is_started(command: str, severity: str, repository: Repository) -> None:
    program = "import torch.distributed as dist\nfrom edge import Edge\n\n" + (
        "if __name__ == '__main__':\n    dist.init_process_group('nccl')\n    Edge.apply(1)\n"
    )
    repository({"edge.py": EDGE, "train.py": program, "run.sh": f"{command} train.py\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD120"}))).findings
    assert (finding.file, finding.severity.value) == ("edge.py", severity)


BY_NODE = """
import os

import torch.distributed as dist

rank = int(os.environ["SLURM_PROCID"]) if "SLURM_PROCID" in os.environ else int(os.environ["RANK"])
size = int(os.environ["WORLD_SIZE"])
if "MASTER_ADDR" in os.environ:
    dist.init_process_group("nccl", rank=int(os.environ["LOCAL_RANK"]), world_size=size)
print(rank, os.environ.get("SLURM_NNODES"))
"""


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        ("echo", "error"),
        ("torchrun --nnodes 2 --nproc_per_node 4 train.py", "error"),
        ("python -m torch.distributed.launch --nproc_per_node=4 train.py", "hint"),
        ("#SBATCH --nodes=1\n#SBATCH --ntasks=4\nsrun python train.py", "hint"),
    ],
)
def test_a_local_rank_as_a_rank_does_no_harm_on_one_machine(script: str, severity: str, repository: Repository) -> None:
    repository({"train.py": BY_NODE, "run.sh": f"{script}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD144"}))).findings
    assert finding.severity.value == severity


TO_NODES = """
import os

import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def loader(data):
    rank = {rank}
    sampler = DistributedSampler(data, dist.get_world_size(), rank)
    return DataLoader(data, sampler=sampler)
"""
READ = TO_NODES.format(rank='int(os.environ["LOCAL_RANK"])')


@pytest.mark.parametrize(
    ("scripts", "severity"),
    [
        ({}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 --nnodes 1 train.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 --nnodes 2 train.py"}, "warning"),
        ({"run.sh": "torchrun --nnodes=$N train.py"}, "warning"),
        ({"job.sbatch": "#SBATCH --nodes=4\nsrun python train.py"}, "warning"),
        ({"job.sbatch": "#SBATCH --nodes=1\nsrun python train.py"}, "hint"),
        ({"job.sh": "#PBS -l select=2:ncpus=64:ngpus=4\nmpiexec -n 8 python train.py"}, "warning"),
        ({"job.sh": "#PBS -l select=1:ncpus=64:ngpus=4\nmpiexec -n 4 python train.py"}, "hint"),
        # parts of one GPU may be on one machine
        ({"job.sh": "#PBS -l select=4:ncpus=8:ngpus=1\nmpiexec -n 4 python train.py"}, "hint"),
        ({"job.sh": "torchrun train.py trainer.num_nodes=2 lr=1"}, "warning"),
        ({"job.sh": "torchrun train.py trainer.num_nodes=1 lr=1"}, "hint"),
        ({"README.md": '    "nodes": 4,\n\n`torchrun train.py --settings four.json`'}, "warning"),
        ({"README.md": '    "nodes": 1,\n\n`torchrun train.py --settings one.json`'}, "hint"),
        # of another program; where none starts this one, it is the repository's custom
        ({"run.sh": "torchrun train.py", "other.sh": "torchrun --nnodes 2 other.py"}, "hint"),
        ({"other.sh": "torchrun --nnodes 2 other.py"}, "hint"),
    ],
)
def test_a_local_rank_for_the_global_one_matters_where_there_are_several_nodes(
    scripts: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": READ, **scripts})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD144"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if this is ever started on two nodes, ") == (severity == "hint")


SAVES_ON_NODES = """\
import os
import torch
import torch.distributed as dist


def main(model):
    dist.init_process_group("nccl")
    if int(os.environ["LOCAL_RANK"]) == 0:
        torch.save(model.state_dict(), "last.pt")
"""


@pytest.mark.parametrize(
    ("scripts", "several"),
    [
        ({"nets/run.sh": "torchrun train.py"}, False),
        ({"nets/run.sh": "torchrun --nnodes 2 train.py"}, True),
        ({"nets/run.sh": "#SBATCH -N 4"}, False),
        ({"nets/run.sh": "# torchrun --nnodes 2 train.py"}, False),
        # what others start, of another project or not
        ({"run.sh": "#SBATCH -N 4"}, False),
        ({"other/run.sh": "torchrun --nnodes 2 run.py"}, False),
        ({"run.sh": "torchrun --nnodes 2 nets/train.py"}, True),
    ],
)
def test_one_rank_of_each_node_matters_where_there_are_several(
    scripts: dict[str, str], several: bool, repository: Repository
) -> None:
    """What shows them takes the condition away; of a rule that tells hints alone, no more is made of it."""
    repository({"nets/train.py": SAVES_ON_NODES, **scripts})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD174"}))).findings
    assert finding.severity.value == "hint"
    assert finding.message.startswith("where there are several nodes") != several


COPIES_TO_THE_NODE = """\
import numpy as np
import torch.distributed as dist


def main(rows):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        np.save("/tmp/rows.npy", rows)
    dist.barrier()
    return np.load("/tmp/rows.npy")
"""


@pytest.mark.parametrize(
    ("scripts", "several"),
    [
        ({"run.sh": "torchrun train.py"}, False),
        ({"run.sh": "torchrun --nnodes 2 train.py"}, True),
        ({"run.sh": "#SBATCH --nodes=2\nsrun python train.py"}, True),
        ({"other.sh": "torchrun --nnodes 2 other.py"}, False),
    ],
)
def test_a_file_of_one_node_is_missing_where_there_are_several(
    scripts: dict[str, str], several: bool, repository: Repository
) -> None:
    repository({"train.py": COPIES_TO_THE_NODE, **scripts})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD192"}))).findings
    assert (finding.severity.value == "warning") == several
    assert finding.message.startswith("where there are several nodes") != several


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("srun python train.py", "hint"),
        ("srun python train.py --local_rank 0", "warning"),
        ("python -m torch.distributed.launch train.py", "warning"),
    ],
)
def test_a_local_rank_that_is_an_option_which_nothing_passes(
    command: str, severity: str, repository: Repository
) -> None:
    """Both launchers are named in the program; how it is started says which of them passes the option."""
    options = 'import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument("--local_rank", type=int)\n'
    told = "# torch.distributed.launch, or Slurm\nargs = parser.parse_args()\n"
    program = options + told + TO_NODES.format(rank="args.local_rank")
    repository({"train.py": program, "job.sh": f"#SBATCH --nodes=2\n{command}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD144"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("model = DistributedDataParallel(model)", True),
        ("model = model.module if isinstance(model, DistributedDataParallel) else model", False),
    ],
)
def test_who_asks_whether_a_network_is_in_ddp_has_no_ranks(body: str, found: bool, repository: Repository) -> None:
    program = f"""
import torch
from torch.nn.parallel import DistributedDataParallel


def keep(model):
    torch.save(model, "last.pt")


def fit(model):
    {body}
    for _ in range(10):
        model(1).backward()
        keep(model)
"""
    started = "from fit import fit\n\n\ndef main(distributed):\n    fit(net(distributed))\n\n\nmain(True)\n"
    repository({"fit.py": program, "start.py": started})
    report = engine.lint(["."], Settings(frozenset({"DD171"})))
    assert bool(report.findings) is found


CLEARS = """\
import os

import torch.distributed as dist


class Cleaner:
    def __init__(self, path):
        self.path = path

    def clean(self, data):
        dist.barrier()
        if data == "digits":
            if os.path.exists(self.path):
                os.remove(self.path)
"""
MAIN = 'from a import Cleaner\n\nif __name__ == "__main__":\n    Cleaner("x").clean(read().data)\n'
#: what makes the object is not in sight
MADE = "if __name__ == '__main__':\n    make().clean(read().data)\n"
PASSES = "if __name__ == '__main__':\n    pass\n"


@pytest.mark.parametrize(
    ("files", "begins", "severity"),
    [
        ({"main.py": MAIN}, "", "warning"),
        # a program of one process calls it, and others are of several
        (
            {"main.py": MAIN, "train.py": PASSES, "run.sh": "python main.py\ntorchrun train.py"},
            "if a program of several ranks calls it, ",
            "hint",
        ),
        # only a test uses it
        ({"main.py": PASSES, "tests/t.py": MAIN}, "if anything uses", "hint"),
        # a program around the package, a file of settings, or a text names its class
        ({"main.py": MADE, "conf/a.yaml": "_target_: a.Cleaner"}, "", "warning"),
        ({"main.py": MADE, "README.md": "make a Cleaner"}, "if several ranks run it, ", "hint"),
        # and nothing calls the method
        ({"main.py": PASSES, "conf/a.yaml": "_target_: a.Cleaner"}, "if anything uses clean, ", "hint"),
        # a library has its users elsewhere
        ({"other.py": "x = 1\n"}, "", "warning"),
        # no command and no file gives the name that it asks for
        ({"main.py": MAIN, "run.sh": "torchrun main.py --data letters"}, "if data is digits, ", "hint"),
        ({"main.py": MAIN, "run.sh": "torchrun main.py", "a.yaml": "data: letters"}, "if data is digits, ", "hint"),
        ({"main.py": MAIN, "run.sh": "torchrun main.py --data digits"}, "", "warning"),
        ({"main.py": MAIN, "run.sh": "torchrun main.py --data letters", "a.md": "or digits"}, "", "warning"),
        # nothing shows what else it may be given
        ({"main.py": MAIN, "run.sh": "torchrun main.py"}, "", "warning"),
        # nothing shows several ranks
        ({"main.py": MAIN, "README.md": "# Letters"}, "if several ranks run it, ", "hint"),
    ],
)
def test_what_does_not_run_as_the_repository_shows_it(
    files: dict[str, str], begins: str, severity: str, repository: Repository
) -> None:
    repository({"a.py": CLEARS, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity
    assert finding.condition.startswith(begins) if begins else not finding.condition


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("python -m train", "hint"),
        ("torchrun --nproc_per_node=4 -m train", "error"),
        ("python -m train\ntorchrun --nproc_per_node=4 -m train", "error"),
        ("python -m train\n# or: torchrun --nproc_per_node=4 -m train", "error"),
        ("python train.py\n# or: torchrun --nproc_per_node=4 train.py", "error"),
        # a module that is none of the repository's says nothing of it
        ("python -m pip install torch", "error"),
    ],
)
def test_a_program_that_is_named_as_a_module(command: str, severity: str, repository: Repository) -> None:
    repository({"train.py": EPOCHS, "docs/run.md": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize("file", ["shop/train.py", "src/shop/train.py", "shop/train/__main__.py"])
def test_the_file_of_a_module(file: str, repository: Repository) -> None:
    repository({file: EPOCHS, "docs/run.md": "python -m shop.train"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == "hint"


STOPS = """\
import os

import torch.distributed as dist
from tools import build


def prepare(path):
    if not os.path.exists(path):
        if dist.get_rank() == 0:
            build(path)
        dist.barrier()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    prepare("data.bin")
"""


UNCALLED = STOPS.replace("    prepare(", "    print(")


@pytest.mark.parametrize(
    ("files", "severities"),
    [
        ({}, ["warning"]),
        ({"README.md": "python train.py"}, ["hint"]),
        ({"README.md": "torchrun --nproc_per_node 4 train.py"}, ["warning"]),
        ({"train.py": UNCALLED, "run.sh": "torchrun train.py"}, ["hint"]),
        ({"train.py": UNCALLED, "other.py": "from train import prepare as p\np(1)\n"}, ["warning"]),
        ({"train.py": UNCALLED, "other.py": "import train\ntrain.prepare(1)\n"}, ["warning"]),
    ],
)
def test_what_only_some_ranks_may_do_where_nobody_starts_several_or_calls_it(
    files: dict[str, str], severities: list[str], repository: Repository
) -> None:
    repository({"train.py": STOPS, **files})
    found = engine.lint(["."], Settings(frozenset({"DD114"}))).findings
    assert [finding.severity.value for finding in found] == severities


@pytest.mark.parametrize("mark", [".gitignore", "LICENSE"])
def test_a_copy_of_a_repository_without_its_history(mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in {mark: "", "README.md": "python tools/train.py", "tools/train.py": EPOCHS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == "hint"


LEAVES = """\
import torch.distributed as dist

dist.init_process_group("gloo")
while True:
    if dist.get_rank() == 0:
        break
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "error"),
        ({"README.md": "# Letters"}, "error"),
        ({"run.sh": "torchrun --nproc_per_node 1 leave.py"}, "hint"),
        ({"README.md": "python leave.py --fast"}, "hint"),
        ({"README.md": "python leave.py --fast", "run.sh": "torchrun --nproc_per_node 8 leave.py"}, "error"),
        ({"README.md": "python leave.py", "leave.py": f"import torch.multiprocessing as mp\nmp.spawn(f)\n{LEAVES}"},
         "error"),
        # as several ranks through another file
        ({"README.md": "python leave.py", "a.py": "import leave",
          "run.sh": "torchrun --nproc_per_node 8 a.py"}, "error"),
    ],
)  # fmt: skip
def test_a_proof_about_a_program_of_one_process(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"leave.py": LEAVES, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD112"}))).findings
    assert (finding.severity.value, bool(finding.condition)) == (severity, severity != "error")


RUNS = """\
import argparse

import leave
from start import launch

parser = argparse.ArgumentParser()
parser.add_argument("-n", "--num-gpus", type=int)
parser.add_argument("-w", "--num-workers", type=int)
args = parser.parse_args()
number = count() if args.num_gpus is None else args.num_gpus
launch(leave.main, number, 1)
"""
STARTS = """\
import torch.multiprocessing as mp


def launch(work, gpus_of_each, machines=1):
    total = gpus_of_each * machines
    mp.spawn(work, (), NUMBER)
"""


@pytest.mark.parametrize(
    ("command", "number", "severity"),
    [
        ("./run.py", "total", "hint"),
        ("./run.py --num-gpus 1", "total", "hint"),
        ("./run.py --num-gpus 4", "total", "error"),
        ("python3 run.py --num_gpus=4 --lr 1", "nprocs=gpus_of_each", "error"),
        ("python3 run.py -w 8 -n 4", "total", "error"),
        ("python3 run.py -w 8 -n 1", "total", "hint"),
        # not how many there are: of something else, of which GPUs, of one of them
        ("./run.py --num-workers 4", "total", "hint"),
        ("./run.py --num-gpus 4", "len(gpus_of_each)", "hint"),
        ("./run.py --num-gpus 4", "8", "hint"),
        ("./run.py --num-gpus 2,3", "total", "hint"),
        ("See ./run.py --num-gpus 4", "total", "hint"),
    ],
)
def test_a_program_that_is_told_how_many_processes_to_start(
    command: str, number: str, severity: str, repository: Repository
) -> None:
    start = STARTS.replace("NUMBER", number)
    repository({"leave.py": LEAVES, "run.py": RUNS, "start.py": start, "README.md": f"python run.py\n\n{command}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD112"}))).findings
    assert finding.severity.value == severity


def test_the_number_of_processes_for_a_library_that_starts_them(repository: Repository) -> None:
    program = RUNS.replace("start", "detectron2.engine").replace(
        "args.num_gpus, 1", "num_gpus_per_machine=args.num_gpus"
    )
    repository({"leave.py": LEAVES, "run.py": program, "README.md": "python run.py\n\npython run.py --num-gpus 4\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD112"}))).findings
    assert finding.severity.value == "error"


COUNTS = """\
import torch.distributed as dist


def total(values):
    dist.broadcast_object_list([values], src=0)
    return values


if __name__ == "__main__":
    print(total(read()))
"""


@pytest.mark.parametrize(
    ("files", "alone"),
    [
        ({}, False),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py"}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py", "train.py": "import show\nshow.total(1)\n"}, False),
        ({"run.sh": "torchrun --nproc_per_node 8 tools/show.py"}, False),
        ({"run.sh": "torchrun train.py", "show.py": f"import torch.multiprocessing as mp\nmp.spawn(run)\n{COUNTS}"},
         False),
        ({"run.sh": "torchrun train.py", "show.py": f"{COUNTS}    dist.init_process_group()\n"}, True),
        ({"run.sh": "torchrun train.py", "conf/a.yaml": "_target_: show.total\n"}, False),
        # by the name of its package
        ({"run.sh": "torchrun train.py", "shown/__init__.py": "from show import total\n",
          "train.py": "from shown import total\ntotal(1)\n"}, False),
    ],
)  # fmt: skip
def test_a_file_that_no_program_with_ranks_uses(files: dict[str, str], alone: bool, repository: Repository) -> None:
    repository({"show.py": COUNTS, "train.py": "print(1)\n", **files})
    (finding,) = Linter(Settings(frozenset({"DD118"}))).file("show.py", named=True).findings
    assert finding.severity.value == "warning"
    told = started_ranks.nowhere_as_several(Project(str(Path.cwd())), finding)
    assert (told is not None and told.severity.value == "hint") == alone


STARTED = "torchrun --nproc_per_node 4 show.py"
OTHER = "torchrun --nproc_per_node 4 train.py"
BY_HELPER = "    python show.py\n"
HELPED = f"import helper\n{COUNTS}    helper.start(total)\n"
ITSELF = f"{COUNTS}    torch.multiprocessing.spawn(total)\n"
BY_LIGHTNING = f"import lightning\n{COUNTS}    lightning.Trainer(total)\n"
JOB = "kind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n      replicas: 4\n"


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"run.sh": STARTED}, "warning"),
        ({"run.sh": f"{OTHER}\n{STARTED}"}, "warning"),
        ({"README.md": f"    {STARTED}\n"}, "warning"),
        ({"run.sh": OTHER}, "hint"),
        # also of what a started program uses
        ({"run.sh": OTHER, "train.py": "import show\nshow.total(1)\n"}, "hint"),
        ({"run.sh": "python train.py", "train.py": "import show\nshow.total(1)\n"}, "hint"),
        ({}, "warning"),
        ({"run.sh": "echo nothing"}, "warning"),
        ({"run.sh": OTHER, "show.py": ITSELF, "README.md": "`show.py` shows it"}, "warning"),
        ({"run.sh": OTHER, "show.py": BY_LIGHTNING, "tools.py": "TOOLS = ['show.py']\n"}, "warning"),
        # nothing names it, and others are started
        ({"run.sh": OTHER, "show.py": ITSELF}, "hint"),
        ({"run.sh": OTHER, "show.py": BY_LIGHTNING}, "hint"),
        ({"run.sh": OTHER, "show.py": f"# torchrun show.py\n{ITSELF}"}, "warning"),
        ({"run.sh": "torchrun --nproc_per_node 4 lost.py", "show.py": ITSELF}, "warning"),
        ({"run.sh": OTHER, "show.py": f"{COUNTS}    Trainer(total)  # as lightning does\n"}, "hint"),
        # ever more work, if each name were looked for from each of the others
        ({"run.sh": OTHER, "show.py": f"{COUNTS}# {'lightning ' * 100_000}\n"}, "hint"),
        ({"README.md": BY_HELPER, "show.py": HELPED, "helper.py": SPAWNS}, "warning"),
        ({"README.md": f"{BY_HELPER}\n    {OTHER}\n", "show.py": HELPED, "helper.py": SPAWNS}, "warning"),
        ({"README.md": BY_HELPER, "show.py": HELPED, "helper.py": "def start(run):\n    run()\n"}, "hint"),
        ({"README.md": f"    {OTHER}\n", "show.py": HELPED, "helper.py": SPAWNS}, "hint"),
        ({"run.sh": OTHER, "conf/job.yaml": JOB}, "warning"),
    ],
    ids=["started", "both", "in a text", "another", "used by another", "used by one process", "nothing", "no program",
         "starts itself", "by Lightning", "unnamed", "unnamed by Lightning", "its own comment",
         "none that is there", "another Trainer", "many names", "a helper starts them",
         "so it does beside another", "a helper starts none", "no command starts it", "a job"],
)  # fmt: skip
def test_a_file_that_no_command_starts_while_others_are_started(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"show.py": COUNTS, "train.py": "print(1)\n", **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD118"}))).findings
    assert finding.severity.value == severity
    assert bool(finding.condition) == (severity == "hint")
    # of some of these files, other questions know the same
    (alone,) = Linter(Settings(frozenset({"DD118"}))).file("show.py", named=True).findings
    told = started_ranks.unshown(Project(str(Path.cwd())), alone)
    assert (told is not None and told.severity.value == "hint") == (severity == "hint")


@pytest.mark.parametrize(
    ("command", "severity"),
    [("torchrun --nproc_per_node 4 tools/$1.py", "warning"), ("torchrun --nproc_per_node 4 more/$1.py", "hint")],
)
def test_a_command_that_names_only_the_folder_of_a_program(command: str, severity: str, repository: Repository) -> None:
    program = f"{COUNTS}\n\nif __name__ == '__main__':\n    pass\n"
    repository({"tools/show.py": program, "more/other.py": "", "run/run.sh": f"{command}\ntorchrun more/other.py\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD118"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("paths", "severity"),
    [(["."], "hint"), (["leave.py"], "error"), (["other.py"], None), ([".", "leave.py"], "error")],
)
def test_a_file_that_the_user_names_is_meant_to_be_started(
    paths: list[str], severity: str | None, repository: Repository
) -> None:
    repository({"leave.py": LEAVES, "other.py": "import torch.distributed\n", "README.md": "python leave.py"})
    found = engine.lint(paths, Settings(frozenset({"DD112"}))).findings
    assert [finding.severity.value for finding in found] == ([] if severity is None else [severity])


SPAWNING = f"""\
import argparse
import torch.multiprocessing as mp

parser = argparse.ArgumentParser(fromfile_prefix_chars="@")
parser.add_argument("--spread", action="store_true")
args = parser.parse_args()
if args.spread:
    mp.spawn(main, nprocs=8)
{EPOCHS}"""


@pytest.mark.parametrize(
    ("command", "severity"), [("python train.py", "hint"), ("python train.py @options.txt", "error")]
)
def test_options_in_a_file(command: str, severity: str, repository: Repository) -> None:
    repository({"train.py": SPAWNING, "README.md": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == severity


LISTED = """\
import torch
import torch.distributed as dist


def parts(value):
    found = [value] * dist.get_world_size()
    dist.all_gather(found, value)
    return found


if __name__ == "__main__":
    dist.init_process_group("gloo")
    CALL
"""


@pytest.mark.parametrize(("call", "severity"), [("parts(torch.ones(1))", "error"), ("print(1)", "hint")])
def test_what_is_proven_of_a_function_that_nothing_uses(call: str, severity: str, repository: Repository) -> None:
    repository({"train.py": LISTED.replace("CALL", call)})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD119"}))).findings
    assert finding.severity.value == severity


LOGS = """\
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--log", action="store_true")
args = parser.parse_args()
model = torch.nn.Linear(1, 1)
dist.init_process_group("gloo")
for epoch in range(10):
    model(torch.ones(1)).backward()
    if args.log:
        torch.save({"epoch": epoch}, "model.pt")
dist.barrier()
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"start.py": "params.log = (world_rank == 0) and params['log']\n"}, "hint"),
        ({"start.py": "params.log = not dist.get_rank()\n"}, "hint"),
        ({"start.py": "params['log'] = rank_of_files > 3 and params['log']\n"}, "warning"),
        ({"start.py": "params.log == (world_rank == 0)\n"}, "warning"),
        ({"start.py": "start(log=True, rank=rank == 0)\n"}, "warning"),
        ({"start.py": "params['blog'] = world_rank == 0\n"}, "warning"),
    ],
)
def test_a_flag_that_the_rank_sets_elsewhere(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"train.py": LOGS, "run.sh": "torchrun --nproc_per_node 8 train.py --log", **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD171"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("file", "command", "severity"),
    [
        ("tests/train.py", "", "hint"),
        ("test_train.py", "python test_train.py", "hint"),
        ("tests/train.py", "torchrun --nproc_per_node 8 tests/train.py --log", "warning"),
        ("train.py", "", "warning"),
    ],
)
def test_a_test_runs_as_one_process(file: str, command: str, severity: str, repository: Repository) -> None:
    repository({file: LOGS, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD171"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        ("torchrun --nproc_per_node 8 train.py --log", "warning"),
        ("torchrun --nproc_per_node 8 train.py", "hint"),
        # what gives it starts one process
        ("torchrun --nproc_per_node 8 train.py\npython train.py --log", "hint"),
        ("torchrun --nproc_per_node 8 train.py\ntorchrun --nproc_per_node 1 train.py --log", "hint"),
        # what else is handed on, nobody knows
        ("torchrun --nproc_per_node 8 train.py $@", "warning"),
    ],
)
def test_what_all_ranks_save_with_an_option(script: str, severity: str, repository: Repository) -> None:
    repository({"train.py": LOGS, "run.sh": script})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD171"}))).findings
    assert finding.severity.value == severity


OF_A_TRAINER = """\
import wandb
from transformers import Trainer, TrainingArguments

wandb.init(project="all")
trainer = Trainer(model=make(), args=TrainingArguments("out"))
trainer.train()
"""


@pytest.mark.parametrize(
    ("command", "severities"),
    [
        ("accelerate launch train.py", ["warning"]),
        ("torchrun --nproc_per_node 8 train.py", ["warning"]),
        ("torchrun --nproc_per_node 8 other.py", []),
        ("python train.py", []),
        ("", []),
    ],
)
def test_a_run_of_each_process_that_is_started(command: str, severities: list[str], repository: Repository) -> None:
    repository({"train.py": OF_A_TRAINER, "run.sh": command})
    findings = engine.lint(["."], Settings(frozenset({"DD171"}))).findings
    assert [finding.severity.value for finding in findings if finding.severity.value != "hint"] == severities


OFFERED = """\
import argparse
import torch
import torch.distributed as dist
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="net"{})
args = parser.parse_args()
dist.init_process_group("gloo")
if args.data == "ten":
    data = torchvision.datasets.CIFAR10("data", download=True)
dist.barrier()
"""


@pytest.mark.parametrize(
    ("choices", "severity"),
    [
        ("", "warning"),
        (", choices=['net', 'folder']", "hint"),
        (", choices=['net', 'ten']", "warning"),
        (", choices=sorted(KNOWN)", "warning"),
    ],
)
def test_what_no_program_offers(choices: str, severity: str, repository: Repository) -> None:
    repository({"train.py": OFFERED.format(choices), "run.sh": "torchrun --nproc_per_node 8 train.py --data ten"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("default", "command", "severity"),
    [
        ('"net"', "torchrun --nproc_per_node 8 train.py", "hint"),
        ('"net"', "torchrun --nproc_per_node 8 train.py --data ten", "warning"),
        ('"ten"', "torchrun --nproc_per_node 8 train.py", "warning"),
        ("KNOWN[0]", "torchrun --nproc_per_node 8 train.py", "warning"),
    ],
)
def test_what_an_option_is_where_nobody_gives_it(
    default: str, command: str, severity: str, repository: Repository
) -> None:
    program = OFFERED.format("").replace('default="net"', f"default={default}")
    repository({"train.py": program, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity


INDEXED = """\
import argparse
import os
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--node_rank", type=int, default=0)
args = parser.parse_args()
dist.init_process_group("nccl", rank=int(os.environ["LOCAL_RANK"]))
dist.barrier()
"""


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("", "error"),
        ("torchrun --nproc_per_node 4 train.py", "hint"),
        ("torchrun --nproc_per_node 4 --nnodes 2 train.py", "error"),
        # one machine is enough for another program
        ("torchrun --nproc_per_node 4 other.py\n# torchrun --nproc_per_node 4 train.py", "error"),
    ],
)
def test_a_second_node_that_no_command_has(command: str, severity: str, repository: Repository) -> None:
    repository({"train.py": INDEXED, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD144"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(("library", "severity"), [("transformers", "hint"), ("own", "error")])
def test_a_proof_in_an_example_of_a_library_that_was_copied(
    library: str, severity: str, repository: Repository
) -> None:
    program = (
        "import torch.distributed as dist\n\ndist.init_process_group()\nif dist.get_rank() == 0:\n    dist.barrier()\n"
    )
    repository({"copy/setup.py": f'setup(name="{library}")', "copy/examples/run.py": program, "train.py": "main()"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == severity


SEEDED = """\
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, loader):
    args = options()
    if args.seed is not None:
        torch.manual_seed(args.seed)
    dist.init_process_group("nccl")
    model = DDP(net)
    for x in loader:
        model(x + torch.randn_like(x)).sum().backward()


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    main(*make())
"""
OF_SETTINGS = SEEDED.replace("args = options()", "args = read()").replace(SEEDED[SEEDED.index("def options") :], "")


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"train.py": SEEDED, "run.sh": "torchrun train.py"}, "hint"),
        ({"train.py": SEEDED, "run.sh": "torchrun train.py --seed 3"}, "warning"),
        ({"train.py": SEEDED, "run.sh": "torchrun other.py --seed 3"}, "hint"),
        ({"train.py": SEEDED, "run.sh": "torchrun train.py", "all.yaml": "seed: 3"}, "hint"),
        ({"train.py": OF_SETTINGS, "run.sh": "torchrun train.py", "all.yaml": "lr: 1\nseed: 3"}, "warning"),
        ({"train.py": OF_SETTINGS, "run.sh": "torchrun train.py", "all.yaml": "lr: 1\nseed:"}, "hint"),
    ],
)
def test_a_seed_that_scripts_or_settings_ask_for(files: dict[str, str], severity: str, repository: Repository) -> None:
    files = {name: text.replace("def main(net, loader)", "def main(cfg, net, loader)") if text is OF_SETTINGS else text
             for name, text in files.items()}  # fmt: skip
    repository({name: text.replace("args = read()", "args = cfg") for name, text in files.items()})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD131"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("where a seed is asked for") == (severity == "hint")


NAMESAKES = {"a/run.sh": "torchrun train.py\n", "b/run.sh": "torchrun train.py\n"}


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        # a text about a third folder, in which the program has another name
        ({**NAMESAKES, "c/README.md": "    torchrun train.py --seed=7\n"}, "hint"),
        ({**NAMESAKES, "README.md": "    cd a; torchrun train.py --seed=7\n"}, "warning"),
        ({**NAMESAKES, "a/run.sh": "torchrun train.py --seed=7\n"}, "warning"),
        ({**NAMESAKES, "b/run.sh": "torchrun train.py --seed=7\n"}, "hint"),
        # about the only one, or about one that nothing else starts
        ({"a/run.sh": "torchrun train.py\n", "c/README.md": "    torchrun train.py --seed=7\n"}, "warning"),
        ({"b/run.sh": "torchrun train.py\n", "c/README.md": "    torchrun train.py --seed=7\n"}, "warning"),
    ],
)
def test_a_seed_for_one_of_several_programs_of_a_name(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"a/train.py": SEEDED, "b/train.py": "print(1)\n", **files})
    (finding,) = engine.lint(["a"], Settings(frozenset({"DD131"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ('parser.add_argument("--seed", type=int)', "warning"),
        ("generator.manual_seed(seed + epoch)", "warning"),
        ("random.seed(seed + worker)", "warning"),
        ('name = f"--seed_{args.seed}"', "warning"),
        ("set_seed(args.seed + offset)", "hint"),
        ("set_seed(args.seed * 1000 + rank)", "hint"),
        ("args.seed += 10 * rank", "hint"),
    ],
)
def test_what_other_files_do_to_a_seed_of_the_settings(line: str, severity: str, repository: Repository) -> None:
    program = """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def main(cfg, net, loader):
    torch.manual_seed(cfg.seed)
    model = DDP(net)
    for x in loader:
        model(x + torch.randn_like(x)).sum().backward()
"""
    repository({"train.py": program, "other.py": line})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD131"}))).findings
    assert finding.severity.value == severity


def test_a_program_that_starts_itself_by_a_launcher(repository: Repository) -> None:
    program = SEEDED.replace("type=int", "type=int, default=1").replace(
        "import argparse", "import argparse\nimport start"
    )
    starter = 'import sys\n\nCOMMAND = [sys.executable, "-m", "torch.distributed.launch", *sys.argv]\n'
    repository({"train.py": program, "start.py": starter, "run.sh": "python train.py"})
    (finding,) = Linter(Settings(frozenset({"DD131"}))).file("train.py", named=True).findings
    assert finding.severity.value == "warning"
    assert started_ranks.started_alone(Project(str(Path.cwd())), finding) is None
    Path("start.py").write_text("import sys\n", encoding="utf-8")
    assert started_ranks.started_alone(Project(str(Path.cwd())), finding) is not None


DRAWS_FROM_NUMPY = """\
import numpy as np
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __getitem__(self, index):
        return index + np.random.randn()


dist.init_process_group("gloo")
loader = DataLoader(Rows(), batch_size=4, num_workers=2, shuffle=True)
"""


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"requirements.txt": "numpy\ntorch==1.7.1\n"}, 2),
        ({"README.md": "You need PyTorch 1.4."}, 1),
        ({"README.md": "You need PyTorch 1.4 or higher."}, 0),
        ({"requirements.txt": "torch>=1.7"}, 0),
        ({"requirements.txt": "torch==1.10.0"}, 0),
        ({"requirements.txt": "torch==1.7.1", "other/requirements.txt": "torch==2.1.0"}, 0),
        ({}, 0),
    ],
)
def test_workers_share_numpys_state_where_an_old_torch_is_asked_for(
    files: dict[str, str], line: int, repository: Repository
) -> None:
    repository({"train.py": DRAWS_FROM_NUMPY, **files})
    findings = engine.lint(["."], Settings(frozenset({"DD134"}))).findings
    assert [(f.severity.value, f.condition) for f in findings] == (
        [("hint", "where torch is older than 1.9, ")] if line else []
    )
    assert [note.line for f in findings for note in f.related if note.role is RelatedRole.UNCONFIRMED] == [line] * bool(
        line
    )


TOTAL = """\
import torch.distributed as dist


def total(number):
    dist.all_reduce(number.cuda())
    return number.cpu()
"""


@pytest.mark.parametrize(
    ("calls", "severity"),
    [
        ("total(torch.tensor([seen])).item()", "warning"),
        ("print(total(number=torch.LongTensor([seen])))", "warning"),
        ("total(torch.tensor([seen], device=0)).item()", "hint"),
        ("total(loss).item()", "hint"),
        ("total(torch.tensor(loss)).item()", "hint"),
        ("total(torch.zeros(1))", "hint"),
        ("pass", "hint"),
    ],
    ids=["a list", "a class", "on a device", "unknown", "where its data is", "its result is not used", "no caller"],
)
def test_a_copy_of_a_tensor_that_callers_have_on_the_cpu(calls: str, severity: str, repository: Repository) -> None:
    repository({"sums.py": TOTAL, "train.py": f"from sums import total\n\n\ndef step(seen, loss):\n    {calls}\n"})
    (finding,) = engine.lint(["sums.py"], Settings(frozenset({"DD118"}))).findings
    assert finding.severity.value == severity


EVALUATES = """\
import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--evaluate", action="store_true")
args = parser.parse_args()
dist.init_process_group("gloo")
if args.evaluate and dist.get_rank() == 0:
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("torchrun --nproc_per_node 8 train.py", "hint"),
        ("torchrun --nproc_per_node 8 train.py --evaluate", "error"),
        # what it hands on, or holds, is not seen
        ('torchrun --nproc_per_node 8 train.py "$@"', "error"),
        ("torchrun --nproc_per_node 8 train.py @options.txt", "error"),
        # but where another command names the option, and starts one process
        ('torchrun --nproc_per_node 8 train.py "$@"\npython train.py --evaluate', "hint"),
    ],
)
def test_what_an_option_asks_for_is_a_hint_where_no_command_gives_it(
    command: str, severity: str, repository: Repository
) -> None:
    repository({"train.py": EVALUATES, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if --evaluate is given") == (severity == "hint")
    # who names the file may give it
    (named,) = engine.lint(["train.py"], Settings(frozenset({"DD111"}))).findings
    assert named.severity.value == "error"


MODES = EVALUATES.replace('"--evaluate", action="store_true"', '"--mode", default="train"').replace(
    "args.evaluate and", "args.mode == 'test' and"
)


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"run.sh": "torchrun --nproc_per_node 8 train.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py --mode train"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py --mode=test"}, "error"),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py --mode $MODE"}, "error"),
        # in a file that the command hands on, in one that has other options, and in one that is not there
        ({"run.sh": "torchrun train.py --options all.yaml", "all.yaml": "mode: test\n"}, "error"),
        ({"run.sh": "torchrun train.py --options all.yaml", "all.yaml": "epochs: 3\n"}, "hint"),
        ({"run.sh": "torchrun train.py --options other.yaml", "all.yaml": "epochs: 3\n"}, "error"),
    ],
)
def test_what_an_option_has_to_be_is_a_hint_where_no_command_says_so(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": MODES, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == severity


RESUMED = """\
import torch.distributed as dist
from yaml import safe_load


def main(config):
    dist.init_process_group("gloo")
    if config["run"].get("resume_from") is not None and dist.get_rank() == 0:
        dist.barrier()


main(safe_load(open(CONFIG)))
"""
OFF, ON = "run:\n  resume_from: NULL\n", "run:\n  resume_from: last.pt\n"


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "error"),
        ({"a.yaml": OFF}, "hint"),
        ({"a.yaml": OFF, "b.yaml": ON}, "error"),
        # of the files that the commands name which start several ranks
        ({"a.yaml": OFF, "b.yaml": ON, "run.sh": "torchrun train.py a.yaml"}, "hint"),
        ({"a.yaml": OFF, "b.yaml": ON, "run.sh": "torchrun train.py a.yaml\npython train.py b.yaml"}, "hint"),
        ({"a.yaml": OFF, "b.yaml": ON, "run.sh": "torchrun train.py a.yaml\ntorchrun train.py b.yaml"}, "error"),
        ({"a.yaml": OFF, "run.sh": "torchrun train.py a.yaml run.resume_from=last.pt"}, "error"),
        # a comment that ends like a command which goes on
        ({"a.yaml": OFF, "b.yaml": ON, "run.sh": "# by hand \\\ntorchrun train.py a.yaml"}, "hint"),
    ],
)
def test_what_a_file_of_settings_has_off_is_a_hint(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": RESUMED, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if resume_from is set, ") == (severity == "hint")


DEBUGS = """\
import argparse

import torch.distributed as dist


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--debug", action="store_true")
    return parser.parse_args()


def train(args):
    dist.init_process_group("gloo")
    if args.debug and dist.get_rank() == 0:
        dist.barrier()


if __name__ == "__main__":
    train(parse())
"""
BY_HAND = """\
from train import parse, train

if __name__ == "__main__":
    train(parse())
"""


@pytest.mark.parametrize(("option", "severity"), [("", "hint"), (" --debug", "error")])
def test_what_another_file_reaches_only_with_an_option(option: str, severity: str, repository: Repository) -> None:
    command = f"torchrun --nproc_per_node 8 train.py{option}"
    repository({"train.py": DEBUGS, "by_hand.py": BY_HAND, "run.sh": command})
    found = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert {(one.file, one.severity.value) for one in found if one.file == "train.py"} == {("train.py", severity)}
    assert severity == "error" or {one.severity.value for one in found} == {"hint"}


BUILT = """\
from torchvision import datasets


def build(args):
    if args.data == "hundred":
        return datasets.CIFAR100(args.path, download=True)
    if args.data == "ten":
        return datasets.CIFAR10(args.path, download=True)
    return None
"""
BUILDS = """\
import argparse

import torch.distributed as dist
from built import build

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="none")
parser.add_argument("--path")
args = parser.parse_args()
dist.init_process_group("gloo")
build(args)
"""


def test_one_of_several_texts_that_another_file_asks_for(repository: Repository) -> None:
    command = "torchrun --nproc_per_node 8 train.py --path data --data ten"
    repository({"train.py": BUILDS, "built.py": BUILT, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert (finding.file, finding.severity.value) == ("train.py", "warning")


HAS_ADDRESSES = """\
import os

import torch.distributed as dist
import wget

WEIGHTS = {"small": "https://host.org/nets/small.pt", "large": "https://host.org/nets/large.pt"}


def find_weights(name):
    if not os.path.exists(name):
        wget.download(WEIGHTS[name], name)
    return name


def main(args):
    dist.init_process_group("gloo")
    find_weights(args.name)
    dist.barrier()
"""


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("torchrun --nproc_per_node 8 train.py", "warning"),
        ("wget -P nets https://host.org/nets/small.pt\ntorchrun --nproc_per_node 8 train.py", "hint"),
        ("curl -L -o nets/small.pt \\\n  https://host.org/nets/small.pt\ntorchrun train.py", "hint"),
        ("# wget https://host.org/nets/small.pt\ntorchrun --nproc_per_node 8 train.py", "warning"),
        ("wget https://host.org/nets/other.pt\ntorchrun --nproc_per_node 8 train.py", "warning"),
        # one of them is left to the reader
        ("wget https://host.org/nets/small.pt\n# wget https://host.org/nets/large.pt\ntorchrun train.py", "warning"),
    ],
)
def test_a_file_that_a_text_has_fetched_before(text: str, severity: str, repository: Repository) -> None:
    repository({"train.py": HAS_ADDRESSES, "README.md": text})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if it was not fetched before, ") == (severity == "hint")


SPAWNED_BY_MODE = """\
import argparse

import torch.multiprocessing as mp
from torch.utils.data import DataLoader, DistributedSampler


def work(rank, args):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(9):
        for batch in loader:
            step(batch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="alone")
    args = parser.parse_args()
    if args.mode == "ddp":
        mp.spawn(work, args=(args,))
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "warning"),
        ({"run.sh": "python train.py --mode ddp"}, "warning"),
        ({"run.sh": "python train.py"}, "hint"),
        # of a program that no command starts while they start others, its defaults are known, unless settings name it
        ({"run.sh": "torchrun --nproc_per_node 8 other.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py", "pod.yaml": "command: [python, train.py]"}, "warning"),
    ],
)
def test_a_sampler_of_a_mode_that_nobody_asks_for(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"train.py": SPAWNED_BY_MODE, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == severity


def test_what_a_program_does_not_come_to_because_of_an_error_is_a_hint(repository: Repository) -> None:
    text = EVALUATES.replace("if args.evaluate and ", "if ")
    broken = text.replace("dist.init_process_group", "print(args.workers)\ndist.init_process_group")
    repository({"train.py": text, "broken.py": broken, "run.sh": "torchrun train.py\ntorchrun broken.py"})
    told = {finding.file: finding for finding in engine.lint(["."], Settings(frozenset({"DD111"}))).findings}
    assert {file: finding.severity.value for file, finding in told.items()} == {
        "train.py": "error",
        "broken.py": "hint",
    }
    assert told["broken.py"].message.startswith("if line 8 is mended, ")
    assert told["broken.py"].related[-1].message == "the program ends in an error here: it has no option workers"


def test_what_cannot_be_imported_is_a_hint(repository: Repository) -> None:
    text = EVALUATES.replace("if args.evaluate and ", "if ").replace("import argparse", "from model import net", 1)
    text = "import argparse\n" + text + '\nif __name__ == "__main__":\n    pass\n'
    repository({"train.py": text, "model/__init__.py": "", "run.sh": "torchrun train.py"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == "hint"
    assert finding.message.startswith("if train.py:2 is mended, ")
    assert finding.related[-1].message == "the program ends in an error here: model has no net"
    # who names the file means to run it
    (named,) = engine.lint(["train.py"], Settings(frozenset({"DD111"}))).findings
    assert named.severity.value == "error"


TURNED_ON = """\
import torch.distributed as dist

from settings import parse

args, config = parse()
dist.init_process_group("gloo")
if config.THROUGHPUT_MODE and dist.get_rank() == 0:
    dist.barrier()
"""
SETTINGS = """\
import argparse

from yacs.config import CfgNode

_C = CfgNode()
_C.THROUGHPUT_MODE = False


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--throughput", action="store_true")
    args = parser.parse_args()
    config = _C.clone()
    if args.throughput:
        config.THROUGHPUT_MODE = True
    return args, config
"""


@pytest.mark.parametrize(
    ("options", "settings", "severity"),
    [
        ("", SETTINGS, "hint"),
        ("--cfg base.yaml", SETTINGS, "hint"),
        ("--throughput", SETTINGS, "error"),
        ("--opts THROUGHPUT_MODE True", SETTINGS, "error"),
        # on as it is, by an option that is, or set by something else
        ("", SETTINGS.replace("= False", "= True"), "error"),
        ("", SETTINGS.replace('action="store_true"', "default=1"), "error"),
        ("", SETTINGS.replace("if args.throughput:", "if len(config) > 9:"), "error"),
        ("", SETTINGS.replace("if args.throughput:", "if _given(args, 'throughput'):"), "hint"),
        (
            "",
            SETTINGS.replace("    if args.throughput:\n        config", "    for _ in (1,):\n        config"),
            "error",
        ),
    ],
)
def test_what_a_setting_asks_for_that_only_an_option_turns_on(
    options: str, settings: str, severity: str, repository: Repository
) -> None:
    command = f"torchrun --nproc_per_node 8 train.py {options}"
    repository({"train.py": TURNED_ON, "settings.py": settings, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if THROUGHPUT_MODE is turned on, ") == (severity == "hint")


LEFT_TO_ONE = "import torch.distributed as dist\nif dist.get_rank() == 0:\n    dist.barrier()\n"
STARTS_ITSELF = (
    f"import torch.multiprocessing as mp\n{LEFT_TO_ONE}\n\nif __name__ == '__main__':\n    mp.spawn(print, nprocs=4)\n"
)


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"run.sh": "torchrun --nproc_per_node 8 train.py"}, "error"),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py"}, "hint"),
        ({"run.sh": "torchrun --nproc_per_node 8 other.py", "other.py": "import train"}, "error"),
        # it starts its ranks itself, and others are started
        ({"run.sh": "torchrun --nproc_per_node 8 other.py", "other.py": "", "train.py": STARTS_ITSELF}, "hint"),
        ({"run.sh": "python train.py", "train.py": STARTS_ITSELF}, "error"),
        ({"train.py": STARTS_ITSELF}, "error"),
        # nothing says how anything is started
        ({"run.sh": "echo"}, "error"),
    ],
)
def test_a_proof_about_a_file_of_which_nothing_starts_several_ranks(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": LEFT_TO_ONE, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == severity


FETCHES = """\
import os
import urllib.request

import torch


def fetch(path):
    if not os.path.exists(path):
        urllib.request.urlretrieve("https://example.org/weights", path)
    return torch.load(path)
"""
DOWNLOADS = """\
import torch.distributed as dist

from params import parse
from weights import fetch


def main():
    args = parse()
    dist.init_process_group("gloo")
    if args.published:
        fetch("weights.pt")


if __name__ == "__main__":
    main()
"""
PARAMS = """\
import argparse


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--published", action="store_true")
    return parser.parse_args()
"""


@pytest.mark.parametrize(("options", "severity"), [("", "hint"), ("--published", "warning")])
def test_a_download_for_which_nothing_asks(options: str, severity: str, repository: Repository) -> None:
    """The option is declared in a file beside the program."""
    command = f"torchrun --nproc_per_node 2 train.py {options}"
    repository({"train.py": DOWNLOADS, "params.py": PARAMS, "weights.py": FETCHES, "run.sh": command})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if --published is given, ") == (severity == "hint")


def test_the_copy_of_a_library_that_names_its_extensions_first(repository: Repository) -> None:
    setup = "ext_modules = [Extension(\n    name=ext_name,\n)]\nsetup(\n    name='mmcv' if LITE else 'mmcv-full',\n)\n"
    texts = {"setup.py": "setup(name='own')", "lib/setup.py": setup, "lib/mmcv/__init__.py": "", "train.py": PASSES}
    repository(
        {
            **texts,
            "lib/examples/train.py": DOWNLOADS.replace("args.published", "args"),
            "lib/examples/weights.py": FETCHES,
            "run.sh": "torchrun train.py",
        }
    )
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.message.startswith("if this part of the copy in lib runs, ")
    assert finding.severity.value == "hint"


UNCALLED = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


def train(model, data):
    model.eval()
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for epoch in range(9):
        for batch in loader:
            model(batch).sum().backward()


def infer(model, data):
    print(model(data))


if __name__ == "__main__":
    dist.init_process_group("gloo")
    CALL(torch.nn.Linear(1, 1), list(range(9)))
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"train.py": UNCALLED.replace("CALL", "train")}, "error"),
        ({"train.py": UNCALLED.replace("CALL", "infer")}, "hint"),
        # a word of the text that is no name of it
        ({"train.py": UNCALLED.replace("CALL", "infer"), "README.md": "how to train"}, "hint"),
        ({"train.py": UNCALLED.replace("CALL", "infer"), "README.md": "accelerate test train:train"}, "error"),
        ({"train.py": UNCALLED.replace("CALL", "infer"), "job.py": "from train import train\ntrain(x, y)"}, "error"),
        ({"train.py": UNCALLED.replace("CALL", "globals()['tr' + 'ain']")}, "error"),
    ],
)  # fmt: skip
def test_what_a_program_defines_and_does_not_call(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({"run.sh": "torchrun --nproc_per_node 8 train.py", **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD101"}))).findings
    assert finding.severity.value == severity


SCORES = """
import argparse

import torch.distributed as dist
from torchvision.datasets import CIFAR10


def scored(args, model):
    data = CIFAR10(args.root, download=True)
    return evaluated(model, data)


def main(args, model):
    dist.init_process_group("nccl")
    train(model)
    if args.do_test:
        scored(args, model)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data")
    parser.add_argument("--do_test", action="store_true")
    main(parser.parse_args(), build())
"""


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        ("torchrun --nproc_per_node 4 train.py", "hint"),
        ("torchrun --nproc_per_node 4 train.py\npython train.py --do_test", "hint"),
        ("torchrun --nproc_per_node 4 train.py --do_test", "warning"),
        ("torchrun --nproc_per_node 4 train.py $@", "warning"),
        ("torchrun --nproc_per_node 4 other.py", "hint"),
    ],
)
def test_a_function_that_only_an_option_calls(script: str, severity: str, repository: Repository) -> None:
    repository({"train.py": SCORES, "run.sh": f"{script}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        ("torchrun --nproc_per_node 4 train.py --data imagenet", "hint"),
        ("torchrun --nproc_per_node 4 train.py --data=imagenet\npython train.py --data cifar10", "hint"),
        ("torchrun --nproc_per_node 4 train.py --data imagenet\ntorchrun train.py --data cifar10", "warning"),
        ("torchrun --nproc_per_node 4 train.py --data imagenet\ntorchrun train.py --data $DATA", "warning"),
        ("torchrun --nproc_per_node 4 train.py --data imagenet\ntorchrun train.py", "warning"),
    ],
)
def test_a_setting_that_all_commands_give_another_name(script: str, severity: str, repository: Repository) -> None:
    program = SCORES.replace("args.do_test", 'args.data == "cifar10"').replace(
        "scored(args, model)\n\n\nif", "CIFAR10(args.root, download=True)\n\n\nif"
    )
    program = program.replace(
        "    data = CIFAR10(args.root, download=True)\n    return evaluated(model, data)", "    return evaluated(model)"
    )
    repository({"train.py": program, "run.sh": f"{script}\n", "README.md": "cifar10 and imagenet\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity


READS = """\
from torch.utils.data import DataLoader, DistributedSampler


def reading(data, bucket=True, shares=False):
    if bucket:
        return DataLoader(data, batch_size=4)
    elif shares:
        sampler = DistributedSampler(data)
    else:
        sampler = None
    return DataLoader(data, batch_size=4, sampler=sampler, shuffle=True)
"""
CALLS_IT = """\
import torch.distributed as dist

from reads import reading

if __name__ == "__main__":
    dist.init_process_group("nccl")
    train({call})
"""


@pytest.mark.parametrize(
    ("call", "severity"),
    [
        ("reading(data)", "hint"),
        ("reading(data, bucket=True)", "hint"),
        ("reading(data, True)", "hint"),
        ("reading(data, False)", "warning"),
        ("reading(data, bucket=args.bucket)", "warning"),
        ("reading(data, **options)", "warning"),
        ("reading(*options)", "warning"),
        ("reading(data), reading(data, False)", "warning"),
        ("partial(reading, data)", "warning"),
        ("reading(data), KINDS['reading']", "warning"),
    ],
)
def test_a_parameter_that_no_caller_passes_so(call: str, severity: str, repository: Repository) -> None:
    repository({"reads.py": READS, "train.py": CALLS_IT.format(call=call), "run.sh": "torchrun train.py\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD104"}))).findings
    assert finding.severity.value == severity
    assert finding.message.startswith("if reading is called with another bucket, ") == (severity == "hint")


@pytest.mark.parametrize(
    ("readme", "severity"),
    [
        ("bash run.sh 4 --root data", "hint"),
        ("bash run.sh 4 --root data\nbash run.sh 8 --do_test", "warning"),
        ("nothing calls it", "warning"),
    ],
)
def test_what_the_callers_of_a_script_hand_on(readme: str, severity: str, repository: Repository) -> None:
    script = "torchrun --nproc_per_node $1 train.py ${@:2}\n"
    repository({"train.py": SCORES, "run.sh": script, "README.md": f"```\n{readme}\n```\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert finding.severity.value == severity


FETCHED_IN_SETUP = """\
from lightning import LightningModule
from torchvision.datasets import CIFAR10


class Module(LightningModule):
    def setup(self, stage):
        self.data = CIFAR10("data", download=True)
"""
FITS_MODULE = """\
from lightning import Trainer

from module import Module

if __name__ == "__main__":
    Trainer({given}).fit(Module())
"""


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        ("devices=1", "hint"),
        ("gpus=[0]", "hint"),
        ("devices=1, num_nodes=1", "hint"),
        ("devices=1, num_nodes=2", "warning"),
        ("devices=[0, 1]", "warning"),
        ("devices=4", "warning"),
        ("**options, devices=1", "warning"),
        ("", "warning"),
    ],
)
def test_a_module_that_a_trainer_of_one_device_uses(given: str, severity: str, repository: Repository) -> None:
    repository(
        {
            "module.py": FETCHED_IN_SETUP,
            "fit.py": FITS_MODULE.format(given=given),
            "README.md": "```\npython fit.py\n```\n",
        }
    )
    found = engine.lint(["."], Settings(frozenset({"DD124"}))).findings
    assert [finding.severity.value for finding in found] == [severity]


PASSES_BOTH = """\
import argparse

import torch.distributed as dist
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--packed", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    batches = None
    if args.packed:
        batches = BatchSampler(SequentialSampler(rows), 8, False)
        train(DataLoader(rows, batch_sampler=batches, shuffle=True))
"""


@pytest.mark.parametrize(
    ("script", "severity"),
    [("torchrun train.py", "hint"), ("torchrun train.py --packed", "error"), ("torchrun train.py $@", "error")],
)
def test_an_error_that_only_an_option_leads_to(script: str, severity: str, repository: Repository) -> None:
    repository({"train.py": PASSES_BOTH, "run.sh": f"{script}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD104"}))).findings
    assert finding.severity.value == severity


LOADS_IF_ASKED = """\
import torch
import torch.distributed as dist


def main(config, net, optimizer):
    dist.init_process_group("nccl")
    if config.get("begin"):
        optimizer.load_state_dict(torch.load(config["begin"])["optimizer"])
    torch.save({"optimizer": optimizer.state_dict()}, "last.pt")


if __name__ == "__main__":
    main(*read())
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"run.yaml": "rate: 0.1\n"}, "hint"),
        ({"run.yaml": "rate: 0.1\nbegin: last.pt\n"}, "warning"),
        ({"run.yaml": "rate: 0.1\n", "other.py": "config['begin'] = args.begin\n"}, "warning"),
        ({"run.yaml": "rate: 0.1\n", "run.sh": "torchrun train.py begin=last.pt\n"}, "warning"),
        # nothing shows how it is set
        ({}, "warning"),
    ],
)
def test_a_setting_that_is_asked_for_and_that_nothing_sets(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({"train.py": LOADS_IF_ASKED, "run.sh": "torchrun train.py\n", **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD173"}))).findings
    assert finding.severity.value == severity


BEGINS = "from work import begin\n\nif __name__ == '__main__':\n    begin()\n"
WORKS = """\
import os
import time

import torch.distributed as dist


def begin():
    dist.init_process_group("nccl")
    dist.barrier()


def main():
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        open("address", "w").write("here")
    while not os.path.exists("address"):
        time.sleep(1)
    print(open("address").read())


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("torchrun --nproc_per_node 4 started.py", "hint"),
        ("torchrun --nproc_per_node 4 work.py", "warning"),
        ("torchrun --nproc_per_node 4 started.py\ntorchrun --nproc_per_node 4 work.py", "warning"),
    ],
)
def test_a_main_of_its_own_in_a_file_that_a_started_one_imports(
    command: str, severity: str, repository: Repository
) -> None:
    repository({"started.py": BEGINS, "work.py": WORKS, "run.sh": f"{command}\n"})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD126"}))).findings
    assert finding.severity.value == severity


#: a name that torch no longer has, in what only other modules import
LIBRARY = {
    "nets/__init__.py": "",
    "nets/clip.py": "import torch.distributed as dist\nfrom torch._six import inf\n\n\n"
    "def clip(norm):\n    dist.all_reduce(norm)\n    return min(norm, inf)\n",
    "nets/steps.py": "from nets.clip import clip\n\n\ndef step(norm):\n    return clip(norm)\n",
    "train.py": "def main():\n    pass\n\n\nif __name__ == '__main__':\n    main()\n",
}
BUILDS_TOOLS = "from setuptools import setup\nsetup(name='tools', packages=['tools'])\n"


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "hint"),
        ({"train.py": f"from nets.steps import step\n{LIBRARY['train.py']}"}, "warning"),
        # a program without a function
        ({"run.py": "from nets.steps import step\nstep(1)\n"}, "warning"),
        ({"nets/steps.py": f"{LIBRARY['nets/steps.py']}\n\nif __name__ == '__main__':\n    step(1)\n"}, "warning"),
        ({"run.sh": "torchrun --nproc_per_node 4 -m nets.steps"}, "warning"),
        # others install it
        ({"setup.py": "from setuptools import find_packages, setup\nsetup(packages=find_packages())\n"}, "warning"),
        ({"pyproject.toml": "[project]\nname = 'nets'\n"}, "warning"),
        ({"setup.py": BUILDS_TOOLS.replace("'tools'", "'nets'")}, "warning"),
        ({"setup.py": BUILDS_TOOLS}, "hint"),
        ({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, "hint"),
        # a repository of modules alone
        ({"train.py": ""}, "warning"),
    ],
)
def test_what_no_program_imports(files: dict[str, str], severity: str, repository: Repository) -> None:
    repository({**LIBRARY, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD127"}))).findings
    assert finding.severity.value == severity


#: what one kind of run does before and after its training
REPLAYS = {
    "before.py": "def prepare(args):\n    if 'replay' in args.kind:\n        print(args.replay_size)\n",
    "after.py": "import torch.distributed as dist\n\n\ndef finish(args):\n    if 'replay' in args.kind:\n"
    "        if dist.get_rank() == 0:\n            dist.barrier()\n",
    "train.py": "import argparse\nimport after\nimport before\nimport torch.distributed as dist\n\n\n"
    "def run(args):\n    dist.init_process_group('gloo')\n    before.prepare(args)\n    after.finish(args)\n\n\n"
    "if __name__ == '__main__':\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--kind')\n"
    "    run(parser.parse_args())\n",
}


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "hint"),
        ({"train.py": REPLAYS["train.py"].replace("'--kind')", "'--kind')\n    parser.add_argument('--replay-size')")},
         "error"),
        ({"train.py": REPLAYS["train.py"].replace("run(parser", "setattr(args, 'replay' + end, 1)\n    run(parser")},
         "error"),
        ({"more.yaml": "replay_size: 3\n"}, "error"),
    ],
    ids=["nowhere declared", "declared", "set by a name that is made", "in a file of settings"],
)  # fmt: skip
def test_a_proof_for_a_kind_of_run_that_ends_before(
    files: dict[str, str], severity: str, repository: Repository
) -> None:
    repository({**REPLAYS, **files})
    (finding,) = engine.lint(["."], Settings(frozenset({"DD111"}))).findings
    assert finding.severity.value == severity
