from ignite.engine import Events


class ShardError:
    """Root mean squared error over the batches of an evaluator."""

    def __init__(self):
        self._reset(None)

    def _reset(self, engine):
        self.total, self.count = 0.0, 0

    def _add(self, engine):
        prediction, target = engine.state.output
        self.total += (prediction - target).square().sum().item()
        self.count += len(target)

    def attach(self, engine, name):
        engine.add_event_handler(Events.STARTED, self._reset)
        engine.add_event_handler(Events.ITERATION_COMPLETED, self._add)

        @engine.on(Events.COMPLETED)
        def write(engine):
            engine.state.metrics[name] = (self.total / self.count) ** 0.5
