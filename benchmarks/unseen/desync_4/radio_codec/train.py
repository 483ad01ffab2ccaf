import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from codec import Codec, Stage
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


@dataclass
class Settings:
    recordings: int = 5400
    batch_size: int = 6
    budget: int = 3000  # samples of one forward, padding included
    rate: float = 1e-3
    noise: float = 0.1


class Recordings(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(6)
        self.lengths = torch.randint(120, 400, (count,), generator=generator)
        self.lengths[count // 3] = 700

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, index):
        time.sleep(0.014)
        return torch.sin(torch.arange(int(self.lengths[index])) * (0.01 + index % 7 / 50))


def pack(waves, budget):
    """Padded packs of at most `budget` samples."""
    longest = max(len(wave) for wave in waves)
    room = max(1, budget // longest)
    for start in range(0, len(waves), room):
        yield pad_sequence(waves[start : start + room], batch_first=True).unsqueeze(1)


def main(settings):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = Codec()
    for module in model.modules():
        if isinstance(module, Stage):
            fully_shard(module)
    fully_shard(model)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.rate)
    data = Recordings(settings.recordings)
    sampler = DistributedSampler(data, shuffle=False)
    loader = DataLoader(data, settings.batch_size, sampler=sampler, collate_fn=list)
    for number, waves in enumerate(loader):
        total = sum(len(wave) for wave in waves)
        for clean in pack(waves, settings.budget):
            noisy = clean + settings.noise * torch.randn_like(clean)
            loss = (model(noisy) - clean).square().sum() / total
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if number % 50 == 0 and dist.get_rank() == 0:
            print(f"{number}: {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Settings())
