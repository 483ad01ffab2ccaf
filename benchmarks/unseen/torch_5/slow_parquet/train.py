import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from rows import RowGroups


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(10, 1))
    optim = torch.optim.SGD(model.parameters(), lr=1e-4)
    loader = DataLoader(RowGroups(dist.get_rank()), batch_size=8, num_workers=1)
    for step, rows in enumerate(loader):
        loss = (model(rows).squeeze(1) - rows.mean(1)).square().mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        if dist.get_rank() == 0:
            print(step, round(loss.item(), 3), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
