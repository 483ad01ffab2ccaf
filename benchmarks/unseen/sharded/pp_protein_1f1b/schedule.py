class OneForwardOneBackward:
    """1F1B: fill the pipe, then alternate, then drain it."""

    def __init__(self, module, link, feed, criterion):
        self.module, self.link = module, link
        self.feed, self.criterion = feed, criterion
        self.inflight = []
        self.loss = 0.0

    def _forward(self, received):
        x = self.feed.inputs() if received is None else received
        y = self.module(x)
        if self.link.last:
            y = self.criterion(y, self.feed.targets())
            self.loss += y.item()
        self.inflight.append((x, y))
        return y

    def _backward(self, grad):
        x, y = self.inflight.pop(0)
        y.backward(grad)
        return x.grad

    def run(self, micro_batches):
        link = self.link
        self.loss = 0.0
        warmup = min(link.world - link.rank - 1, micro_batches)
        steady = micro_batches - warmup

        for _ in range(warmup):
            link.send_forward(self._forward(link.recv_forward()))

        received = link.recv_forward() if steady else None
        for i in range(steady):
            output = self._forward(received)
            link.send_forward(output)
            grad = self._backward(link.recv_backward())
            link.send_backward(grad)
            if i + 1 < steady:
                received = link.recv_forward()

        for _ in range(warmup):
            link.send_backward(self._backward(link.recv_backward()))
        return self.loss / micro_batches
