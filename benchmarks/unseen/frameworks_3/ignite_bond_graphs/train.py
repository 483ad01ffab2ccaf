"""Message passing on small random molecules with pytorch-ignite."""
import logging
import random
import time
from functools import partial

import ignite.distributed as idist
import torch
import torch.nn as nn
from ignite.engine import Engine, Events
from ignite.metrics import Loss

from results import ResultsApi, spectral_report

N_ATOMS, FEATURES = 9, 5


def molecule(g):
    x = torch.randn(N_ATOMS, FEATURES, generator=g)
    a = (torch.rand(N_ATOMS, N_ATOMS, generator=g) < 0.3).float()
    a = ((a + a.T) > 0).float().fill_diagonal_(1.0)
    return x, a / a.sum(-1, keepdim=True), (a @ x).mean().reshape(1)


def molecules(n, seed):
    g = torch.Generator().manual_seed(seed)
    return [molecule(g) for _ in range(n)]


class MPNN(nn.Module):
    def __init__(self, width=24, rounds=3):
        super().__init__()
        self.embed = nn.Linear(FEATURES, width)
        self.message = nn.ModuleList(nn.Linear(width, width) for _ in range(rounds))
        self.read = nn.Linear(width, 1)

    def forward(self, x, a):
        h = self.embed(x)
        for layer in self.message:
            h = h + torch.relu(layer(a @ h))
        return self.read(h.mean(dim=1))


def update(engine, batch, model, optimizer):
    x, a, y = batch
    loss = nn.functional.mse_loss(model(x, a), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.02)
    return loss.item()


@torch.no_grad()
def evaluate(engine, batch, model):
    model.eval()
    x, a, y = batch
    prediction = model(x, a)
    model.train()
    return prediction, y


@idist.one_rank_only(rank=1, with_barrier=True)
def publish(api, model, engine):
    report = spectral_report(model, molecules(90, seed=500))
    api.send({"epoch": engine.state.epoch, "report": report})


def training(local_rank):
    torch.manual_seed(71)
    net = MPNN()
    model = idist.auto_model(net)
    optimizer = idist.auto_optim(torch.optim.Adam(net.parameters(), lr=2e-3))
    train_loader = idist.auto_dataloader(molecules(480, 1), batch_size=24, shuffle=True)
    val_loader = idist.auto_dataloader(molecules(96, 2), batch_size=24)
    trainer = Engine(partial(update, model=model, optimizer=optimizer))
    evaluator = Engine(partial(evaluate, model=net))
    Loss(nn.functional.mse_loss).attach(evaluator, "mse")
    api = ResultsApi(random.Random(3))

    @trainer.on(Events.EPOCH_COMPLETED)
    def validate(engine):
        evaluator.run(val_loader)
        if idist.get_rank() == 0:
            logging.info("epoch %d val mse %.4f (%d iterations)", engine.state.epoch, evaluator.state.metrics["mse"],
                         engine.state.iteration)

    trainer.add_event_handler(Events.EPOCH_COMPLETED(every=2), lambda engine: publish(api, net, engine))
    trainer.run(train_loader, max_epochs=3)
    idist.barrier()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    with idist.Parallel(backend="gloo") as parallel:
        parallel.run(training)
