"""Short-term pressure forecast, trained on a mesh of barometers (one station per rank, 4 stations)."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from consensus import Consensus
from station import Barometer

STEPS = 700
REVIEW = 50


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(3)
    model = DDP(nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    barometer, consensus = Barometer(rank), Consensus()

    for step in range(STEPS):
        past, following = barometer.window(step)
        if step and step % REVIEW == 0:
            consensus.review(barometer.drift())
        offset = consensus.offset(past.mean())
        loss = nn.functional.mse_loss(model(past - offset), following - offset)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % REVIEW == 0:
            print(f"step {step}: loss {loss.item():.4f}, stations {consensus.members}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
