"""What is found in a file does not depend on which files the same process linted before it."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest

from ddpdoctor.lint import registry
from ddpdoctor.lint.file_result import FileResult
from ddpdoctor.lint.linter import Linter
from ddpdoctor.lint.settings import Settings
from tests.unit.lint.test_lint_cases import Case, all_cases

SETTINGS = Settings(frozenset(registry.names()))

PROJECT = {
    "lib/__init__.py": "",
    "lib/group.py": """
        import random

        import torch.distributed as dist

        RANK = 0

        def start(seed):
            global RANK
            dist.init_process_group("nccl")
            RANK = dist.get_rank()
            random.seed(seed + RANK)

        def first():
            return RANK == 0

        def mean(loss, *, wait=True):
            dist.all_reduce(loss)
            if wait:
                dist.barrier()
            return loss
        """,
    "lib/base.py": """
        from lib import group

        class Trainer:
            def __init__(self, model, keep):
                self.model, self.keep = model, keep

            def step(self, batch):
                loss = self.model(batch)
                return group.mean(loss, wait=self.keep)

            def save(self, path):
                if group.first():
                    self.write(path)
                    group.mean(self.model)

            def write(self, path):
                open(path, "w").write(str(self.model))
        """,
    "pretrain.py": """
        import random

        from lib import group
        from lib.base import Trainer

        def main(model, loader):
            group.start(1)
            trainer = Trainer(model, keep=True)
            for batch in loader:
                if random.random() < 0.1:
                    trainer.step(batch)
            trainer.save("last.pt")

        if __name__ == "__main__":
            main(None, [])
        """,
    "finetune.py": """
        from lib.base import Trainer
        from lib.group import first, mean, start

        class Tuner(Trainer):
            def write(self, path):
                mean(self.model)

        def main(model, loader):
            start(2)
            tuner = Tuner(model, keep=False)
            if first():
                for batch in loader:
                    tuner.step(batch)
            tuner.save("tuned.pt")
        """,
}


def _write(files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    return sorted(files)


def _found(linter: Linter, paths: Iterable[str]) -> dict[str, FileResult]:
    return {path: linter.file(path, named=True) for path in paths}


def _same_in_every_order(paths: list[str]) -> dict[str, FileResult]:
    """The findings of each file linted alone, after it was seen that company changes none."""
    alone = {path: Linter(SETTINGS).file(path, named=True) for path in paths}
    shuffled = random.Random(7).sample(paths, len(paths))
    for order in (paths, paths[::-1], shuffled):
        linter = Linter(SETTINGS)
        for _ in range(2):
            assert _found(linter, order) == alone
    return alone


@pytest.mark.parametrize(
    "case", [case for case in all_cases() if len(case.files) > 1], ids=lambda case: f"{case.code}: {case.title}"
)
def test_a_case_of_several_files(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _same_in_every_order(_write({name: "\n".join(lines) for name, lines in case.files.items()}))


def test_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    alone = _same_in_every_order(_write({name: textwrap.dedent(text) for name, text in PROJECT.items()}))
    assert [path for path, result in alone.items() if result.findings] == ["finetune.py", "pretrain.py"]


NETWORKS = {
    "models/__init__.py": "",
    "models/base.py": """
        import pytorch_lightning as pl

        class Base(pl.LightningModule):
            pass
        """,
    "models/net.py": """
        import pytorch_lightning as pl
        import torch
        from models.base import Base

        class Net(pl.LightningModule):
            def validation_step(self, batch, index):
                self.log("loss", self(batch).mean())

            def configure_optimizers(self):
                optimizer = torch.optim.SGD(self.parameters())
                schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
                return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": "loss"}}

        class Another(Base):
            def validation_step(self, batch, index):
                self.log("loss", self(batch).mean())
        """,
    "train.py": """
        import pytorch_lightning as pl
        from models.net import Net

        if __name__ == "__main__":
            trainer = pl.Trainer(gpus=4)
            trainer.fit(Net())
        """,
}


@pytest.mark.parametrize("codes", [frozenset({"DD181"}), frozenset(registry.names())])
def test_a_rule_alone_may_ask_for_files_that_nothing_has_asked_for(codes: frozenset[str], tmp_path: Path) -> None:
    for name, text in NETWORKS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    result = Linter(Settings(codes)).file(str(tmp_path / "train.py"), named=True)
    assert [finding.code for finding in result.findings if finding.code == "DD181"] == ["DD181"]
