"""Everything that the config names is looked up here."""
from torch import nn, optim

BLOCKS, OPTIMIZERS, CALLBACKS = {}, {}, {}


def register(table, name):
    def wrap(obj):
        table[name] = obj
        return obj
    return wrap


def build(table, spec, *args):
    spec = dict(spec)
    return table[spec.pop("type")](*args, **spec)


@register(BLOCKS, "gated_conv")
class GatedConv(nn.Module):
    def __init__(self, dim, kernel=5):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.conv = nn.Conv1d(dim, 2 * dim, kernel, padding=kernel // 2)

    def forward(self, x):
        a, b = self.conv(self.norm(x).transpose(1, 2)).chunk(2, dim=1)
        return x + (a * b.sigmoid()).transpose(1, 2)


@register(BLOCKS, "mlp")
class MLP(nn.Module):
    def __init__(self, dim, ratio=2):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up, self.down = nn.Linear(dim, ratio * dim), nn.Linear(ratio * dim, dim)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


OPTIMIZERS["adamw"] = optim.AdamW
