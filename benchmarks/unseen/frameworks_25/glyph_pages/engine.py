"""DeepSpeed engine and one optimizer step over the pieces of a batch."""

import deepspeed
import torch
from torch import nn

from pages import GLYPHS


class NextGlyph(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(GLYPHS, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, GLYPHS)

    def forward(self, glyphs):
        known, wanted = glyphs[:, :-1].clamp(min=0), glyphs[:, 1:]
        hidden, _ = self.mix(self.embed(known))
        return nn.functional.cross_entropy(self.out(hidden).flatten(0, 1), wanted.flatten(), ignore_index=-100)


def make_engine(args):
    config = {
        "train_micro_batch_size_per_gpu": args.per_batch,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 2, "reduce_bucket_size": 500_000, "allgather_bucket_size": 500_000},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1_000_000,
    }
    model = NextGlyph(args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    return engine


def optimize(engine, pieces):
    """Accumulates the gradients of all pieces and steps after the last one."""
    total = 0.0
    for i, piece in enumerate(pieces):
        engine.set_gradient_accumulation_boundary(is_boundary=i == len(pieces) - 1)
        loss = engine(piece) / len(pieces)
        engine.backward(loss)
        engine.step()
        total += loss.item()
    return total
