"""Validation figures for the analysts' panel."""
import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events
from ignite.metrics import EpochMetric


def gini(scores, labels):
    order = scores.flatten().argsort()
    ranked = labels.flatten()[order]
    n1 = ranked.sum()
    n0 = len(ranked) - n1
    ranks = torch.arange(1, len(ranked) + 1, dtype=torch.float)
    auc = ((ranks * ranked).sum() - n1 * (n1 + 1) / 2) / (n0 * n1)
    return float(2 * auc - 1)


class ValidationPanel:
    def __init__(self, net, batches, home_rank=1):
        self.net = net
        self.batches = batches
        self.home_rank = home_rank
        self.rows = []
        self.evaluator = Engine(self._predict)
        EpochMetric(gini, check_compute_fn=False).attach(self.evaluator, "gini")

    def _predict(self, engine, batch):
        self.net.eval()
        with torch.no_grad():
            x, y = batch
            return self.net(x).squeeze(1), y

    def refresh(self, trainer):
        state = self.evaluator.run(self.batches)
        self.rows.append((trainer.state.iteration, state.metrics["gini"]))
        print(f"gini at {trainer.state.iteration}: {self.rows[-1][1]:.3f}", flush=True)

    def attach(self, trainer, every):
        only_home = idist.one_rank_only(rank=self.home_rank)
        trainer.add_event_handler(Events.ITERATION_COMPLETED(every=every), only_home(self.refresh))
