"""Accelerate tracker for the site's run collector (HTTP, JSON)."""
import http.client
import json
import time

from accelerate.tracking import GeneralTracker, on_main_process


class SiteTracker(GeneralTracker):
    name = "site"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, run, port, host="127.0.0.1"):
        super().__init__()
        self.run = run
        self.address = (host, port)

    @property
    def tracker(self):
        return self.run

    def _post(self, kind, payload):
        body = json.dumps({"run": self.run, "kind": kind, "time": time.time(), "payload": payload}, default=str)
        link = http.client.HTTPConnection(*self.address)
        link.request("POST", f"/v1/{kind}", body, {"Content-Type": "application/json"})
        reply = link.getresponse()
        text = reply.read()
        link.close()
        if reply.status >= 400:
            raise RuntimeError(f"collector answered {reply.status}: {text[:200]!r}")

    @on_main_process
    def store_init_configuration(self, values):
        self._post("config", values)

    @on_main_process
    def log(self, values, step=None, **kwargs):
        self._post("metrics", {"step": step, **values})

    @on_main_process
    def finish(self):
        self._post("finish", {})
