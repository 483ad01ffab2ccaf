"""Agreement of the model with the annotators, on the ranks that hold doubly annotated speech."""
import ignite.distributed as idist
import torch
from ignite.engine import Events


class AnnotatorAgreement:
    def __init__(self, net, holders, every=12):
        self.net = net
        self.holders = sorted(holders)
        self.every = every
        self.history = []

    def attach(self, trainer):
        trainer.add_event_handler(Events.ITERATION_COMPLETED(every=self.every), self.measure)

    @torch.no_grad()
    def measure(self, engine):
        rank = idist.get_rank()
        if rank not in self.holders:
            return
        g = torch.Generator().manual_seed(engine.state.iteration + rank)
        frames = torch.randn(32, 24, generator=g)
        votes = torch.randint(0, 3, (32,), generator=g)
        hits = (self.net(frames).argmax(1) == votes).float().mean().item()
        mean = idist.all_reduce(hits, group=self.holders) / len(self.holders)
        self.history.append((engine.state.iteration, mean))


class EpochTable:
    """Collects one line per rank for the table in the log, apart from the training's group."""

    def __init__(self, logger):
        self.logger = logger
        self.group = None

    def attach(self, trainer):
        trainer.add_event_handler(Events.EPOCH_COMPLETED, self.write)

    def write(self, engine):
        if self.group is None:
            self.group = idist.new_group(list(range(idist.get_world_size())))
        rows = idist.all_gather({"rank": idist.get_rank(), "loss": engine.state.output}, group=self.group)
        for row in rows:
            self.logger.info("epoch %d rank %d loss %.3f", engine.state.epoch, row["rank"], row["loss"])
