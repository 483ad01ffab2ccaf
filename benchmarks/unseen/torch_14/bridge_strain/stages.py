"""The network for strain gauges, cut into one stage for each process."""
import torch
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.body(self.norm(x))


def layers(config):
    """All layers in their order, from the raw windows of the gauges to the classes of damage."""
    yield nn.Linear(config.gauges, config.width)
    for _ in range(config.blocks):
        yield Residual(config.width)
    yield nn.Linear(config.width, config.classes)


def cut(config, index, count):
    """The layers of stage `index` of `count`."""
    torch.manual_seed(config.seed)
    everything = list(layers(config))
    share = -(-len(everything) // count)
    return nn.Sequential(*everything[index * share : (index + 1) * share])


def loss_of(logits, damage):
    return nn.functional.cross_entropy(logits, damage)


def build(config, rank, world):
    module = cut(config, rank, world)
    stage = PipelineStage(module, rank, world, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=config.microbatches, loss_fn=loss_of)
    return module, stage, schedule
