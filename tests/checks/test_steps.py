"""Bugs around steps, clipping, schedules, copies of networks and data, in many styles, and healthy twins."""

from pathlib import Path

import pytest
import torch

from vitruvius.doctor import diagnose

TOOLS = """import copy, random, torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, Subset, SubsetRandomSampler, TensorDataset, random_split
x = torch.randn(96, 6)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def batches(size=16):
    return torch.randperm(len(x)).split(size)
"""
STEP = """
def step(i):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x[i]), y[i])
    loss.backward()
    optimizer.step()
    return loss
"""
AMP = 'scaler = torch.amp.GradScaler("cpu")\n'
SCHEDULED = """
for epoch in range(8):
    for i in batches():
        optimizer.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        optimizer.step()
        PER_BATCH
    PER_EPOCH
"""
DQN = """
target = copy.deepcopy(net)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    states, following = torch.randn(16, 6), torch.randn(16, 6)
    with torch.no_grad():
        goal = torch.rand(16) + 0.9 * target(following).amax(1)
    optimizer.zero_grad()
    F.mse_loss(net(states).amax(1), goal).backward()
    optimizer.step()
    if step % 10 == 9:
        target.load_state_dict(net.state_dict())
"""
BYOL = """
class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.head = nn.Linear(6, 8), nn.Linear(8, 8)
        self.teacher = copy.deepcopy(self.online)
    def forward(self, a, b):
        with torch.no_grad():
            goal = self.teacher(b)
        return F.mse_loss(self.head(self.online(a)), goal.detach())
    @torch.no_grad()
    def update(self):
        for p, q in zip(self.online.parameters(), self.teacher.parameters()):
            q.data = 0.9 * q.data + 0.1 * p.data
pair = Pair()
optimizer = torch.optim.Adam([*pair.online.parameters(), *pair.head.parameters()], lr=1e-2)
for step in range(30):
    i = torch.randint(0, 96, (16,))
    loss = pair(x[i] + 0.1 * torch.randn(16, 6), x[i] + 0.1 * torch.randn(16, 6))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    pair.update()
"""
SHADOW = """
class EMA:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
    def update(self):
        for name, p in self.model.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1 - self.decay) * p.detach()
ema = EMA(net, 0.9)
for epoch in range(4):
    for i in batches():
        optimizer.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        optimizer.step()
        ema.update()
"""
LOADERS = """
class Rows(Dataset):
    def __init__(self, rows, noise=0.0):
        self.rows, self.noise = rows, noise
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        row = x[self.rows[index]]
        return row + self.noise * torch.randn(6), y[self.rows[index]]
train, valid = DataLoader(TRAIN, 16, shuffle=True), DataLoader(VALID, 16, shuffle=SHUFFLE)
def evaluate(loader):
    net.eval()
    with torch.no_grad():
        return sum((net(a).argmax(1) == b).sum() for a, b in loader)
for epoch in range(4):
    net.train()
    for a, b in train:
        optimizer.zero_grad()
        F.cross_entropy(net(a), b).backward()
        optimizer.step()
    right = evaluate(valid), evaluate(train)
"""


def loaders(train: str, valid: str, shuffle: str = "False") -> str:
    return LOADERS.replace("TRAIN", train).replace("VALID", valid).replace("SHUFFLE", shuffle)


FIRST, REST = "Rows(list(range(64)))", "Rows(list(range(64, 96)))"
EVALUATED = (
    STEP
    + """
total = 0.0
for epoch in range(3):
    for i in batches():
        step(i)
net.eval()
for i in range(6):
    LINE
"""
)

