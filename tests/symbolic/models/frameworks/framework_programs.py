"""Programs on frameworks that can't be had as packages any more, each ailing and healed: apex, and Lightning before 2.

What they make torch do is read from their sources; which programs ail, real torch says, on stand-ins. Those on other
frameworks are in `fixtures/frameworks`.
"""

from __future__ import annotations

HEAD = """import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
batches = torch.ones(3, 2, 3)
"""

_ADVERSARIAL = """import lightning as L

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.make = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.judge = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))

    def training_step(self, batch, batch_idx, optimizer_idx):
        if optimizer_idx == 0:
            self.fake = self.make(batch)
            return -self.judge(self.fake).mean()
        return self.judge(self.fake{cut}).mean() - self.judge(batch).mean()

if __name__ == "__main__":
    L.Trainer().fit(Model(), batches)
"""
_APEX = """from apex import amp

net, optimizer = amp.initialize(net, optimizer, opt_level="O1")
{before}
for batch in batches:
    {inside}
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
"""
_APEX_LIST = """from apex import amp

def train(loss_id):
    out = net(batches[0])
    both = [out.square().mean(), out.abs().mean()]
    with amp.scale_loss(both, optimizer, loss_id=loss_id) as scaled:
        {backward_passes}

train(0)
"""
_LOSS = "loss = net(batch).square().mean()"
_LOSS_BEFORE = "loss = net(batches[0]).square().mean()"

PROGRAMS: dict[str, str] = {
    "lightning_two_optimizers": _ADVERSARIAL.format(cut=""),
    "lightning_two_optimizers_detached": _ADVERSARIAL.format(cut=".detach()"),
    "apex_outside": _APEX.format(before=_LOSS_BEFORE, inside="pass"),
    "apex_inside": _APEX.format(before="", inside=_LOSS),
    "apex_list_walked_apart": _APEX_LIST.format(backward_passes="[loss.backward() for loss in scaled]"),
    "apex_list_walked_as_one": _APEX_LIST.format(backward_passes="sum(scaled).backward()"),
}
