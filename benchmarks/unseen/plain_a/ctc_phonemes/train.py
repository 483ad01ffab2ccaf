import os
import socket
import tempfile
from typing import NamedTuple

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

N_MELS, N_PHONES = 12, 20


class Utterance(NamedTuple):
    frames: torch.Tensor
    phones: torch.Tensor


class Speakers(Dataset):
    """Read speech of one speaker group, cut at pauses."""

    def __init__(self, group, n=120):
        g = torch.Generator().manual_seed(group)
        self.items = []
        for i in range(n):
            t = int(torch.randint(30, 50, (1,), generator=g))
            u = int(torch.randint(5, 10, (1,), generator=g))
            if group == 1 and i == 54:
                t, u = 6, 12        # cut too tightly by the segmenter
            self.items.append(Utterance(torch.randn(t, N_MELS, generator=g),
                                        torch.randint(1, N_PHONES, (u,), generator=g)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    x = pad_sequence([u.frames for u in batch], batch_first=True)
    y = torch.cat([u.phones for u in batch])
    return x, torch.tensor([len(u.frames) for u in batch]), y, torch.tensor([len(u.phones) for u in batch])


class Acoustic(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(N_MELS, hidden, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.proj = nn.Linear(2 * hidden, N_PHONES)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.proj(self.norm(h)).log_softmax(-1)


def worker(rank, world, port, out_dir, epochs=4):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(11)

    loader = DataLoader(Speakers(rank), batch_size=4, collate_fn=collate)
    model = DDP(Acoustic())
    ctc = nn.CTCLoss(blank=0)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)

    for epoch in range(epochs):
        running, n_bad = 0.0, 0
        for i, (x, x_len, y, y_len) in enumerate(loader):
            logp = model(x).transpose(0, 1)
            loss = ctc(logp, y, x_len, y_len)
            if not torch.isfinite(loss):
                n_bad += 1
                continue
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            running += loss.item()
            if i % 10 == 0:
                print(f"rank {rank} epoch {epoch} batch {i} ctc {loss.item():.3f}", flush=True)

        stats = [None] * world
        dist.all_gather_object(stats, {"rank": rank, "loss": running / len(loader), "bad": n_bad})
        if rank == 0:
            print("epoch", epoch, stats, flush=True)
            torch.save(model.module.state_dict(), os.path.join(out_dir, f"am_{epoch}.pt"))
    dist.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    world_size = 2
    mp.spawn(worker, args=(world_size, free_port(), tempfile.mkdtemp(prefix="am")), nprocs=world_size)
