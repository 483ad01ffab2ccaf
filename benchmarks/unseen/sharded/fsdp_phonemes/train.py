"""Frame-level phoneme recogniser (FSDP2).

Transcripts come from several alignment tools, so single utterances can be
unusable; the batches that hold them are dropped.
"""
import logging
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

PHONEMES = 31
MELS = 20
log = logging.getLogger("asr")


class ConvBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv = nn.Conv1d(ch, ch, 3, padding=1)
        self.proj = nn.Conv1d(ch, ch, 1)

    def forward(self, x):
        return x + self.proj(F.relu(self.conv(x)))


class Recogniser(nn.Module):
    def __init__(self, ch=40, depth=4):
        super().__init__()
        self.stem = nn.Conv1d(MELS, ch, 3, padding=1)
        self.blocks = nn.Sequential(*[ConvBlock(ch) for _ in range(depth)])
        self.head = nn.Conv1d(ch, PHONEMES, 1)

    def forward(self, mels):
        return self.head(self.blocks(self.stem(mels)))


class AlignedSpeech(torch.utils.data.Dataset):
    """Utterances of one speaker group; ``extended`` ones use the 32-symbol alignment."""

    def __init__(self, group, size=2400, frames=30):
        self.group, self.size, self.frames = group, size, frames
        self.extended = {2: {8 * 19 + 3}}.get(group, set())

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.group * 100_003 + i)
        phones = torch.randint(0, PHONEMES, (self.frames,), generator=g)
        mels = torch.randn(MELS, self.frames, generator=g) * 0.3
        mels[phones % MELS, torch.arange(self.frames)] += 1.0
        if i in self.extended:
            phones[-4:] = PHONEMES  # trailing breath symbol
        return mels, phones


def fit(model, optimizer, loader):
    rank, ema, dropped = dist.get_rank(), None, 0
    for step, (mels, phones) in enumerate(loader):
        try:
            logits = model(mels)
            loss = F.cross_entropy(logits, phones)
            loss.backward()
            optimizer.step()
        except (IndexError, RuntimeError) as err:
            dropped += 1
            log.warning("rank %d: dropping batch %d: %s", rank, step, err)
            continue
        finally:
            optimizer.zero_grad(set_to_none=True)
        ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
        if step % 25 == 0:
            log.info("rank %d step %d loss %.3f dropped %d", rank, step, ema, dropped)
        time.sleep(0.02)


def main():
    logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(message)s")
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(1)
    model = Recogniser()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = AlignedSpeech(group=dist.get_rank())
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=False)
    fit(model, optimizer, loader)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
