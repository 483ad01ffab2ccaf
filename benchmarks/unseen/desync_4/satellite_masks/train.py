import torch
import torch.distributed as dist
from tiles import Prepare, Tiles
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def build(mesh, width=32, depth=1):
    layers = [nn.Linear(12, width)]
    for _ in range(depth):
        layers.append(nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True))
    layers.append(nn.Linear(width, 2))
    model = nn.Sequential(*layers)
    for layer in layers[1:-1]:
        fully_shard(layer, mesh=mesh).set_force_sum_reduction_for_comms(True)
    fully_shard(model, mesh=mesh).set_force_sum_reduction_for_comms(True)
    return model


class Trainer:
    def __init__(self, model, loader, prepare):
        self.model, self.loader, self.prepare = model, loader, prepare
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
        self.steps = 0

    def step(self, tiles, masks):
        loss = cross_entropy(self.model(tiles).flatten(0, 1), masks.flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1
        return loss.detach()

    def epoch(self):
        for batch in self.loader:
            ready = self.prepare(batch)
            if ready is None:
                continue
            loss = self.step(*ready)
            if dist.get_rank() == 0 and self.steps % 50 == 0:
                print(self.steps, round(loss.item(), 3), flush=True)
        dist.barrier()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(21)
    data = Tiles(5600, clouded=[1960])
    loader = DataLoader(data, batch_size=4, sampler=DistributedSampler(data, shuffle=False))
    trainer = Trainer(build(init_device_mesh("cpu", (dist.get_world_size(),))), loader, Prepare())
    trainer.epoch()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
