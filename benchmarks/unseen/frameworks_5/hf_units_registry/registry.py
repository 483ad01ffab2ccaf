import contextlib
import json
import os


@contextlib.contextmanager
def registered(trainer):
    """Notes the run in the lab's registry, also when it did not go well."""
    entry = {"steps_planned": trainer.args.max_steps, "state": "running"}
    try:
        yield entry
        entry["state"] = "done"
    finally:
        # the log of every process is complete before it is copied
        trainer.accelerator.wait_for_everyone()
        if trainer.is_world_process_zero():
            entry["last_step"] = trainer.state.global_step
            with open(os.path.join(trainer.args.output_dir, "run.json"), "w") as f:
                json.dump(entry, f)
