import functools
import logging
import os

logger = logging.getLogger("finetune")


def leader_only(fn):
    """Run a callback on the leading process only."""

    @functools.wraps(fn)
    def wrapper(self, *args, **kwargs):
        if int(os.environ.get("RANK", 0)) == 0:
            return fn(self, *args, **kwargs)

    return wrapper


class Callback:
    def on_step_end(self, engine, step, loss):
        pass


class LossPrinter(Callback):
    def __init__(self, every):
        self.every = every

    @leader_only
    def on_step_end(self, engine, step, loss):
        if step % self.every == 0:
            logger.info("step %d loss %.4f lr %.2e", step, loss, engine.get_lr()[0])


class Snapshots(Callback):
    def __init__(self, folder, every):
        self.folder, self.every = folder, every

    @leader_only
    def on_step_end(self, engine, step, loss):
        if step and step % self.every == 0:
            logger.info("snapshot at step %d", step)
            engine.save_checkpoint(self.folder, tag=f"step{step}", client_state={"loss": loss})


class CallbackList(Callback):
    def __init__(self, *callbacks):
        self.callbacks = callbacks

    def on_step_end(self, engine, step, loss):
        for callback in self.callbacks:
            callback.on_step_end(engine, step, loss)
