"""Water table of peat bogs from probes: a small regression with DistributedDataParallel."""
import argparse
import io
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from scaling import RunningScaler

log = logging.getLogger("bogs")
CHANNELS = 12


class Probes(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        scale = torch.logspace(-1, 2, CHANNELS)
        latent = torch.randn(count, CHANNELS, generator=g)
        self.readings = latent * scale + 4 * scale
        self.level = latent[:, :4].tanh().sum(1) - latent[:, 5] * latent[:, 6]

    def __len__(self):
        return len(self.level)

    def __getitem__(self, index):
        return self.readings[index], self.level[index]


class Checkpoints:
    """Keeps the last states of the run; the first process writes, and nobody goes on before it has."""

    def __init__(self, every, keep=2):
        self.every = every
        self.keep = keep
        self.written = []

    def after_step(self, trainer):
        if trainer.step % self.every:
            return
        if trainer.rank == 0:
            self.write(trainer)
        dist.barrier()

    def write(self, trainer):
        buffer = io.BytesIO()
        state = {
            "step": trainer.step,
            "model": trainer.model.module.state_dict(),
            "optimizer": trainer.optimizer.state_dict(),
            "scaler": trainer.scaler.state_dict(),
        }
        torch.save(state, buffer)
        self.written = (self.written + [buffer.getvalue()])[-self.keep:]
        log.info("step %d: %d bytes", trainer.step, len(self.written[-1]))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        torch.manual_seed(args.seed)
        net = nn.Sequential(nn.Linear(CHANNELS, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
        self.model = DDP(net)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.scaler = RunningScaler(CHANNELS)
        self.data = Probes(args.samples, args.seed)
        self.sampler = DistributedSampler(self.data, seed=args.seed, drop_last=True)
        self.loader = DataLoader(self.data, batch_size=args.batch, sampler=self.sampler, drop_last=True)
        self.checkpoints = Checkpoints(args.checkpoint_every)
        self.step = 0

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        running = 0.0
        for readings, level in self.loader:
            self.scaler.update(readings)
            predicted = self.model(self.scaler(readings))[:, 0]
            loss = nn.functional.huber_loss(predicted, level)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            running += loss.item()
            self.checkpoints.after_step(self)
        self.scaler.merge()
        return running / len(self.loader)

    def fit(self):
        for epoch in range(self.args.epochs):
            error = self.train_epoch(epoch)
            if self.rank == 0:
                log.info("epoch %d: %.4f", epoch, error)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--samples", type=int, default=9000)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--checkpoint-every", type=int, default=500)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
