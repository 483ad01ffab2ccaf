"""Which files are relevant: others are not interpreted, so a name missing here is a finding missed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ddpdoctor.lint import screening
from ddpdoctor.lint.facts.relevance import takes_part
from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.program import indexing
from ddpdoctor.program.project import Project

TAKES_PART = {
    "a collective": "import torch.distributed as dist\ndist.barrier()",
    "one by its full name": "import torch\ntorch.distributed.broadcast(x, 0)",
    "one imported by name": "from torch.distributed import reduce as add\nadd(x, 0)",
    "one of the functional ones": "import torch.distributed._functional_collectives as f\nf.all_reduce(x, 'sum', g)",
    "the module, handed on": "import torch.distributed as dist\nrun(dist)",
    "the module, under another name": "import torch\nd = torch.distributed\nd.barrier()",
    "a star": "from torch.distributed import *\nbarrier()",
    "a wrapper": "from torch.nn.parallel import DistributedDataParallel as DDP\nDDP(m)",
    "something of a class": "from torch.distributed.fsdp import FullyShardedDataParallel as F\nF.state_dict_type(m)",
    "a rank": "import torch.distributed as dist\nprint(dist.get_rank())",
    "a launcher's variable": "import os\nrank = os.environ['RANK']",
    "a launcher's option": "parser.add_argument('--local_rank')",
    "an attribute of any object": "if trainer.is_global_zero:\n    save()",
    "a decorator of any library": "@rank_zero_only\ndef log(): ...",
    "a loader": "from torch.utils.data import DataLoader\nDataLoader(x)",
    "a sampler by its other name": "from torch.utils.data.distributed import DistributedSampler as S\nS(x)",
    "processes": "import torch.multiprocessing as mp\nmp.spawn(f)",
    "a framework": "from accelerate import Accelerator",
    "a framework's module": "import lightning.pytorch as pl",
}
TAKES_NO_PART = {
    "nothing": "x = 1",
    "it asks whether it is there": "import torch\nok = torch.distributed.is_available()",
    "the same, imported": "import torch.distributed as dist\nready = dist.is_available() and dist.is_initialized()",
    "a type": "import torch.distributed as dist\ndef f(group: dist.ProcessGroup) -> None: ...",
    "it is imported and not used": "import torch.distributed as dist",
    "an object's own method": "log.barrier()\nstate.broadcast(1)\nnp.save(x)",
    "prose": "'''Like torch.distributed.barrier, on one machine.'''",
}


def test_a_word_has_what_it_is_looked_for_by() -> None:
    for stem, words in screening._MATTERING.items():
        for word in words:
            assert stem in word
            assert screening.matters(b"x = 1\n" + word)
    assert screening.matters(b"wandb.init()\nTrainer(model).train()")
    assert not screening.matters(b"wandb.init()")
    assert not screening.matters(b"hard rank, all process; distributed under the Apache License")


def _takes_part(folder: Path, text: str) -> bool:
    path = folder / "train.py"
    module = indexing.build(str(path), "train", text, ast.parse(text))
    return takes_part(module, Project(read_file, is_file))


@pytest.mark.parametrize("text", TAKES_PART.values(), ids=TAKES_PART)
def test_what_matters_to_a_job(tmp_path: Path, text: str) -> None:
    assert _takes_part(tmp_path, text)


@pytest.mark.parametrize("text", TAKES_NO_PART.values(), ids=TAKES_NO_PART)
def test_what_cannot_matter(tmp_path: Path, text: str) -> None:
    assert not _takes_part(tmp_path, text)


@pytest.mark.parametrize(
    "imports", ["import engine", "from engine import fit", "import pack.steps", "from pack import steps"]
)
def test_a_file_of_the_project_may_matter(tmp_path: Path, imports: str) -> None:
    assert not _takes_part(tmp_path, imports)
    (tmp_path / "pack").mkdir()
    for name in ("engine.py", "pack/steps.py"):
        (tmp_path / name).write_text("def fit(): ...\n")
    assert _takes_part(tmp_path, imports)
