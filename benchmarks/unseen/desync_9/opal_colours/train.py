"""Play of colour of opals; Fabric with a trainer of our own."""

import argparse

import torch
from lightning.fabric import Fabric
from torch import nn
from torch.utils.data import DataLoader

from callbacks import callbacks_for
from stones import Stones, network


class Trainer:
    def __init__(self, fabric, model, optimizer, callbacks):
        self.fabric, self.model, self.optimizer = fabric, model, optimizer
        self.callbacks, self.step = callbacks, 0
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def call(self, hook, *args):
        for callback in self.callbacks:
            if method := getattr(callback, hook, None):
                method(self.fabric, *args)

    def training_step(self, spectra, plays):
        loss = self.criterion(self.model(spectra), plays)
        self.optimizer.zero_grad()
        self.fabric.backward(loss)
        self.optimizer.step()
        return loss.item()

    def fit(self, loader):
        for spectra, plays in loader:
            loss = self.training_step(spectra, plays)
            self.step += 1
            self.call("on_step_end", self.model, self.step, loss)
        self.fabric.barrier()
        self.call("on_fit_end")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stones", type=int, default=4800, help="for each process")
    parser.add_argument("--warmup", type=int, default=130)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.set_num_threads(1)
    fabric = Fabric(accelerator="cpu", devices=3, strategy="ddp")
    fabric.launch()
    fabric.seed_everything(6, verbose=False)
    model = network()
    model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters(), lr=args.lr))
    stones = Stones(fabric.global_rank, fabric.world_size, args.stones)
    loader = fabric.setup_dataloaders(DataLoader(stones, batch_size=10), use_distributed_sampler=False)
    trainer = Trainer(fabric, model, optimizer, callbacks_for(fabric, args.warmup, every=50))
    trainer.fit(loader)


if __name__ == "__main__":
    main()
