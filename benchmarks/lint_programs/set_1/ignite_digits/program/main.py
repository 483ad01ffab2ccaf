import argparse
from pathlib import Path

import ignite
import ignite.distributed as idist
import torch
import torch.nn as nn
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.handlers import Checkpoint, DiskSaver, ProgressBar, global_step_from_engine
from ignite.metrics import Accuracy, Loss, RunningAverage
from ignite.utils import manual_seed, setup_logger
from torch.optim.lr_scheduler import OneCycleLR

import utils


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--backend", default="nccl")
    p.add_argument("--data-path", default="./svhn")
    p.add_argument("--output-path", default="./out")
    p.add_argument("--batch-size", type=int, default=512, help="total over all processes")
    p.add_argument("--max-epochs", type=int, default=24)
    p.add_argument("--max-lr", type=float, default=0.2)
    p.add_argument("--validate-every", type=int, default=2)
    p.add_argument("--num-workers", type=int, default=12)
    p.add_argument("--seed", type=int, default=543)
    p.add_argument("--amp", action="store_true")
    return p.parse_args()


def build_trainer(model, optimizer, criterion, scheduler, sampler, args):
    device = idist.device()
    scaler = torch.amp.GradScaler("cuda", enabled=args.amp)

    def train_step(engine, batch):
        x, y = (t.to(device, non_blocking=True) for t in batch)
        model.train()
        with torch.autocast("cuda", enabled=args.amp):
            loss = criterion(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        return {"loss": loss.item()}

    trainer = Engine(train_step)
    RunningAverage(output_transform=lambda out: out["loss"]).attach(trainer, "loss")

    if idist.get_world_size() > 1:

        @trainer.on(Events.EPOCH_STARTED)
        def reshuffle(engine):
            sampler.set_epoch(engine.state.epoch - 1)

    return trainer


def training(local_rank, args):
    rank = idist.get_rank()
    manual_seed(args.seed + rank)
    logger = setup_logger("svhn", distributed_rank=rank)
    logger.info(f"ignite {ignite.__version__}, torch {torch.__version__}, {idist.get_world_size()} process(es)")

    train_loader, val_loader = utils.get_dataflow(args)
    net = utils.make_net()
    model = idist.auto_model(net)
    optimizer = idist.auto_optim(
        torch.optim.SGD(model.parameters(), lr=args.max_lr, momentum=0.9, weight_decay=5e-4, nesterov=True)
    )
    criterion = nn.CrossEntropyLoss().to(idist.device())
    scheduler = OneCycleLR(optimizer, args.max_lr, total_steps=args.max_epochs * len(train_loader))

    trainer = build_trainer(model, optimizer, criterion, scheduler, train_loader.sampler, args)
    # the bare network: validation shards may differ by one batch between processes
    evaluator = create_supervised_evaluator(
        net, metrics={"accuracy": Accuracy(), "nll": Loss(criterion)}, device=idist.device(), non_blocking=True
    )

    @trainer.on(Events.EPOCH_COMPLETED(every=args.validate_every) | Events.COMPLETED)
    @idist.one_rank_only()
    def validate(engine):
        state = evaluator.run(val_loader)
        logger.info(
            "epoch %d: accuracy %.4f, nll %.4f (%.1fs)",
            engine.state.epoch,
            state.metrics["accuracy"],
            state.metrics["nll"],
            state.times["COMPLETED"],
        )

    best = Checkpoint(
        {"model": net},
        DiskSaver(str(Path(args.output_path)), create_dir=True, require_empty=False),
        filename_prefix="best",
        n_saved=2,
        score_name="accuracy",
        score_function=Checkpoint.get_default_score_fn("accuracy"),
        global_step_transform=global_step_from_engine(trainer),
    )
    evaluator.add_event_handler(Events.COMPLETED, best)

    if rank == 0:
        ProgressBar(persist=False).attach(trainer, ["loss"])

    trainer.run(train_loader, max_epochs=args.max_epochs)


if __name__ == "__main__":
    args = get_args()
    backend = None if args.backend == "none" else args.backend
    with idist.Parallel(backend=backend) as parallel:
        parallel.run(training, args)
