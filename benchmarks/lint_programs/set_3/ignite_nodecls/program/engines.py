import torch
import torch.nn.functional as F
import ignite.distributed as idist
from ignite.engine import Engine, Events
from ignite.handlers import ModelCheckpoint
from ignite.metrics import Accuracy, Loss


def make_trainer(model, optimizer, graph):
    x, y, norm = graph

    def step(engine, nodes):
        model.train()
        nodes = nodes.to(x.device)
        loss = F.cross_entropy(model(nodes, x, norm), y[nodes])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return Engine(step)


def make_evaluator(model, graph):
    x, y, norm = graph

    @torch.no_grad()
    def step(engine, nodes):
        model.eval()
        nodes = nodes.to(x.device)
        return model(nodes, x, norm), y[nodes]

    evaluator = Engine(step)
    Accuracy(device=idist.device()).attach(evaluator, "acc")
    Loss(F.cross_entropy, device=idist.device()).attach(evaluator, "nll")
    return evaluator


def attach_reporting(trainer, evaluator, val_loader, model, out):
    """Console report and best checkpoint."""
    saver = ModelCheckpoint(out, "gcn", n_saved=1, score_name="acc", require_empty=False,
                            score_function=lambda engine: engine.state.metrics["acc"])
    evaluator.add_event_handler(Events.COMPLETED, saver, {"model": model.module if hasattr(model, "module") else model})

    @trainer.on(Events.EPOCH_COMPLETED(every=5))
    def report(engine):
        evaluator.run(val_loader)
        m = evaluator.state.metrics
        print(f"epoch {engine.state.epoch} acc {m['acc']:.4f} nll {m['nll']:.4f}", flush=True)
