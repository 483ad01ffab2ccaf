from transformers import TrainerCallback


def make_limits(data, max_words):
    """Return a function for the words used and a callback that keeps to the allowance."""
    used = 0

    class Allowance(TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            nonlocal used
            size = args.per_device_train_batch_size
            first = (state.global_step - 1) * size
            used += int(data.sizes[first : first + size].sum())
            control.should_training_stop = control.should_training_stop or used >= max_words
            return control

    return (lambda: used), Allowance()
