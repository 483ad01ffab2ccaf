import json
import os
import time


class TrainerCallback:
    def on_train_begin(self, args, state, control):
        pass

    def on_step_end(self, args, state, control):
        pass

    def on_save(self, args, state, control):
        pass

    def on_log(self, args, state, control, logs):
        pass


class FlowCallback(TrainerCallback):
    """Sets the default flow: log every `logging_steps`, evaluate every `eval_steps`."""

    def on_step_end(self, args, state, control):
        if state.global_step % args.logging_steps == 0:
            control.should_log = True
        if state.global_step % args.eval_steps == 0:
            control.should_evaluate = True
        if state.global_step >= state.max_steps:
            control.should_training_stop = True


class IntervalCheckpointCallback(TrainerCallback):
    """Asks for a checkpoint every `save_interval` seconds, for clusters with short queues."""

    def __init__(self, save_interval):
        self.save_interval = save_interval
        self.last = time.monotonic()

    def on_step_end(self, args, state, control):
        now = time.monotonic()
        if now - self.last >= self.save_interval:
            control.should_save = True
            self.last = now


class JsonLogger(TrainerCallback):
    def __init__(self, path):
        self.path = path

    def on_log(self, args, state, control, logs):
        if not state.is_world_process_zero:
            return
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "a") as f:
            f.write(json.dumps({"step": state.global_step, **logs}) + "\n")
        print({"step": state.global_step, **logs}, flush=True)


class CallbackHandler(TrainerCallback):
    def __init__(self, callbacks, args, state, control):
        self.callbacks = list(callbacks)
        self.args, self.state, self.control = args, state, control

    def call(self, event, **kwargs):
        for cb in self.callbacks:
            getattr(cb, event)(self.args, self.state, self.control, **kwargs)
