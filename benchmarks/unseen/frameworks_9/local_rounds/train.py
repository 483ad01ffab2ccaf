"""Item embeddings from baskets of four regions: local SGD with an average every ten steps."""
import argparse
import time

import torch
from accelerate import Accelerator
from accelerate.local_sgd import LocalSGD
from torch import nn
from torch.utils.data import DataLoader

from baskets import REGIONS, Baskets, NeighbourIndex


class Item2Vec(nn.Module):
    def __init__(self, items, dim):
        super().__init__()
        self.target = nn.Embedding(items, dim)
        self.context = nn.Embedding(items, dim)

    def forward(self, item, others):
        t = self.target(item).unsqueeze(1)
        return (t * self.context(others)).sum(dim=-1)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--items", type=int, default=120)
    p.add_argument("--dim", type=int, default=16)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--round", type=int, default=10)
    p.add_argument("--index-seconds", type=float, default=7.0)
    return p.parse_args()


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(29)
    accelerator = Accelerator(cpu=True)
    region = REGIONS[accelerator.process_index]

    model = Item2Vec(args.items, args.dim)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    model, optimizer = accelerator.prepare(model, optimizer)
    loader = DataLoader(Baskets(region, args.items, args.steps * 8), batch_size=8)  # own baskets of this region

    index = NeighbourIndex()
    losses = torch.zeros(1)
    began = time.monotonic()
    with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=args.round) as rounds:
        for step, (item, others, bought) in enumerate(loader, start=1):
            time.sleep(region.seconds_per_batch)
            scores = model(item, others)
            loss = nn.functional.binary_cross_entropy_with_logits(scores, bought)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            losses += loss.item()
            if step == args.steps // 2 + 3 and accelerator.is_main_process:
                index.rebuild(accelerator.unwrap_model(model).target.weight, args.index_seconds)
            rounds.step()

    mean = accelerator.gather(losses / args.steps)
    accelerator.print("loss by region", [round(v, 4) for v in mean.tolist()])
    if accelerator.is_main_process:
        index.rebuild(accelerator.unwrap_model(model).target.weight, 1.0)
        print("neighbours of item 0:", index.nearest(0), f"({time.monotonic() - began:.1f} s)")
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
