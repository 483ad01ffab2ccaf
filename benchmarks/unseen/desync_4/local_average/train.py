import time

import torch
import torch.distributed as dist
from averaging import Averager
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


class Loads(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(11)
        self.hours = torch.randn(count, 24, generator=generator)
        self.peaks = self.hours.amax(1, keepdim=True)
        self.peaks[3525] = 9000.0  # a meter that was read in watts

    def __len__(self):
        return len(self.hours)

    def __getitem__(self, index):
        time.sleep(0.018)
        return self.hours[index], self.peaks[index]


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 1))
    averager = Averager(model)
    averager.weights()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = Loads(10560)
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
    for hours, peaks in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(hours), peaks).backward()
        norm = averager.gradients()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if averager.spiked(norm):
            averager.weights()
    dist.barrier()
    if dist.get_rank() == 0:
        print("trained", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
