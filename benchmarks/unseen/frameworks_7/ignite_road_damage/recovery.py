"""Keep the state of an interrupted run."""
import os

import ignite.distributed as idist
import torch
from ignite.engine import Events


def install_recovery(trainer, model, optimizer, folder):
    path = os.path.join(folder, f"recovery-{os.getppid()}.pt")

    @trainer.on(Events.EXCEPTION_RAISED)
    def keep_state(engine, error):
        # everybody should have finished the iteration before the weights are written
        idist.barrier()
        if idist.get_rank() == 0:
            torch.save(
                {
                    "model": model.state_dict(),
                    "optimizer": optimizer.state_dict(),
                    "iteration": engine.state.iteration,
                },
                path,
            )
        raise error

    return path