SILENT = {
    "the last and the best loss are kept": STEP
    + """
best = last = None
losses = []
for epoch in range(3):
    for i in batches():
        loss = step(i)
        losses.append(loss.detach())
        best = loss if best is None or loss < best else best
        last = loss
""",
    "six losses, differentiated one by one": """
for i in batches():
    scores = net(x[i])
    losses = [F.cross_entropy(scores, y[i], label_smoothing=k / 10) / 6 for k in range(6)]
    optimizer.zero_grad()
    for loss in losses:
        loss.backward(retain_graph=True)
    optimizer.step()
""",
    "a loss added up over time, then differentiated": """
cell = nn.GRUCell(6, 16)
head = nn.Linear(16, 3)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)
state = torch.zeros(16, 16)
for i in [*batches(), *batches()]:
    total, state = 0.0, state.detach()
    for time in range(6):
        state = cell(x[i] + 0.1 * time, state)
        total = total + F.cross_entropy(head(state), y[i])
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
""",
    "an episode whose probabilities are kept until its end": """
for episode in range(4):
    kept = []
    for time in range(12):
        policy = torch.distributions.Categorical(logits=net(torch.randn(8, 6)))
        kept.append(policy.log_prob(policy.sample()) * torch.randn(8))
    optimizer.zero_grad()
    (-torch.stack(kept).mean()).backward()
    optimizer.step()
""",
    "a state that the network detaches itself": """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.LSTMCell(6, 8), nn.Linear(8, 3)
    def forward(self, x, state):
        state = tuple(part.detach() for part in state)
        state = self.cell(x, state)
        return self.head(state[0]), state
memory = Memory()
optimizer = torch.optim.Adam(memory.parameters(), lr=1e-2)
state = (torch.zeros(16, 8), torch.zeros(16, 8))
for i in batches():
    scores, state = memory(x[i], state)
    optimizer.zero_grad()
    F.cross_entropy(scores, y[i]).backward()
    optimizer.step()
""",
    "a fake that both networks see": """
G, D = nn.Linear(3, 6), nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
of_G, of_D = (torch.optim.Adam(part.parameters(), lr=1e-3, betas=(0.5, 0.999)) for part in (G, D))
ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
for i in [*batches(), *batches()]:
    fake = G(torch.randn(16, 3))
    of_D.zero_grad()
    loss = F.binary_cross_entropy_with_logits
    (loss(D(x[i]), ones) + loss(D(fake.detach()), zeros)).backward()
    nn.utils.clip_grad_norm_(D.parameters(), 1.0)
    of_D.step()
    of_G.zero_grad()
    loss(D(fake), ones).backward()
    nn.utils.clip_grad_norm_(G.parameters(), 1.0)
    of_G.step()
""",
    "AMP, accumulation by four, unscaled before clipping": AMP
    + """
for epoch in range(3):
    for k, i in enumerate(batches(12)):
        scaler.scale(F.cross_entropy(net(x[i]), y[i]) / 4).backward()
        if k % 4 == 3:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
""",
    "AMP, with a limit that is scaled by hand": AMP
    + """
for i in [*batches(), *batches()]:
    optimizer.zero_grad()
    scaler.scale(F.cross_entropy(net(x[i]), y[i])).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0 * scaler.get_scale())
    scaler.step(optimizer)
    scaler.update()
""",
    "AMP, switched off": 'scaler = torch.amp.GradScaler("cpu", enabled=False)\n'
    """
for i in [*batches(), *batches()]:
    optimizer.zero_grad()
    scaler.scale(F.cross_entropy(net(x[i]), y[i])).backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
""",
    "AMP, two optimisers and one scaler": AMP
    + """
body, head = (torch.optim.Adam(part.parameters(), lr=1e-3) for part in (net[0], net[2]))
for i in [*batches(), *batches()]:
    net.zero_grad()
    scaler.scale(F.cross_entropy(net(x[i]), y[i])).backward()
    for part in (body, head):
        scaler.unscale_(part)
        nn.utils.clip_grad_norm_(part.param_groups[0]["params"], 1.0)
        scaler.step(part)
    scaler.update()
""",
    "a norm that is only measured, after the step": STEP
    + """
for i in [*batches(), *batches()]:
    step(i)
    norm = nn.utils.clip_grad_norm_(net.parameters(), float("inf"))
""",
    "all gradients clipped between the steps of two optimisers": """
body, head = (torch.optim.SGD(part.parameters(), lr=0.1) for part in (net[0], net[2]))
for i in [*batches(), *batches()]:
    net.zero_grad()
    F.cross_entropy(net(x[i]), y[i]).backward()
    body.step()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    head.step()
""",
    "clipping inside the closure of LBFGS": """
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
for step in range(6):
    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        return loss
    optimizer.step(closure)
""",
    "Adam, whose steps do not depend on a small limit": """
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(8):
    for i in batches():
        optimizer.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        optimizer.step()
""",
    "folds, each with its own network": """
parts = torch.randperm(96).chunk(4)
for fold in range(4):
    net = nn.Linear(6, 3)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    rest = torch.cat([part for other, part in enumerate(parts) if other != fold])
    for epoch in range(3):
        for i in rest[torch.randperm(72)].split(12):
            optimizer.zero_grad()
            F.cross_entropy(net(x[i]), y[i]).backward()
            optimizer.step()
        with torch.no_grad():
            valid = F.cross_entropy(net(x[parts[fold]]), y[parts[fold]])
""",
    "training and validation figures by one function": loaders(FIRST, REST),
    "validation rows in another order": loaders(FIRST, REST, "True"),
    "training rows with noise, validation without": loaders("Rows(list(range(64)), 0.3)", REST),
    "early stopping, then all rows": STEP
    + """
held = torch.arange(64, 96)
for epoch in range(3):
    for i in torch.randperm(64).split(16):
        step(i)
    with torch.no_grad():
        valid = F.cross_entropy(net(x[held]), y[held])
for epoch in range(2):
    for i in batches():
        step(i)
with torch.no_grad():
    test = net(torch.randn(32, 6))
""",
    "fresh validation rows each time": STEP
    + """
for epoch in range(5):
    for i in batches():
        step(i)
    with torch.no_grad():
        new = torch.randn(32, 6)
        valid = F.cross_entropy(net(new), new[:, :3].argmax(1))
""",
    "rows that take few values": STEP
    + """
few = torch.randint(0, 3, (400, 6)).float()
kind = few[:, :3].argmax(1)
for epoch in range(4):
    for i in torch.randperm(300).split(30):
        optimizer.zero_grad()
        F.cross_entropy(net(few[i]), kind[i]).backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        valid = F.cross_entropy(net(few[300:340]), kind[300:340])
    net.train()
""",
    "several noisy views of one test batch": STEP
    + """
held, labels = torch.randn(32, 6), torch.randint(0, 3, (32,))
for epoch in range(4):
    for i in batches():
        step(i)
    with torch.no_grad():
        views = torch.stack([net(held.roll(k, 0)) for k in range(4)]).mean(0)
        valid = F.cross_entropy(views, labels)
""",
    "a curve over a wider range at the end": """
points = torch.rand(128, 4) * 2 - 1
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(6):
    for i in torch.randperm(128).split(16):
        optimizer.zero_grad()
        F.mse_loss(net(points[i]), points[i].prod(1, keepdim=True)).backward()
        optimizer.step()
with torch.no_grad():
    curve = net(torch.linspace(-5, 5, 50)[:, None].expand(50, 4))
""",
    "a target network, copied every ten steps": DQN,
    "double DQN": DQN.replace(
        "target(following).amax(1)", "target(following).gather(1, net(following).argmax(1, True))[:, 0]"
    ),
    "a target network, moved a little in every step": DQN.replace("if step % 10 == 9:", "if True:").replace(
        "target.load_state_dict(net.state_dict())",
        "for p, q in zip(net.parameters(), target.parameters()):\n            q.data.lerp_(p.data, 0.05)",
    ),
    "a teacher inside a module": BYOL,
    "a shadow of the weights": SHADOW,
    "a slow shadow that is a target": BYOL.replace("0.9 * q.data + 0.1", "0.996 * q.data + 0.004"),
    "a reference model that stands by intent": """
reference = copy.deepcopy(net).requires_grad_(False)
for i in [*batches(), *batches(), *batches(), *batches()]:
    scores = net(x[i])
    with torch.no_grad():
        before = reference(x[i]).log_softmax(1)
    optimizer.zero_grad()
    (F.cross_entropy(scores, y[i]) + F.kl_div(scores.log_softmax(1), before, reduction="batchmean",
        log_target=True)).backward()
    optimizer.step()
""",
    "a fast copy with an optimiser of its own": """
fast = copy.deepcopy(net)
inner = torch.optim.SGD(fast.parameters(), lr=0.1)
for i in [*batches(), *batches(), *batches(), *batches()]:
    fast.load_state_dict(net.state_dict())
    for _ in range(2):
        inner.zero_grad()
        F.cross_entropy(fast(x[i]), y[i]).backward()
        inner.step()
    optimizer.zero_grad()
    for p, q in zip(net.parameters(), fast.parameters()):
        p.grad = p.detach() - q.detach()
    optimizer.step()
""",
    "averaged weights of torch": """
from torch.optim.swa_utils import AveragedModel
average = AveragedModel(net)
for i in [*batches(), *batches(), *batches()]:
    optimizer.zero_grad()
    F.cross_entropy(net(x[i]), y[i]).backward()
    optimizer.step()
    average.update_parameters(net)
""",
    "OneCycle per batch": "schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=48)\n"
    + SCHEDULED.replace("PER_BATCH", "schedule.step()").replace("PER_EPOCH", "pass"),
    "OneCycle, stopped "
    "early": "schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=140)\n"
    + SCHEDULED.replace("PER_BATCH", "schedule.step()").replace("PER_EPOCH", "pass"),
    "a cosine per epoch": "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)\n"
    + SCHEDULED.replace("PER_BATCH", "pass").replace("PER_EPOCH", "schedule.step()"),
    "warm-up, then a decay": """
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min((k + 1) / 10, 1 - k / 60))
"""
    + SCHEDULED.replace("PER_BATCH", "schedule.step()").replace("PER_EPOCH", "pass"),
    "a search for the rate": """
for group in optimizer.param_groups:
    group["lr"] = 1e-4
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 1.1)
"""
    + SCHEDULED.replace("PER_BATCH", "schedule.step()").replace("PER_EPOCH", "pass"),
    "one encoder, two losses, two optimisers": """
encode, decode, judge = nn.Linear(6, 4), nn.Linear(4, 6), nn.Linear(4, 1)
rebuild = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=1e-3)
fool = torch.optim.Adam(encode.parameters(), lr=1e-3)
for i in [*batches(), *batches()]:
    rebuild.zero_grad()
    F.mse_loss(decode(encode(x[i])), x[i]).backward()
    rebuild.step()
    fool.zero_grad()
    F.softplus(-judge(encode(x[i])).detach() * 0 - encode(x[i]).sum(1, keepdim=True)).mean().backward()
    fool.step()
""",
    "Adam first, LBFGS afterwards": STEP
    + """
for i in batches():
    step(i)
polish = torch.optim.LBFGS(net.parameters(), max_iter=4)
def closure():
    polish.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    return loss
for _ in range(3):
    polish.step(closure)
""",
    "a forecast of the next value": """
series = torch.randn(200).cumsum(0) / 10
windows = series.unfold(0, 9, 1)
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    for i in torch.randperm(192).split(32):
        optimizer.zero_grad()
        F.mse_loss(net(windows[i, :8]), windows[i, 8:]).backward()
        optimizer.step()
""",
    "one process, a plain sampler": """
from torch import distributed
from torch.testing._internal.distributed.fake_pg import FakeStore
distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=1)
for epoch in range(2):
    for a, b in DataLoader(TensorDataset(x, y), 16, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(net(a), b).backward()
        optimizer.step()
distributed.destroy_process_group()
""",
    "a generator of the data set, without workers": loaders(FIRST, REST)
    .replace("self.rows, self.noise = rows, noise", "self.rows, self.own = rows, torch.Generator()")
    .replace("self.noise * torch.randn(6)", "0 * torch.randn(6, generator=self.own)"),
}

