"""A small music model (notes as tokens) with fully_shard on CPU, saved when a validation was better."""
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from vault import Vault

NOTES = 130


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))

    def forward(self, x, mask):
        y = self.first(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.second(x))


class MelodyModel(nn.Module):
    def __init__(self, width: int = 64, depth: int = 2):
        super().__init__()
        self.notes = nn.Embedding(NOTES, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.out = nn.Linear(width, NOTES)

    def forward(self, melody):
        mask = nn.Transformer.generate_square_subsequent_mask(melody.shape[1])
        x = self.notes(melody)
        for block in self.blocks:
            x = block(x, mask)
        return self.out(x)


def melodies(count: int, generator):
    start = torch.randint(0, NOTES, (count, 1), generator=generator)
    steps = torch.randint(-2, 3, (count, 32), generator=generator)
    return (start + steps.cumsum(dim=1)) % NOTES


def next_note_loss(model, melody):
    logits = model(melody[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), melody[:, 1:].flatten())


@torch.no_grad()
def validate(model, held_out):
    model.eval()
    loss = next_note_loss(model, held_out)
    model.train()
    dist.all_reduce(loss)
    return loss.item() / dist.get_world_size()


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(7)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = MelodyModel()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    generator = torch.Generator().manual_seed(100 + rank)
    held_out = melodies(16, torch.Generator().manual_seed(1))
    vault = Vault(Path(tempfile.gettempdir()) / "melodies", keep=2)

    for step in range(1, 301):
        loss = next_note_loss(model, melodies(4, generator))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 60 == 0:
            vault.offer(step, validate(model, held_out), model)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
