import threading
import time


class Renderer(threading.Thread):
    def __init__(self, losses):
        super().__init__(name="renderer")
        self.losses = losses
        self.pages = []

    def run(self):
        for number in range(80):
            part = self.losses[number % len(self.losses)]
            self.pages.append("#" * int(1 + 10 * part))
            time.sleep(0.25)


def publish(losses):
    renderer = Renderer(losses)
    renderer.start()
    while renderer.is_alive():
        renderer.join(timeout=2.0)
        print(f"{len(renderer.pages)} pages", flush=True)
