"""Strain gauges of a bridge; run() starts a new crew from the last snapshot when a worker is lost."""
import os
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

STEPS, EVERY, WORLD = 60, 10, 3


class Snapshot:
    def __init__(self, folder):
        self.path = os.path.join(folder, "snapshot.pt")

    def load(self, net):
        if not os.path.exists(self.path):
            return 0
        state = torch.load(self.path, weights_only=True)
        net.load_state_dict(state["net"])
        return state["step"]

    def save(self, net, step):
        torch.save({"net": net.state_dict(), "step": step}, self.path + ".new")
        os.replace(self.path + ".new", self.path)


def crew(rank, folder, attempt):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet-{attempt}", rank=rank, world_size=WORLD)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    snapshot = Snapshot(folder)
    first = snapshot.load(net)
    if attempt and rank == 0:
        print(f"attempt {attempt} goes on at step {first}", flush=True)
        for _ in range(16):                      # the sensors are calibrated again
            time.sleep(0.5)
    ddp = torch.nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.SGD(ddp.parameters(), lr=0.02)
    gen = torch.Generator().manual_seed(10 * attempt + rank)
    for step in range(first, STEPS):
        strain = torch.randn(8, 8, generator=gen)
        if attempt == 0 and rank == 2 and step == 26:
            raise ConnectionResetError("gauge 2 does not answer")
        loss = (ddp(strain) - strain[:, :2]).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.15)
        if rank == 0 and (step + 1) % EVERY == 0:
            snapshot.save(net, step + 1)
    dist.barrier()
    dist.destroy_process_group()


def run(attempts=3):
    folder = tempfile.mkdtemp(prefix="bridge")
    for attempt in range(attempts):
        try:
            mp.spawn(crew, args=(folder, attempt), nprocs=WORLD)
            print("finished in attempt", attempt, flush=True)
            return
        except (mp.ProcessRaisedException, mp.ProcessExitedException) as lost:
            print("crew lost:", str(lost).strip().splitlines()[-1], flush=True)
            time.sleep(3)
    raise SystemExit(1)


if __name__ == "__main__":
    run()
