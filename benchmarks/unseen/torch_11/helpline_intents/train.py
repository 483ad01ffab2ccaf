"""What callers of a helpline want, from embeddings of their first sentence."""

import argparse
import logging
import pathlib
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from metrics import IntentAccuracy

log = logging.getLogger("helpline")
INTENTS = ["address", "billing", "cancel", "complaint", "outage", "bereavement"]


def calls(count, width, seed):
    """Five intents that are common, in no order."""
    g = torch.Generator().manual_seed(seed)
    intent = torch.randint(0, 5, (count,), generator=g)
    centres = torch.randn(len(INTENTS), width, generator=torch.Generator().manual_seed(0))
    sentence = centres[intent] + 0.8 * torch.randn(count, width, generator=g)
    return sentence, intent


def load(args):
    sentence, intent = calls(args.calls, args.width, seed=1)
    intent[::90] = INTENTS.index("bereavement")
    train = TensorDataset(sentence, intent)
    sentence, intent = calls(args.calls // 4, args.width, seed=2)
    # one caller, who was cut off twice
    intent[203:206] = INTENTS.index("bereavement")
    return train, TensorDataset(sentence, intent)


class Trainer:
    def __init__(self, args, folder):
        self.args = args
        self.folder = pathlib.Path(folder)
        train, held_out = load(args)
        self.sampler = DistributedSampler(train, seed=args.seed)
        self.loader = DataLoader(train, args.batch, sampler=self.sampler, num_workers=args.workers)
        self.held_out = DataLoader(held_out, args.batch, sampler=DistributedSampler(held_out, shuffle=False))
        torch.manual_seed(args.seed)
        network = nn.Sequential(nn.Linear(args.width, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, len(INTENTS)))
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.best = 0.0

    def train_epoch(self):
        self.model.train()
        for sentence, intent in self.loader:
            loss = nn.functional.cross_entropy(self.model(sentence), intent)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        accuracy = IntentAccuracy(INTENTS)
        for sentence, intent in self.held_out:
            accuracy.update(self.model(sentence).argmax(1), intent)
        return accuracy.compute()

    def save(self, epoch):
        if dist.get_rank() == 0:
            torch.save(self.model.module.state_dict(), self.folder / f"epoch_{epoch}.pt")
        dist.barrier()

    def fit(self):
        for epoch in range(self.args.epochs):
            self.sampler.set_epoch(epoch)
            self.train_epoch()
            if epoch % self.args.eval_every == self.args.eval_every - 1:
                table = self.evaluate()
                if dist.get_rank() == 0:
                    log.info("epoch %d %s", epoch, {name: round(value, 3) for name, value in table.items()})
                self.save(epoch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=2400)
    parser.add_argument("--width", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--eval-every", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with tempfile.TemporaryDirectory() as folder:
        Trainer(args, folder).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
