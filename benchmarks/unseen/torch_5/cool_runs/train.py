import time

import torch
import torch.distributed as dist
from torch import nn

from governor import Governor, SimulatedSensor

MACHINES = [("lab-a", 55.0, 0.5), ("lab-b", 58.0, 0.4), ("window", 71.0, 4.0)]


def average(module):
    flat = torch.cat([p.grad.flatten() for p in module.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for parameter, part in zip(module.parameters(),
                               flat.split([p.numel() for p in module.parameters()])):
        parameter.grad.copy_(part.view_as(parameter))


def main(steps=400):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    name, ambient, slope = MACHINES[rank % len(MACHINES)]
    torch.manual_seed(12)
    autoencoder = nn.Sequential(nn.Linear(30, 6), nn.Tanh(), nn.Linear(6, 30))
    optim = torch.optim.RMSprop(autoencoder.parameters(), lr=1e-3)
    governor = Governor(SimulatedSensor(ambient, slope))
    governor.start()
    for step in range(steps):
        spectra = torch.randn(8, 30).cumsum(1)
        loss = (autoencoder(spectra) - spectra).square().mean()
        optim.zero_grad()
        loss.backward()
        average(autoencoder)
        optim.step()
        time.sleep(0.03)
        if step % 50 == 0:
            print(f"{name}: step {step} loss {loss.item():.3f} pauses {governor.pauses}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
