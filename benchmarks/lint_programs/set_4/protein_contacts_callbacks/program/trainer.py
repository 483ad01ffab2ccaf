import torch.nn.functional as F


class Trainer:
    def __init__(self, model, opt, loader, callbacks, device):
        self.model, self.opt, self.loader = model, opt, loader
        self.callbacks, self.device = callbacks, device
        self.step, self.epoch, self.loss, self.should_stop = 0, 0, None, False

    def state(self):
        return {"model": self.model.module.state_dict(), "opt": self.opt.state_dict(),
                "step": self.step, "epoch": self.epoch}

    def load(self, state):
        self.model.module.load_state_dict(state["model"])
        self.opt.load_state_dict(state["opt"])
        self.step, self.epoch = state["step"], state["epoch"]

    def fit(self, max_steps):
        while self.step < max_steps and not self.should_stop:
            self.loader.sampler.set_epoch(self.epoch)
            self.epoch += 1
            for seq, contacts in self.loader:
                logits = self.model(seq.to(self.device))
                self.loss = F.binary_cross_entropy_with_logits(logits, contacts.to(self.device))
                self.opt.zero_grad(set_to_none=True)
                self.loss.backward()
                self.opt.step()
                self.step += 1
                for cb in self.callbacks:
                    cb.on_step_end(self)
                if self.should_stop or self.step >= max_steps:
                    break
        for cb in self.callbacks:
            cb.on_fit_end(self)
