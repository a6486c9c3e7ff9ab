"""Programs on frameworks, each ailing and healed; which is which, real torch says, on stand-ins for the frameworks."""

from __future__ import annotations

HEAD = """import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
batches = torch.ones(3, 2, 3)
"""

_RECURRENT = """import {framework} as pl

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 3)
        self.state = None

    def forward(self, x):
        out, self.state = self.rnn(x, self.state)
        return out

    def training_step(self, batch, batch_idx):
        loss = self(batch[None]).square().mean()
        self.log("loss", loss)
        {returned}
{hook}
if __name__ == "__main__":
    pl.Trainer().fit(Model(), batches)
"""
_RESET = """
    def on_train_batch_start(self, batch, batch_idx):
        self.state = None
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
_MANUAL = """import lightning as L

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.make = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.judge = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))

    def training_step(self, batch, batch_idx):
        first, second = self.optimizers()
        self.toggle_optimizer(second)
        score = self.judge(self.make(batch)).mean()
        self.manual_backward(score - self.judge(batch).mean(), retain_graph=True)
        second.step()
        self.untoggle_optimizer(second)
        {again}
        self.manual_backward(-score)
        first.step()

    def configure_optimizers(self):
        return torch.optim.SGD(self.make.parameters(), 0.1), torch.optim.SGD(self.judge.parameters(), 0.1)

if __name__ == "__main__":
    L.Trainer().fit(Model(), batches)
"""
_STEP = """import lightning as L

class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.zeros(3))
        self.total = 0.0
        {init}

    def training_step(self, batch, batch_idx):
        loss = self.net(batch).tanh().mean()
        {body}

if __name__ == "__main__":
    L.Trainer().fit(Model(), batches)
"""
_ACCELERATE = """from {library} import {name}

accelerator = {name}()
net, optimizer = accelerator.{prepare}(net, optimizer)
total = 0.0
for batch in batches:
    loss = net(batch).square().mean()
    total = total + loss{cut}
    accelerator.backward({walked})
    optimizer.step()
    optimizer.zero_grad()
"""
_DEEPSPEED = """import deepspeed

model_engine, optimizer, _, _ = deepspeed.initialize(model=net)
{before}
for batch in batches:
    {inside}
    model_engine.backward(loss)
    model_engine.step()
"""
_IGNITE = """from ignite.engine import Engine

weight_penalty = sum(weight.square().sum() for weight in net.parameters())

def update(engine, batch):
    optimizer.zero_grad()
    loss = net(batch).square().mean() + {penalty}
    loss.backward()
    optimizer.step()
    return loss.item()

Engine(update).run(batches, max_epochs=2)
"""
_SUPERVISED = """from ignite.engine import create_supervised_trainer

class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.state = None

    def forward(self, x):
        state = self.cell(x, self.state)
        self.state = state{cut}
        return state

model = Remembers()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
create_supervised_trainer(model, optimizer, nn.MSELoss()).run(batches)
"""
_TIMM = """from timm.utils import NativeScaler

loss_scaler = NativeScaler()
{before}
for batch in batches:
    {inside}
    loss_scaler(loss, optimizer, clip_grad=1.0, parameters=net.parameters(), create_graph=False)
"""
_APEX = """from apex import amp

net, optimizer = amp.initialize(net, optimizer, opt_level="O1")
{before}
for batch in batches:
    {inside}
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
"""
_HIGHER = """import higher

for batch in batches:
    with higher.innerloop_ctx(net, optimizer, copy_initial_weights=False) as (fast_net, inner):
        for _ in range(2):
            inner.step(fast_net(batch).square().mean())
        first = fast_net(batch).square().mean()
        second = fast_net(batch + 1).square().mean()
        {walks}
"""
_HUGGING = """from transformers import Trainer

class Weighted(Trainer):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.scale = nn.Parameter(torch.zeros(3))
        self.weight = self.scale.exp()

    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(inputs)
        loss = (outputs * {weight}).sum()
        return (loss, outputs) if return_outputs else loss

if __name__ == "__main__":
    Weighted(net, batches).train()
"""
_LOSS = "loss = net(batch).square().mean()"
_LOSS_BEFORE = "loss = net(batches[0]).square().mean()"
_TOTAL = "self.total = self.total + loss{cut}\n        return {walked}"

PROGRAMS: dict[str, str] = {
    "lightning_state": _RECURRENT.format(framework="lightning", returned="return loss", hook=""),
    "lightning_state_in_a_dict": _RECURRENT.format(
        framework="pytorch_lightning", returned='return {"loss": loss}', hook=""
    ),
    "lightning_state_detached": _RECURRENT.format(
        framework="lightning", returned="self.state = self.state.detach()\n        return loss", hook=""
    ),
    "lightning_state_reset": _RECURRENT.format(framework="lightning", returned="return loss", hook=_RESET),
    "lightning_nothing_returned": _RECURRENT.format(framework="lightning", returned="return None", hook=""),
    "lightning_two_optimizers": _ADVERSARIAL.format(cut=""),
    "lightning_two_optimizers_detached": _ADVERSARIAL.format(cut=".detach()"),
    "lightning_manual_stale": _MANUAL.format(again="pass"),
    "lightning_manual_fresh": _MANUAL.format(again="score = self.judge(self.make(batch)).mean()"),
    "lightning_total": _STEP.format(init="", body=_TOTAL.format(cut="", walked="self.total")),
    "lightning_total_of_numbers": _STEP.format(init="", body=_TOTAL.format(cut=".item()", walked="loss")),
    "lightning_derived_in_init": _STEP.format(
        init="self.factor = self.scale.exp()", body="return loss * self.factor.sum()"
    ),
    "lightning_derived_in_step": _STEP.format(init="", body="return loss * self.scale.exp().sum()"),
    "accelerate_total": _ACCELERATE.format(
        library="accelerate", name="Accelerator", prepare="prepare", cut="", walked="total"
    ),
    "accelerate_total_detached": _ACCELERATE.format(
        library="accelerate", name="Accelerator", prepare="prepare", cut=".detach()", walked="loss"
    ),
    "fabric_total": _ACCELERATE.format(library="lightning", name="Fabric", prepare="setup", cut="", walked="total"),
    "fabric_loss": _ACCELERATE.format(
        library="lightning", name="Fabric", prepare="setup", cut=".item()", walked="loss"
    ),
    "deepspeed_outside": _DEEPSPEED.format(before="loss = model_engine(batches[0]).square().mean()", inside="pass"),
    "deepspeed_inside": _DEEPSPEED.format(before="", inside="loss = model_engine(batch).square().mean()"),
    "ignite_stale_penalty": _IGNITE.format(penalty="weight_penalty"),
    "ignite_fresh_penalty": _IGNITE.format(penalty="sum(weight.square().sum() for weight in net.parameters())"),
    "ignite_supervised_state": _SUPERVISED.format(cut=""),
    "ignite_supervised_detached": _SUPERVISED.format(cut=".detach()"),
    "timm_outside": _TIMM.format(before=_LOSS_BEFORE, inside="pass"),
    "timm_inside": _TIMM.format(before="", inside=_LOSS),
    "apex_outside": _APEX.format(before=_LOSS_BEFORE, inside="pass"),
    "apex_inside": _APEX.format(before="", inside=_LOSS),
    "higher_walked_apart": _HIGHER.format(walks="first.backward()\n        second.backward()"),
    "higher_walked_together": _HIGHER.format(walks="(first + second).backward()"),
    "transformers_stale_weight": _HUGGING.format(weight="self.weight"),
    "transformers_fresh_weight": _HUGGING.format(weight="self.scale.exp()"),
}
