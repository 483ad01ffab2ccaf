"""Asynchronous actor/learner: weights and episodes travel through the key-value store."""
import datetime
import io
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

from episodes import Corridor, discounted

WORLD = 3
UPDATES = 60
PATIENCE = datetime.timedelta(hours=4)


def pack(obj):
    buf = io.BytesIO()
    torch.save(obj, buf)
    return buf.getvalue()


def unpack(data):
    return torch.load(io.BytesIO(data), weights_only=True)


def policy():
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))


def learner(store):
    net = policy()
    for p in net.parameters():
        dist.broadcast(p.data, 0)
    opt = torch.optim.Adam(net.parameters(), 5e-3)
    for version in range(UPDATES):
        store.set(f"weights/{version}", pack(net.state_dict()))
        opt.zero_grad()
        total = 0.0
        for actor in range(1, WORLD):
            episode = unpack(store.get(f"episode/{version}/{actor}"))
            logp = net(episode["obs"]).log_softmax(-1)
            chosen = logp.gather(1, episode["act"][:, None]).squeeze(1)
            (-(chosen * episode["ret"]).mean() / (WORLD - 1)).backward()
            total += episode["ret"][0].item()
            store.delete_key(f"episode/{version}/{actor}")
        opt.step()
        if version % 5 == 0:
            print(f"update {version}: return {total / (WORLD - 1):.2f}", flush=True)


def actor(rank, store):
    net = policy()
    for p in net.parameters():
        dist.broadcast(p.data, 0)
    env = Corridor(seed=rank)
    for version in range(UPDATES):
        net.load_state_dict(unpack(store.get(f"weights/{version}")))
        obs, act, rewards = env.rollout(net)
        ret = discounted(rewards)
        time.sleep(0.03)
        store.set(f"episode/{version}/{rank}", pack({"obs": obs, "act": act, "ret": ret}))


def entry(rank, port):
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    store = dist.TCPStore("127.0.0.1", port, is_master=False, timeout=PATIENCE)
    dist.init_process_group("gloo", store=dist.PrefixStore("pg", store), rank=rank,
                            world_size=WORLD, timeout=PATIENCE)
    learner(store) if rank == 0 else actor(rank, store)
    dist.barrier()
    dist.destroy_process_group()


def main():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=PATIENCE, wait_for_workers=False)
    ctx = mp.get_context("spawn")
    procs = [ctx.Process(target=entry, args=(r, server.port)) for r in range(WORLD)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()
    print("exit codes", [p.exitcode for p in procs])


if __name__ == "__main__":
    main()
