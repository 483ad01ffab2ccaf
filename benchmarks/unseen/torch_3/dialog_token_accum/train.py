import time
from functools import partial

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from accumulate import token_accumulator

VOCAB, DIM, PAD = 150, 24, 0


def make_dialogs(rank, count=90):
    """Three call centres. Each one's log is in order of time; the second has moved to a chat
    channel half-way, where turns are a little shorter."""
    gen = torch.Generator().manual_seed(rank)
    for i in range(count):
        length = 16 if rank != 1 or i < 34 else 14
        yield torch.randint(1, VOCAB, (4, length + 1), generator=gen)


def make_model():
    class DialogLM(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(VOCAB, DIM, padding_idx=PAD)
            self.gru = nn.GRU(DIM, DIM, batch_first=True)
            self.head = nn.Linear(DIM, VOCAB)

        def forward(self, turns):
            return self.head(self.gru(self.emb(turns))[0])

    return DistributedDataParallel(DialogLM())


def make_progress(rank, world, every=8):
    """A closure that collects tokens per micro-batch of all ranks for the throughput line."""
    seen, started = [], time.perf_counter()

    def progress(n_tokens, loss):
        mine = torch.tensor([float(n_tokens), loss.item()])
        everyone = [torch.empty(2) for _ in range(world)]
        dist.all_gather(everyone, mine)
        seen.append(sum(row[0].item() for row in everyone))
        if rank == 0 and len(seen) % every == 0:
            rate = sum(seen) / (time.perf_counter() - started)
            print(f"{len(seen):4d} micro-batches, {rate:8.0f} tokens/s", flush=True)

    return progress


def lm_loss(turns, model):
    logits = model(turns[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), turns[:, 1:].flatten(), ignore_index=PAD)


def announce(rank, update, micro, tokens):
    if rank == 0 and update % 4 == 0:
        print(f"update {update}: {micro} micro-batches, {tokens} tokens", flush=True)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(4)
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    feed = token_accumulator(model, optimizer, budget=256, on_update=partial(announce, rank))
    progress = make_progress(rank, world)
    for turns in make_dialogs(rank):
        n_tokens = turns[:, 1:].numel()
        loss = feed(partial(lm_loss, turns), n_tokens)
        progress(n_tokens, loss)
        time.sleep(0.02)
    dist.destroy_process_group()


main()
