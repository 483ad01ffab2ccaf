"""The density of snow from the hardness of its layers; Accelerate, with gradients of three batches in an update."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin
from torch.utils.data import DataLoader

from density import DensityNet, WinterTrainer
from pits import LAYERS, Pits, slope


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pits", type=int, default=7_560)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default=3)
    parser.add_argument("--width", type=int, default=22)
    parser.add_argument("--lr", type=float, default=4e-3)
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(31)
    plugin = GradientAccumulationPlugin(num_steps=args.accumulate, sync_with_dataloader=False)
    accelerator = Accelerator(cpu=True, gradient_accumulation_plugin=plugin)

    model = DensityNet(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    dug_up = slope(1_860, 6) | slope(4_301, 3)
    loader = DataLoader(Pits(args.pits, dug_up), batch_size=args.batch_size)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    trainer = WinterTrainer(accelerator, model, optimizer, loader)
    trainer.run()
    accelerator.wait_for_everyone()
    fresh = trainer.predict(torch.full((1, LAYERS), 0.2)).item()
    print(f"process {accelerator.process_index}: fresh snow {fresh:.3f}, {trainer.batches} batches", flush=True)
    accelerator.end_training()


if __name__ == "__main__":
    main()
