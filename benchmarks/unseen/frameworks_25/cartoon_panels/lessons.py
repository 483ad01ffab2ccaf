"""Going on to the next chapter when this one is learnt."""

from transformers import TrainerCallback


class Lesson:
    """Running loss of the current chapter."""

    def __init__(self, smoothing=0.9):
        self.smoothing = smoothing
        self.start()

    def start(self):
        self.value = None
        self.steps = 0

    def add(self, loss):
        self.steps += 1
        self.value = loss if self.value is None else self.smoothing * self.value + (1 - self.smoothing) * loss

    def learnt(self, target, at_least):
        return self.steps >= at_least and self.value < target


class NextChapter(TrainerCallback):
    """There is no use in repeating what is known: the rest of a chapter is left out once its loss is low enough."""

    def __init__(self, lesson, target, at_least=20):
        self.lesson = lesson
        self.target = target
        self.at_least = at_least

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.lesson.start()

    def on_step_end(self, args, state, control, **kwargs):
        if self.lesson.learnt(self.target, self.at_least):
            control.should_epoch_stop = True
        return control
