"""Topic classifier with a vocabulary that is built at the first start."""
import logging
import os
import tempfile
import time
from pathlib import Path

import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from ignite.metrics import Accuracy
from ignite.utils import setup_logger
from torch import nn
from torch.utils.data import DataLoader, Dataset

import vocab


class Articles(Dataset):
    def __init__(self, index, start, n):
        self.index, self.start, self.n = index, start, n

    def __len__(self):
        return self.n

    def __getitem__(self, k):
        i = self.start + k
        time.sleep(0.03)  # the articles come from a network share
        words = [f"tok{(i * 37 + j * j) % 500}" for j in range(40)]
        return torch.tensor([self.index.get(w, 0) for w in words]), i % 4


def attach_evaluation(trainer, net, loader, logger):
    def infer(engine, batch):
        with torch.no_grad():
            return net(batch[0]), batch[1]

    evaluator = Engine(infer)
    Accuracy().attach(evaluator, "accuracy")

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        evaluator.run(loader)
        logger.info("epoch %d accuracy %.3f", engine.state.epoch, evaluator.state.metrics["accuracy"])


def main(local_rank, directory):
    rank = idist.get_rank()
    logger = setup_logger("topics")
    with idist.one_rank_first():
        index = vocab.load(directory / "vocabulary.json")
    logger.info("%d words", len(index))

    torch.manual_seed(2)
    net = nn.Sequential(nn.EmbeddingBag(len(index) + 1, 16), nn.Linear(16, 4))
    model = idist.auto_model(net)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(engine, batch):
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    trainer = Engine(step)
    loader = DataLoader(Articles(index, rank * 1000, 80), batch_size=4, num_workers=1, persistent_workers=True)
    attach_evaluation(trainer, net, DataLoader(Articles(index, 9000 + rank * 100, 24), batch_size=8), logger)
    trainer.run(loader, max_epochs=3)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    job = f"{os.environ.get('TORCHELASTIC_RUN_ID', 'local')}-{os.getppid()}"
    directory = Path(tempfile.gettempdir()) / f"topics-{job}"
    directory.mkdir(exist_ok=True)
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(main, directory)