LOUD = {
    ("kept_graph", "in a list"): STEP
    + """
losses = []
for i in [*batches(), *batches()]:
    losses.append(step(i))  # here
""",
    ("kept_graph", "in a meter"): STEP
    + """
class Meter:
    def __init__(self):
        self.sum = 0.0
    def update(self, value):
        self.sum += value  # here
meter = Meter()
for i in [*batches(), *batches()]:
    meter.update(step(i))
""",
    ("kept_graph", "in a dictionary, inside a function"): """
def train():
    stats = {"loss": 0.0}
    for i in [*batches(), *batches()]:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[i]), y[i])
        loss.backward()
        optimizer.step()
        stats["loss"] = stats["loss"] + loss  # here
    return stats
train()
""",
    ("evaluation_keeps_graph", "a total"): EVALUATED.replace(
        "LINE", "total += F.cross_entropy(net(torch.randn(16, 6)), y[:16])  # here"
    ),
    ("evaluation_keeps_graph", "a list of outputs"): EVALUATED.replace("net.eval()", "outputs = []").replace(
        "LINE", "outputs.append(net(torch.randn(16, 6)))  # here"
    ),
    ("hidden_state_kept", "an attribute"): """
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head, self.state = nn.GRUCell(6, 8), nn.Linear(8, 3), torch.zeros(16, 8)
    def forward(self, x):
        self.state = self.cell(x, self.state)  # here
        return self.head(self.state)
memory = Memory()
optimizer = torch.optim.Adam(memory.parameters(), lr=1e-2)
for i in batches():
    optimizer.zero_grad()
    try:
        F.cross_entropy(memory(x[i]), y[i]).backward()
    except RuntimeError:
        break
    optimizer.step()
""",
    ("hidden_state_kept", "both tensors of an LSTM, with retain_graph"): """
rnn, head = nn.LSTM(6, 8), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2)
state = (torch.zeros(1, 16, 8), torch.zeros(1, 16, 8))
for i in batches():
    optimizer.zero_grad()
    hidden, state = rnn(x[i][None], state)  # here
    try:
        F.cross_entropy(head(hidden[0]), y[i]).backward(retain_graph=True)
    except RuntimeError:
        break
    optimizer.step()
""",
    ("clip_before_unscale", "values, with accumulation"): AMP
    + """
for epoch in range(3):
    for k, i in enumerate(batches(12)):
        scaler.scale(F.cross_entropy(net(x[i]), y[i]) / 4).backward()
        if k % 4 == 3:
            nn.utils.clip_grad_value_(net.parameters(), 0.5)  # here
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
""",
    ("clip_before_unscale", "unscaled too late"): AMP
    + """
for i in [*batches(), *batches(), *batches(), *batches()]:
    optimizer.zero_grad()
    scaler.scale(F.cross_entropy(net(x[i]), y[i])).backward()
    nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)  # here
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
""",
    ("clip_after_step", "after zero_grad"): """
for i in [*batches(), *batches()]:
    F.cross_entropy(net(x[i]), y[i]).backward()
    optimizer.step()
    optimizer.zero_grad()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here
""",
    ("clip_after_step", "before backward"): """
for i in [*batches(), *batches()]:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x[i]), y[i])
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here
    loss.backward()
    optimizer.step()
""",
    ("clip_too_small", "with momentum"): """
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
for epoch in range(8):
    for i in batches():
        optimizer.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1e-3)  # here
        optimizer.step()
""",
    ("validation_leak", "two splits of one set"): loaders(
        "Rows(list(range(64)))", "Rows(list(range(48, 96)))"
    ).replace("shuffle=False)\n", "shuffle=False)  # here\n"),
    ("validation_augmented", "the augmented set"): loaders(FIRST, "Rows(list(range(64, 96)), 0.3)").replace(
        "shuffle=False)\n", "shuffle=False)  # here\n"
    ),
    ("validation_augmented", "in another order"): loaders(
        FIRST, "Rows(list(range(64, 96)), 0.3)", "True"
    ).replace("shuffle=True)\ndef", "shuffle=True)  # here\ndef"),
    ("validation_scaled_otherwise", "another mean"): STEP
    + """
held, labels = torch.randn(32, 6) * 0.3 + 0.5, torch.randint(0, 3, (32,))  # here
for epoch in range(4):
    for i in batches():
        step(i)
    net.eval()
    with torch.no_grad():
        valid = F.cross_entropy(net(held), labels)
    net.train()
""",
    ("target_network_trained", "no detach"): DQN.replace("with torch.no_grad()", "if True")
    .replace("amax(1)\n    optimizer", "amax(1)  # here\n    optimizer", 1)
    .replace("if step % 10 == 9:", "if step % 5 == 4:"),
    ("target_network_trained", "in the optimiser"): BYOL.replace(
        "Adam([*pair.online.parameters(), *pair.head.parameters()], lr=1e-2)",
        "Adam(pair.parameters(), lr=1e-2)  # here",
    )
    .replace("with torch.no_grad():\n            goal", "if True:\n            goal")
    .replace("goal.detach()", "goal"),
    ("target_network_stands", "rarer than the steps"): DQN.replace("% 10 == 9", "% 1000 == 999").replace(
        "net.state_dict())", "net.state_dict())  # here"
    ),
    ("target_network_stands", "a function that binds a name"): BYOL.replace(
        "q.data = 0.9 * q.data + 0.1 * p.data", "q = 0.9 * q.data + 0.1 * p.data  # here"
    ),
    ("ema_decay", "a shadow with the decay swapped"): SHADOW.replace(
        "self.decay * self.shadow[name] + (1 - self.decay) * p.detach()",
        "(1 - self.decay) * self.shadow[name] + self.decay * p.detach()  # here",
    ),
    (
        "schedule_length",
        "a cosine in epochs, per batch",
    ): "schedule = torch.optim.lr_scheduler.CosineAnnealingLR("
    "optimizer, 8)\n"
    + SCHEDULED.replace("PER_BATCH", "schedule.step()  # here").replace("PER_EPOCH", "pass"),
    ("schedule_length", "an endless warm-up"): """
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1.0, (k + 1) / 1000))  # here
"""
    + SCHEDULED.replace("PER_BATCH", "schedule.step()").replace("PER_EPOCH", "pass"),
    ("schedule_length", "a linear warm-up per epoch"): "schedule = torch.optim.lr_scheduler.LinearLR("
    "optimizer, 0.01, total_iters=48)\n"
    + SCHEDULED.replace("PER_BATCH", "pass").replace("PER_EPOCH", "schedule.step()  # here"),
    ("scaler_misused", "a loss that is not scaled"): AMP
    + """
for i in [*batches(), *batches()]:
    optimizer.zero_grad()
    scaler.scale(F.cross_entropy(net(x[i]), y[i])).backward()
    F.mse_loss(net(x[i]), torch.zeros(16, 3)).backward()
    scaler.step(optimizer)  # here
    scaler.update()
""",
    ("two_optimisers", "all, and the head again"): """
everything, head = torch.optim.SGD(net.parameters(), lr=0.05), torch.optim.Adam(net[2].parameters(), lr=1e-3)
for i in [*batches(), *batches()]:
    everything.zero_grad()
    F.cross_entropy(net(x[i]), y[i]).backward()
    everything.step()
    head.step()  # here
""",
    ("l2_in_adam", "in a group"): """
optimizer = torch.optim.Adam([{"params": [net[0].weight, net[2].weight], "weight_decay": 0.1},  # here
    {"params": [net[0].bias, net[2].bias]}], lr=1e-3)
for i in [*batches(), *batches()]:
    optimizer.zero_grad()
    F.cross_entropy(net(x[i]), y[i]).backward()
    optimizer.step()
""",
    ("target_among_features", "a label in the table"): """
table = torch.cat([torch.randn(96, 5), y[:, None].float()], 1)  # here
for i in [*batches(), *batches()]:
    optimizer.zero_grad()
    F.cross_entropy(net(table[i]), y[i]).backward()
    optimizer.step()
""",
    ("same_random_workers", "one seed for all"): """
def seed(worker):
    torch.manual_seed(0)
for a, b in DataLoader(TensorDataset(x, y), 16, shuffle=True, num_workers=2, worker_init_fn=seed):  # here
    optimizer.zero_grad()
    F.cross_entropy(net(a), b).backward()
    optimizer.step()
""",
}


def loud(source: str, path: Path) -> list[tuple[str, str]]:
    """What is said about a program, notes left out."""
    path.write_text(TOOLS + source)
    with torch.random.fork_rng(devices=[]), diagnose.watch() as report:
        torch.manual_seed(1)
        exec(compile(TOOLS + source, str(path), "exec"), {"__name__": "__main__"})
    assert report.result.skipped == ()
    return [(found.bug, found.where) for found in report.findings if found.severity != "info"]


@pytest.mark.parametrize("name", SILENT)
def test_healthy_programs_are_not_accused(name: str, tmp_path: Path) -> None:
    assert loud(SILENT[name], tmp_path / "healthy.py") == []


@pytest.mark.parametrize(("bug", "style"), LOUD)
def test_a_bug_is_named_at_its_line_in_every_style(bug: str, style: str, tmp_path: Path) -> None:
    source = LOUD[bug, style]
    line = next(number for number, text in enumerate((TOOLS + source).splitlines(), 1) if "# here" in text)
    assert loud(source, tmp_path / "sick.py") == [(bug, f"{tmp_path / 'sick.py'}:{line}")]
