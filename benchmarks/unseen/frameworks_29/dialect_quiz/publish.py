"""Evaluates and publishes the model from the main process. The bucket is flaky, hence the retries."""
import json
import os
import time

import torch


class Bucket:
    """The real one answers 503 twice out of three times in the evening."""

    def __init__(self, folder):
        self.folder, self.calls = folder, 0

    def put(self, name, text):
        self.calls += 1
        if self.calls % 3:
            raise ConnectionError("503 slow down")
        with open(os.path.join(self.folder, name), "w") as file:
            for piece in range(0, len(text), 20):
                file.write(text[piece:piece + 20])
                file.flush()
                time.sleep(0.02)


def retry(call, attempts=6, pause=0.6):
    for attempt in range(attempts):
        try:
            return call()
        except ConnectionError as error:
            print(f"  attempt {attempt + 1}: {error}", flush=True)
            time.sleep(pause * (attempt + 1))
    raise RuntimeError("bucket is not reachable")


@torch.no_grad()
def evaluate_and_publish(bare_model, dataset, bucket, epoch):
    bare_model.eval()
    right = 0
    for features, region in zip(*(t.split(10) for t in dataset.tensors)):
        right += (bare_model(features).argmax(1) == region).sum().item()
        time.sleep(0.05)
    bare_model.train()
    accuracy = right / len(dataset)
    retry(lambda: bucket.put(f"epoch{epoch}.json", json.dumps({"epoch": epoch, "accuracy": accuracy})))
    return accuracy
