"""Which language is the lullaby in? DDP, and a StatefulDataLoader so that a night's run can be continued.

Each rank has the tapes of one studio, on its own disk.
"""
import os
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torchdata.stateful_dataloader import StatefulDataLoader

from model import LanguageOfSong
from tapes import Digitiser, Tapes

TAPES, BATCH = 240, 4


def save(folder, model, optimizer, loader, step):
    path = os.path.join(folder, "state.pt")
    torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(),
                "loader": loader.state_dict(), "step": step}, path + ".part")
    os.replace(path + ".part", path)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    folder = tempfile.mkdtemp(prefix=f"lullaby_{rank}_")
    Digitiser(folder, TAPES, rank).start()

    torch.manual_seed(3)
    model = DistributedDataParallel(LanguageOfSong())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    loader = StatefulDataLoader(Tapes(folder, TAPES), batch_size=BATCH, num_workers=2, snapshot_every_n_steps=5)

    for step, (frames, language) in enumerate(loader, start=1):
        loss = F.cross_entropy(model(frames), language)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.2)                  # the real model is a hundred times larger
        if step % 10 == 0:
            save(folder, model, optimizer, loader, step)
            total = loss.detach() / dist.get_world_size()
            dist.all_reduce(total)
            if rank == 0:
                print(f"step {step}: {total.item():.3f}", flush=True)

    dist.barrier()
    shutil.rmtree(folder, ignore_errors=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
