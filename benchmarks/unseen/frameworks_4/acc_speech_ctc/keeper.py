import logging
from dataclasses import dataclass, field

log = logging.getLogger("ctc.keeper")


@dataclass
class CheckpointKeeper:
    """Keeps resumable states. The last process runs on the node with the scratch array."""

    accelerator: object
    every: int = 20
    saved: list = field(default_factory=list)

    def after_step(self, step: int, loss: float) -> None:
        if step == 0 or step % self.every:
            return
        if self.accelerator.is_last_process:
            where = self.accelerator.save_state()
            self.saved.append((step, where))
            log.info("step %d loss %.3f -> %s", step, loss, where)
