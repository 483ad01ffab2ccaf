import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

BUOYS = {0: 1840, 1: 1720, 2: 2160}


class Hydrophone(Dataset):
    """What one buoy recorded this month; every buoy has its own number of clips."""

    def __init__(self, buoy):
        self.generator = torch.Generator().manual_seed(buoy)
        self.clips = torch.randn(BUOYS[buoy], 96, generator=self.generator)
        self.calls = self.clips[:, :4].abs().sum(1, keepdim=True)

    def __len__(self):
        return len(self.clips)

    def __getitem__(self, index):
        time.sleep(0.012)
        return self.clips[index], self.calls[index]


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(13)
    model = DDP(nn.Sequential(nn.Linear(96, 64), nn.SELU(), nn.Linear(64, 1)))
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=1e-3)
    loader = DataLoader(Hydrophone(dist.get_rank()), batch_size=8, shuffle=True)
    total, seen = 0.0, 0
    with Join([model, optimizer]):
        for clips, calls in loader:
            loss = nn.functional.poisson_nll_loss(model(clips), calls)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(clips)
            seen += len(clips)
    sums = torch.tensor([total, seen])
    dist.all_reduce(sums)
    if dist.get_rank() == 0:
        print(f"loss {sums[0] / sums[1]:.4f} of {int(sums[1])} clips", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
