"""Glacier mass balance from weather series, checkpoints with torch.distributed.checkpoint."""
import shutil
import tempfile
import time

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.nn.parallel import DistributedDataParallel

from vault import TapeWriter


class RunState(Stateful):
    def __init__(self, model, opt):
        self.model, self.opt, self.step = model, opt, 0

    def state_dict(self):
        model, opt = get_state_dict(self.model, self.opt)
        return {"model": model, "opt": opt, "step": torch.tensor(self.step)}

    def load_state_dict(self, state):
        set_state_dict(self.model, self.opt, model_state_dict=state["model"], optim_state_dict=state["opt"])
        self.step = int(state["step"])


def winters(seed):
    gen = torch.Generator().manual_seed(seed)
    while True:
        weather = torch.randn(8, 12, generator=gen)
        yield weather, weather[:, :4].sum(1, keepdim=True) - weather[:, 5:8].sum(1, keepdim=True)


def shared_folder(prefix):
    box = [tempfile.mkdtemp(prefix=prefix) if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def build():
    torch.manual_seed(8)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 1)))
    return RunState(model, torch.optim.Adam(model.parameters(), lr=5e-3))


def main(until=60, save_every=30):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    disk, tape = shared_folder("disk-"), shared_folder("tape-")
    run = build()
    for weather, balance in winters(rank):
        loss = nn.functional.mse_loss(run.model(weather), balance)
        run.opt.zero_grad()
        loss.backward()
        run.opt.step()
        run.step += 1
        time.sleep(0.03)
        if run.step % save_every == 0:
            began = time.time()
            dcp.save({"run": run}, storage_writer=TapeWriter(f"{disk}/{run.step}", f"{tape}/{run.step}"))
            if rank == 0:
                print(f"step {run.step} mse {loss.item():.3f}, saved in {time.time() - began:.1f} s", flush=True)
        if run.step >= until:
            break
    again = build()
    dcp.load({"run": again}, checkpoint_id=f"{disk}/{until}")
    assert again.step == until
    dist.barrier()
    if rank == 0:
        shutil.rmtree(disk)
        shutil.rmtree(tape)
        print("restored and checked", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
