"""How much the ranks have sent each other, by DeepSpeed's own account."""

import logging

import deepspeed.comm as comm

logger = logging.getLogger("vats")

COMMS_LOGGER = {"enabled": True, "prof_all": True, "verbose": False, "debug": False}


class TrafficReport:
    """Prints the table of communication every `every` steps, on the first rank only."""

    def __init__(self, every):
        self.every = every
        self.shown = 0

    def after_step(self, step, loss):
        if comm.get_rank() != 0:
            return
        if step % 20 == 0:
            logger.info("step %d: loss %.4f", step, loss)
        if step % self.every == 0:
            self.show(step)

    def show(self, step):
        logger.info("traffic after %d steps", step)
        comm.log_summary()
        self.shown += 1
