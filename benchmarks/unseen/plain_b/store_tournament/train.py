"""Population of small sequence models; a referee rates the finalists while the others wait for its verdict.

Messages go through a TCPStore of the job's own; its port is made known by a broadcast.
"""
import json
import os
import socket
import time
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

VOCAB, PHASES, REFEREE = 20, 2, 2


@contextmanager
def bulletin_board():
    """A key-value store that rank 0 hosts."""
    rank = dist.get_rank()
    host = os.environ.get("MASTER_ADDR", socket.gethostname())
    store = dist.TCPStore(host, 0, is_master=True, wait_for_workers=False) if rank == 0 else None
    port = [store.port if store else None]
    dist.broadcast_object_list(port, src=0)
    if store is None:
        store = dist.TCPStore(host, port[0], is_master=False, wait_for_workers=False)
    yield store
    dist.barrier()          # rank 0's store must outlive the last reader


class Babbler(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, ids, state=None):
        h, state = self.rnn(self.emb(ids), state)
        return self.out(h), state


def train_phase(net, opt, gen, steps=30):
    for _ in range(steps):
        first = torch.randint(0, VOCAB, (8, 1), generator=gen)
        ids = (first + torch.arange(12) * 3) % VOCAB
        logits, _ = net(ids[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.03)
    return loss.item()


@torch.no_grad()
def continuation_accuracy(net, start, length=40):
    ids, state, hits = torch.tensor([[start]]), None, 0
    for _ in range(length):
        logits, state = net(ids, state)
        nxt = logits[:, -1].argmax(-1, keepdim=True)
        hits += int(nxt.item() == (ids.item() + 3) % VOCAB)
        ids = nxt
    return hits / length


def judge(nets, budget):
    """Plays rounds over all start symbols until the budget (seconds) is used."""
    until, total, n = time.monotonic() + budget, [0.0] * len(nets), 0
    while time.monotonic() < until:
        for k, net in enumerate(nets):
            total[k] += continuation_accuracy(net, n % VOCAB)
        n += 1
    return [t / n for t in total]


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(minutes=20))
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    widths = [16, 24, 32]
    net = Babbler(widths[rank])
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    gen = torch.Generator().manual_seed(rank)
    with bulletin_board() as board:
        for phase in range(PHASES):
            loss = train_phase(net, opt, gen)
            entries = [None] * world if rank == REFEREE else None
            dist.gather_object({k: v.clone() for k, v in net.state_dict().items()}, entries, dst=REFEREE)
            key = f"verdict/{phase}"
            if rank == REFEREE:
                finalists = []
                for w, state in zip(widths, entries):
                    finalists.append(Babbler(w))
                    finalists[-1].load_state_dict(state)
                board.set(key, json.dumps(judge(finalists, budget=12)))
            board.wait([key], timedelta(minutes=15))
            scores = json.loads(board.get(key))
            if scores[rank] == min(scores):
                for group in opt.param_groups:
                    group["lr"] *= 1.5
            print(f"[{rank}] phase {phase} loss {loss:.3f} score {scores[rank]:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
