import argparse

import ignite.distributed as idist
import torch
from ignite.engine import Events
from ignite.utils import manual_seed

from engines import attach_reporting, make_evaluator, make_trainer
from graph import GCN, citation_graph


def run(local_rank, args):
    manual_seed(args.seed)
    device = idist.device()
    x, y, norm, split = citation_graph(args.nodes, args.classes, 64, args.seed)
    graph = (x.to(device), y.to(device), norm.to(device))

    # idist.auto_dataloader divides the batch size and adds a DistributedSampler
    train_loader = idist.auto_dataloader(split["train"], batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_nodes = split["val"][idist.get_rank()::idist.get_world_size()]
    val_loader = torch.utils.data.DataLoader(val_nodes, batch_size=args.batch_size)

    model = idist.auto_model(GCN(64, args.classes))
    optimizer = idist.auto_optim(torch.optim.Adam(model.parameters(), lr=args.lr))

    trainer = make_trainer(model, optimizer, graph)
    evaluator = make_evaluator(getattr(model, "module", model), graph)

    @trainer.on(Events.EPOCH_STARTED)
    def reshuffle(engine):
        if hasattr(train_loader.sampler, "set_epoch"):
            train_loader.sampler.set_epoch(engine.state.epoch)

    if idist.get_rank() == 0:
        attach_reporting(trainer, evaluator, val_loader, model, args.out)

    trainer.run(train_loader, max_epochs=args.epochs)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--backend", default=None)
    ap.add_argument("--nodes", type=int, default=800)
    ap.add_argument("--classes", type=int, default=7)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--seed", type=int, default=2)
    ap.add_argument("--out", default="runs/gcn")
    args = ap.parse_args()
    with idist.Parallel(backend=args.backend) as parallel:
        parallel.run(run, args)


if __name__ == "__main__":
    main()
