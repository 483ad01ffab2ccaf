from collections import Counter

import torch
import torch.distributed as dist
from sides import Depth, Pairs
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


class Side:
    def __init__(self, name, rate=1e-3):
        self.name = name
        self.network = DistributedDataParallel(Depth())
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=rate)


def learn(side, view, depth):
    seen = depth > 0
    if not seen.any():
        return None
    loss = (side.network(view).squeeze(1) - depth)[seen].abs().mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(side.network.parameters(), 5.0)
    side.optimizer.step()
    side.optimizer.zero_grad(set_to_none=True)
    return loss.item()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(8)
    data = Pairs(4200)
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False), drop_last=True)
    sides = [Side("left"), Side("right")]
    totals, counts = Counter(), Counter()
    for batch in loader:
        for side in sides:
            loss = learn(side, *batch[side.name])
            if loss is not None:
                totals[side.name] += loss
                counts[side.name] += 1
    dist.barrier()
    print(dist.get_rank(), {name: totals[name] / counts[name] for name in totals}, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
