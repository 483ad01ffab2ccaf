"""Local SGD on three workers: weights are exchanged through the job's store once per round.

python train.py [--workers 3] [--rounds 12]
"""
import argparse
import datetime as dt
import io
import os
import socket
import subprocess
import sys
import time

import torch
import torch.distributed as dist

LATTICES = {
    0: ["cubic", "hexagonal", "cubic", "tetragonal"],
    1: ["tetragonal", "cubic", "hexagonal", "hexagonal"],
    2: ["hexagonal", "tetragonal", "cubic", "trigonal-R"],
}
ONE_HOT = {"cubic": 0, "tetragonal": 1, "hexagonal": 2}


class Exchange:
    def __init__(self, rank, world):
        host, port = os.environ["MASTER_ADDR"], int(os.environ["EXCHANGE_PORT"])
        self.rank, self.world = rank, world
        self.store = dist.TCPStore(host, port, world, is_master=rank == 0, timeout=dt.timedelta(hours=6))

    def mean(self, tag, state):
        out = io.BytesIO()
        torch.save(state, out)
        self.store.set(f"{tag}/{self.rank}", out.getvalue())
        parts = []
        for other in range(self.world):
            blob = self.store.get(f"{tag}/{other}")
            parts.append(torch.load(io.BytesIO(blob), weights_only=True))
        return {k: torch.stack([p[k] for p in parts]).mean(0) for k in state}


def features(kind, gen):
    x = torch.rand(6, 7, generator=gen)
    x[:, ONE_HOT[kind]] += 1.0
    return x, x.sum(1, keepdim=True)


def worker(rounds):
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    exchange = Exchange(rank, world)
    net = torch.nn.Sequential(torch.nn.Linear(7, 16), torch.nn.Softplus(), torch.nn.Linear(16, 1))
    for p in net.parameters():
        dist.broadcast(p.data, src=0)
    opt = torch.optim.SGD(net.parameters(), lr=5e-3)
    gen = torch.Generator().manual_seed(rank)
    step = 0
    for rnd in range(rounds):
        kind = LATTICES[rank][0 if rnd < 2 else min(rnd - 1, 3)]
        for _ in range(5):
            x, energy = features(kind, gen)
            loss = torch.nn.functional.l1_loss(net(x), energy)
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            time.sleep(0.03)
        net.load_state_dict(exchange.mean(f"round{rnd}", net.state_dict()))
        if rank == 0:
            print(f"round {rnd} step {step} loss {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def launch(n, rounds):
    ports = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            ports.append(s.getsockname()[1])
    common = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(ports[0]), EXCHANGE_PORT=str(ports[1]),
                  WORLD_SIZE=str(n), OMP_NUM_THREADS="1")
    crew = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "--rounds", str(rounds)],
                             env=dict(common, RANK=str(r), LOCAL_RANK=str(r))) for r in range(n)]
    return max(abs(c.wait()) for c in crew)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--workers", type=int, default=3)
    ap.add_argument("--rounds", type=int, default=12)
    a = ap.parse_args()
    if "RANK" in os.environ:
        worker(a.rounds)
    else:
        sys.exit(launch(a.workers, a.rounds))
