"""Which stop of an organ a pipe belongs to, from the harmonics of its sound."""

import argparse

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from pipes import PipeConfig, Pipes
from voicing import StopClassifier, Voicer


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--report", type=int, default=120)
    return parser.parse_args()


class Report:
    def __init__(self, accelerator, every):
        self.accelerator, self.every = accelerator, every
        self.sum, self.count = 0.0, 0

    def add(self, loss):
        self.sum += float(loss)
        self.count += 1
        if self.count % self.every == 0:
            self.accelerator.print(f"{self.count} batches: {self.sum / self.every:.4f}", flush=True)
            self.sum = 0.0


def main():
    args = arguments()
    torch.set_num_threads(1)
    torch.manual_seed(11)
    accelerator = Accelerator(cpu=True)
    model = StopClassifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(Pipes(PipeConfig()), batch_size=args.batch_size, drop_last=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    voicer = Voicer(accelerator, model, optimizer)
    report = Report(accelerator, args.report)
    for batch in loader:
        report.add(voicer.step(batch))
    accelerator.wait_for_everyone()
    print(f"process {accelerator.process_index}: {voicer.half_wind} at half wind", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
