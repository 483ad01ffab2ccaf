"""Melody model with DeepSpeed ZeRO-2. Between the phases one rank samples
melodies and the leader uploads them to a store that is not always ready."""
import argparse
import random
import time
from contextlib import contextmanager

import deepspeed
import deepspeed.comm as dist
import torch
import torch.nn as nn
from deepspeed.ops import __compatible_ops__

__compatible_ops__["deepspeed_shm_comm"] = False  # no compiler in the CPU image

NOTES, HIDDEN, BARS = 24, 32, 16
SAMPLER, LEADER = 1, 0


class MelodyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.note = nn.Embedding(NOTES, HIDDEN)
        self.rnn = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.next = nn.Linear(HIDDEN, NOTES)

    def forward(self, notes, state=None):
        h, state = self.rnn(self.note(notes), state)
        return self.next(h), state


class Store:
    """Object store client; the first requests after a pause are refused."""

    def __init__(self, refusals=2):
        self.refusals = refusals

    def put(self, key, value):
        if self.refusals > 0:
            self.refusals -= 1
            raise ConnectionError("503 slow down")
        return key, len(value)


def upload(store, key, value, attempts=5, pause=3.0):
    for attempt in range(attempts):
        try:
            return store.put(key, value)
        except ConnectionError as err:
            print(f"upload of {key}: {err}, attempt {attempt + 1}", flush=True)
            time.sleep(pause)
    raise ConnectionError(key)


@contextmanager
def together():
    """The ranks leave this block at the same time."""
    yield
    dist.barrier()


@torch.no_grad()
def sample_melodies(model, count=40, length=24):
    melodies = []
    for _ in range(count):
        notes, state = torch.randint(0, NOTES, (1, 1)), None
        tune = [notes.item()]
        for _ in range(length):
            logits, state = model(notes, state)
            notes = torch.distributions.Categorical(logits=logits[:, -1]).sample().unsqueeze(1)
            tune.append(notes.item())
            time.sleep(0.015)  # MIDI clock of the renderer
        melodies.append(tune)
    return melodies


def train_phase(engine, steps, g):
    for _ in range(steps):
        start = torch.randint(0, NOTES, (8, 1), generator=g)
        tune = (start + 2 * torch.arange(BARS + 1)) % NOTES
        logits, _ = engine(tune[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tune[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        time.sleep(0.02)
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--phases", type=int, default=2)
    ap.add_argument("--steps", type=int, default=25)
    args = ap.parse_args()

    deepspeed.init_distributed(dist_backend="gloo")
    torch.manual_seed(0)
    model = MelodyModel()
    engine, *_ = deepspeed.initialize(
        model=model,
        optimizer=torch.optim.AdamW(model.parameters(), lr=3e-3),
        config={
            "train_micro_batch_size_per_gpu": 8,
            "zero_optimization": {"stage": 2},
            "gradient_clipping": 1.0,
            "steps_per_print": 10**6,
        },
    )
    rank = dist.get_rank()
    g = torch.Generator().manual_seed(rank)
    store = Store()

    for phase in range(args.phases):
        loss = train_phase(engine, args.steps, g)
        print(f"rank {rank} phase {phase} loss {loss:.3f}", flush=True)
        with together():
            if rank == SAMPLER and phase == args.phases - 1:
                tunes = sample_melodies(engine.module.eval())
                print(f"sampled {len(tunes)} melodies, e.g. {random.choice(tunes)[:8]}", flush=True)
        with together():
            if rank == LEADER:
                upload(store, f"phase-{phase}", b"x" * 512)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
