"""Gradient accumulation by words: an update follows as soon as enough text has been seen."""
import contextlib


class WordBudget:
    """Counts words and says when a window is full.

    Counting words rather than batches keeps the updates equally well founded when minutes are short.
    """

    def __init__(self, words):
        self.words = words
        self.held = 0

    def add(self, count):
        self.held += count
        return self.held >= self.words

    def clear(self):
        self.held = 0


class Accumulator:
    def __init__(self, network, optimizer, budget):
        self.network = network
        self.optimizer = optimizer
        self.budget = budget
        self.updates = 0

    def backward(self, compute_loss, words, last):
        """One micro-batch. Only the one that fills the window needs the other processes' gradients."""
        complete = self.budget.add(words) or last
        context = contextlib.nullcontext() if complete else self.network.no_sync()
        with context:
            loss = compute_loss()
            (loss * words / self.budget.words).backward()
        if complete:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.budget.clear()
            self.updates += 1
        return loss.item()
