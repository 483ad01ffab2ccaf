import time

import torch
import torch.distributed as dist
import torch.nn.functional as F

from ranker.exchange import Exchange
from ranker.model import Ranker, traffic


def main(steps=50):
    dist.init_process_group(backend="gloo")
    rank = dist.get_rank()
    torch.manual_seed(21)
    model = Ranker()
    exchange = Exchange(model)
    optim = torch.optim.SGD(model.parameters(), lr=0.1)
    for step, (ids, clicked) in enumerate(traffic(rank, steps)):
        loss = F.binary_cross_entropy_with_logits(model(ids), clicked)
        optim.zero_grad()
        loss.backward()
        exchange()
        optim.step()
        time.sleep(0.02)
        if rank == 0 and step % 10 == 0:
            print(f"{step:4d} {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
