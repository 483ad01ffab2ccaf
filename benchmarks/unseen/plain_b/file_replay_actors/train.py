"""Off-policy learning with a folder as the replay channel; rank 0 learns, the others act.

The process group is used to agree on the folder and to leave together, nothing else.
"""
import logging
import shutil
import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from mailbox import Mailbox

ROUNDS, PER_ROUND = 30, 2
log = logging.getLogger(__name__)


def q_net():
    return nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))


def load_demonstrations():
    """Reads the expert log, one chunk at a time."""
    chunks = []
    for i in range(75):
        time.sleep(0.2)
        g = torch.Generator().manual_seed(i)
        chunks.append(torch.randn(20, 3, generator=g))
    return torch.cat(chunks)


def learner(mail):
    torch.manual_seed(0)
    net = q_net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    demo = load_demonstrations()
    log.info("%d demonstrations", len(demo))
    for version in range(1, ROUNDS + 1):
        mail.put_weights(version, net.state_dict())
        for obs, act, ret in mail.take_episodes(PER_ROUND):
            for _ in range(10):
                expert = demo[torch.randint(len(demo), (16,))]
                loss = F.smooth_l1_loss(net(obs).gather(1, act[:, None]).squeeze(1), ret)
                loss = loss + 0.1 * F.cross_entropy(net(expert), (expert[:, 0] > 0).long())
                opt.zero_grad()
                loss.backward()
                opt.step()
        if version % 5 == 0:
            log.info("round %d loss %.4f", version, loss.item())
    mail.put_weights(10 ** 6, net.state_dict())


def episode(net, gen, length=20):
    state, rows = torch.randn(3, generator=gen), []
    for _ in range(length):
        with torch.no_grad():
            act = net(state).argmax() if torch.rand(1, generator=gen) > 0.2 else torch.randint(2, (), generator=gen)
        state = 0.95 * state + (act.float() * 2 - 1) * torch.tensor([0.2, 0.0, 0.1])
        rows.append((state, act, -state.abs().sum()))
    obs, act, rew = (torch.stack(c) for c in zip(*rows))
    return obs, act, rew.flip(0).cumsum(0).flip(0) / length


def actor(mail, rank):
    net, gen, version, number = q_net(), torch.Generator().manual_seed(rank), 0, 0
    while True:
        parcel = mail.weights_newer_than(version)
        version = parcel["version"]
        if version > ROUNDS:
            return log.info("%d episodes played", number)
        net.load_state_dict(parcel["state"])
        mail.put_episode(rank, number, episode(net, gen))
        number += 1


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{rank}] %(message)s")
    folder = [tempfile.mkdtemp(prefix="replay-") if rank == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    mail = Mailbox(folder[0])
    learner(mail) if rank == 0 else actor(mail, rank)
    dist.monitored_barrier(timeout=timedelta(minutes=10))
    if rank == 0:
        shutil.rmtree(folder[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
