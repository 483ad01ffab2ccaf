import ignite.distributed as idist
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.metrics import Accuracy, Loss


def attach_validation(trainer: Engine, net, criterion, val_loader, logger, every: int = 1) -> Engine:
    """Validate every few epochs and report the scores in the log."""
    evaluator = create_supervised_evaluator(net, metrics={"accuracy": Accuracy(), "nll": Loss(criterion)})

    @trainer.on(Events.EPOCH_COMPLETED(every=every))
    @idist.one_rank_only()
    def validate(engine):
        evaluator.run(val_loader)
        scores = evaluator.state.metrics
        logger.info("epoch %d: accuracy %.3f, nll %.3f", engine.state.epoch, scores["accuracy"], scores["nll"])

    return evaluator


def attach_running_loss(trainer: Engine, logger, every: int = 10) -> None:
    @trainer.on(Events.ITERATION_COMPLETED(every=every))
    def show(engine):
        logger.info("iteration %d: loss %.3f", engine.state.iteration, engine.state.output)
