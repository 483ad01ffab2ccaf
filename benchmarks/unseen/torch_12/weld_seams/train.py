"""Finds faulty weld seams; the two large layers are split over the ranks (tensor parallel)."""
import argparse
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from window import Window


class SeamNet(nn.Module):
    def __init__(self, features=20, width=96):
        super().__init__()
        self.up = nn.Linear(features, width)
        self.down = nn.Linear(width, features)
        self.out = nn.Linear(features, 1)

    def forward(self, x):
        x = x + self.down(torch.relu(self.up(x)))
        return self.out(x).squeeze(-1)


class Seams:
    """The same batches on all ranks; a camera that is reset gives one batch out of range."""

    def __init__(self, batch, features=20, resets=(260,)):
        self.g = torch.Generator().manual_seed(3)
        self.mix = torch.randn(features, generator=self.g)
        self.batch = batch
        self.resets = resets

    def get(self, step):
        x = torch.randn(self.batch, len(self.mix), generator=self.g)
        y = (x @ self.mix > 0).float()
        if step in self.resets:
            x, y = 60.0 * x, 1.0 - y
        return x, y


class Progress:
    def __init__(self, every, size=50):
        self.every = every
        self.window = Window(size)

    def on_step(self, step, loss):
        self.window.add(step, loss)
        if step % self.every == 0:
            print(f"step {step}: {self.window.mean():.4f}, {len(self.window.spikes)} spikes", flush=True)


class Trainer:
    def __init__(self, args):
        self.args = args
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        torch.manual_seed(1)
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        self.model = parallelize_module(SeamNet(), mesh, plan)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=args.lr)
        self.data = Seams(args.batch)
        self.callbacks = [Progress(args.log_every)] if dist.get_rank() == 0 else []

    def step(self, index):
        x, y = self.data.get(index)
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.out.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def fit(self):
        for index in range(self.args.steps):
            time.sleep(0.01)
            loss = self.step(index)
            for callback in self.callbacks:
                callback.on_step(index, loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--log-every", type=int, default=25)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
