"""Nest success of plovers from trail-camera features; loader state is kept for resuming (torchdata)."""
import json
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torchdata.stateful_dataloader import StatefulDataLoader

from catalogue import Catalogue
from nests import Nests

EPOCHS = 8
CURATOR = 1            # the rank on the host that has the field database


def loader_for(catalogue, rank):
    return StatefulDataLoader(Nests(catalogue, rank), batch_size=8, shuffle=True, num_workers=1,
                              multiprocessing_context="fork")


def keep(loader, epoch, file):
    """The place in the data, for a restart."""
    state = loader.state_dict()
    file.write(json.dumps({"epoch": epoch, "keys": sorted(state)}) + "\n")
    file.flush()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(rank)

    catalogue = Catalogue(nests=160)
    loader = loader_for(catalogue, rank)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    with tempfile.TemporaryFile("w") as file:
        for epoch in range(EPOCHS):
            total = torch.zeros(())
            for features, hatched in loader:
                loss = nn.functional.binary_cross_entropy_with_logits(model(features).squeeze(-1), hatched)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach()
            keep(loader, epoch, file)
            dist.all_reduce(total)
            if rank == 0:
                print(f"epoch {epoch} loss {total.item():.3f}", flush=True)
            if rank == CURATOR and epoch == 3:
                catalogue.refresh()            # the wardens send their corrections at noon
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
