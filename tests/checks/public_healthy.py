"""Right programs in the styles of public repositories, which look like sick ones."""

from tests.checks.public_sick import ATT, EMA, LM, dqn

HEALTHY: dict[str, str] = {}
HEALTHY["windows split in time"] = """
t = torch.arange(600) * 0.07
series = torch.sin(t) + 0.3 * torch.randn(600)
W = 24
def windows(part):
    places = range(len(part) - W - 1)
    return torch.stack([part[i:i + W] for i in places]), torch.stack([part[i + W] for i in places])
x_tr, y_tr = windows(series[:450]); x_te, y_te = windows(series[450:])
net = nn.Sequential(nn.Linear(W, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    for i in torch.randperm(len(x_tr)).split(32):
        loss = F.mse_loss(net(x_tr[i]).squeeze(1), y_tr[i])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        test, fit = F.mse_loss(net(x_te).squeeze(1), y_te), F.mse_loss(net(x_tr).squeeze(1), y_tr)
"""
HEALTHY["scaled by the training set"] = """
raw = torch.randn(400, 5) * 3 + 7; y = raw[:, 0] - 7 + 0.1 * torch.randn(400)
mean, std = raw[:300].mean(0), raw[:300].std(0)
x_train, x_val = (raw[:300] - mean) / std, (raw[300:] - mean) / std
train = DataLoader(TensorDataset(x_train, y[:300]), batch_size=30, shuffle=True)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for a, b in train:
        loss = F.mse_loss(net(a).squeeze(1), b)
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        val, again = F.mse_loss(net(x_val).squeeze(1), y[300:]), F.mse_loss(net(x_train).squeeze(1), y[:300])
"""
HEALTHY["gan with a frozen judge"] = """
g = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
d = nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(g.parameters(), lr=1e-3), torch.optim.Adam(d.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(20):
    real, fake = torch.randn(32, 2) + 2, g(torch.randn(32, 4))
    d.requires_grad_(True)
    loss_d = bce(d(real), torch.ones(32, 1)) + bce(d(fake.detach()), torch.zeros(32, 1))
    od.zero_grad(); loss_d.backward(); od.step()
    d.requires_grad_(False)
    loss_g = bce(d(fake), torch.ones(32, 1))
    og.zero_grad(); loss_g.backward(); og.step()
"""
HEALTHY["sharpness aware wrapper"] = """
class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kw):
        super().__init__(params, dict(rho=rho, **kw))
        self.base = base(self.param_groups, **kw)
    @torch.no_grad()
    def step(self, closure):
        grads = [p.grad.clone() for g in self.param_groups for p in g["params"]]
        norm = torch.stack([g.norm() for g in grads]).norm() + 1e-12
        ps = [p for g in self.param_groups for p in g["params"]]
        for p, g in zip(ps, grads): p.add_(0.05 * g / norm)
        self.zero_grad()
        with torch.enable_grad(): closure()
        for p, g in zip(ps, grads): p.sub_(0.05 * g / norm)
        self.base.step()
net = nn.Linear(6, 2)
opt = SAM(net.parameters(), torch.optim.SGD, lr=0.05)
for step in range(12):
    x = torch.randn(32, 6)
    def closure():
        loss = F.mse_loss(net(x), x[:, :2]); loss.backward(); return loss
    opt.zero_grad(); closure(); opt.step(closure)
"""
HEALTHY["truncated, detached"] = """
lstm, head = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 1)
opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3)
h = None
for step in range(8):
    x = torch.randn(4, 5, 3)
    out, h = lstm(x, h)
    loss = F.mse_loss(head(out), x[..., :1].cumsum(1))
    opt.zero_grad(); loss.backward(); opt.step()
    h = tuple(t.detach() for t in h)
"""
HEALTHY["decoder inside one pass"] = """
cell, head = nn.GRUCell(3, 8), nn.Linear(8, 3)
opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
for step in range(10):
    x = torch.randn(16, 6, 3)
    h, loss = torch.zeros(16, 8), 0.0
    for t in range(5):
        h = cell(x[:, t], h)
        loss = loss + F.mse_loss(head(h), x[:, t + 1])
    opt.zero_grad(); (loss / 5).backward(); opt.step()
"""
HEALTHY["dqn"] = dqn(update="if step % 20 == 19: target.load_state_dict(q.state_dict())")
HEALTHY["dqn soft"] = dqn(
    update="""with torch.no_grad():
        for p, t in zip(q.parameters(), target.parameters()): t.lerp_(p, 0.05)"""
)
HEALTHY["ema"] = (
    EMA.replace("CREATE", "ema = copy.deepcopy(net)")
    .replace(
        "UPDATE",
        """with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            e.lerp_(p, 0.1)""",
    )
    .replace("EVAL", "ema")
)
HEALTHY["averaged model"] = (
    EMA.replace(
        "CREATE",
        "from torch.optim.swa_utils import AveragedModel\n"
        "from torch.optim.swa_utils import get_ema_multi_avg_fn as make\n"
        "ema = AveragedModel(net, multi_avg_fn=make(0.9))",
    )
    .replace("UPDATE", "ema.update_parameters(net)")
    .replace("EVAL", "ema")
)
HEALTHY["best weights"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
best = copy.deepcopy(net.state_dict()); low = 1e9
opt = torch.optim.Adam(net.parameters(), lr=1e-3); xv = torch.randn(64, 6)
for epoch in range(4):
    for step in range(8):
        x = torch.randn(32, 6); loss = F.mse_loss(net(x), x[:, :2])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad(): val = F.mse_loss(net(xv), xv[:, :2]).item()
    if val < low: low, best = val, copy.deepcopy(net.state_dict())
net.load_state_dict(best)
"""
HEALTHY["softplus for positive numbers"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Softplus())
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6); loss = F.mse_loss(net(x), x[:, :1].abs())
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["autoencoder with sigmoid"] = """
net = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.rand(32, 16); loss = F.mse_loss(net(x), x)
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["tanh generator"] = """
net = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16), nn.Tanh())
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.rand(32, 16) * 2 - 1; loss = F.l1_loss(net(x), x)
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["gpt"] = LM.replace("POS", "self.pos(torch.arange(T))").replace("TARGETS", "text[:, 1:]")
HEALTHY["time first"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.o = nn.Embedding(11, 16), nn.Linear(16, 2)
        self.register_buffer("pe", torch.randn(40, 1, 16))
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
    def forward(self, ids):
        x = self.e(ids).transpose(0, 1)
        x = x + self.pe[: x.size(0)]
        return self.o(self.layer(x).mean(0))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    ids = torch.randint(0, 11, (16, 7)); loss = F.cross_entropy(net(ids), (ids[:, 0] > ids[:, -1]).long())
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["diffusion times"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.t, self.a, self.b = nn.Embedding(50, 16), nn.Linear(2, 16), nn.Linear(16, 2)
    def forward(self, x, t): return self.b(torch.relu(self.a(x) + self.t(t)))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3); beta = torch.linspace(1, 0, 50)
for step in range(20):
    x, t, e = torch.randn(64, 2), torch.randint(0, 50, (64,)), torch.randn(64, 2)
    loss = F.mse_loss(net(beta[t, None] * x + (1 - beta[t, None]) * e, t), e)
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["type embedding of tokens and positions"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(20, 16), nn.Embedding(8, 16)
        self.kind, self.o = nn.Parameter(torch.randn(2, 16)), nn.Linear(16, 2)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    def forward(self, ids):
        return self.o(self.layer(self.tok(ids) + self.pos(torch.arange(ids.shape[1])) + self.kind[0])[:, 0])
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    ids = torch.randint(0, 20, (16, 8)); loss = F.cross_entropy(net(ids), (ids[:, 0] > 9).long())
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["slots"] = """
class Slots(nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.v, self.o = nn.Linear(4, 8), nn.Linear(4, 8), nn.Linear(8, 4)
        self.s = nn.Parameter(torch.randn(3, 8))
    def forward(self, x):
        a = (self.s @ self.k(x).transpose(1, 2)).softmax(dim=1) + 1e-8
        a = a / a.sum(-1, keepdim=True)
        return self.o(a @ self.v(x)).mean(1)
net = Slots()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(16, 7, 4); loss = F.mse_loss(net(x), x.mean(1))
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["weights clipped through data"] = """
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6); loss = net(x).mean() - net(x + 1).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    for p in net.parameters(): p.data.clamp_(-0.1, 0.1)
"""
HEALTHY["quantised straight through"] = """
net, out = nn.Linear(6, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6); h = torch.tanh(net(x)); q = h + (h.sign() - h).detach()
    loss = F.mse_loss(out(q), x[:, :1])
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["soft labels"] = """
net = nn.Linear(6, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6); y = F.one_hot(x[:, :4].argmax(1), 4).float()
    lam, p = float(torch.rand(1)), torch.randperm(32)
    loss = F.cross_entropy(net(lam * x + (1 - lam) * x[p]), lam * y + (1 - lam) * y[p])
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["first token of a vocabulary"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.e, self.o = nn.Embedding(10, 16, padding_idx=0), nn.Linear(48, 10)
    def forward(self, ids): return self.o(self.e(ids).flatten(1))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    ids = torch.randint(1, 10, (32, 3)); loss = F.cross_entropy(net(ids), ids[:, 0].clone())
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["tags with ignore_index"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.o = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 4)
        self.r = nn.GRU(8, 8, batch_first=True)
    def forward(self, w): return self.o(self.r(self.e(w))[0])
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    n = torch.randint(3, 12, (16, 1)); w = torch.randint(1, 20, (16, 11)) * (torch.arange(11) < n)
    t = torch.where(w > 0, w % 4, -100)
    loss = F.cross_entropy(net(w).flatten(0, 1), t.flatten())
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["recall the first number"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__(); self.r, self.o = nn.GRU(2, 16, batch_first=True), nn.Linear(16, 1)
    def forward(self, x): return self.o(self.r(x)[0][:, -1]).squeeze(1)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 8, 2); loss = F.mse_loss(net(x), x[:, 0, 0].clone())
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["features chosen by the training rows"] = """
x, y = torch.randn(200, 50), torch.randint(0, 2, (200,)).float()
order = torch.randperm(200); tr, va = order[:150], order[150:]
score = (x[tr] * (y[tr] - y[tr].mean())[:, None]).mean(0).abs()
best = score.topk(10).indices
x = x[:, best]
net = nn.Linear(10, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for i in tr[torch.randperm(150)].split(30):
        loss = F.binary_cross_entropy_with_logits(net(x[i]).squeeze(1), y[i])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad(): val = net(x[va])
"""
HEALTHY["amp done right"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(24):
    x = torch.randn(32, 6)
    with torch.autocast("cpu", dtype=torch.float16): loss = F.mse_loss(net(x), x[:, :2]) / 2
    scaler.scale(loss).backward()
    if step % 2:
        scaler.unscale_(opt); nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt); scaler.update(); opt.zero_grad()
"""
HEALTHY["one cycle"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=60)
for step in range(60):
    x = torch.randn(32, 6); loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad(); loss.backward(); opt.step(); sched.step()
"""
HEALTHY["workers seeded by number"] = """
class Noisy(Dataset):
    def __init__(self): self.rng = None
    def __len__(self): return 64
    def __getitem__(self, i):
        if self.rng is None: self.rng = np.random.default_rng(torch.initial_seed() % 2**32)
        return torch.full((4,), i / 64) + torch.from_numpy(self.rng.normal(size=4)).float()
def init(worker): np.random.seed(torch.initial_seed() % 2**32)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-4)
for x in DataLoader(Noisy(), batch_size=8, num_workers=2, worker_init_fn=init):
    loss = F.mse_loss(net(x), x.mean(1, keepdim=True))
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["ddp cut by rank"] = """
import os, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29534")
dist.init_process_group("gloo", rank=0, world_size=1)
rank, world = dist.get_rank(), dist.get_world_size()
x = torch.randn(64, 6)[rank::world]
net = nn.parallel.DistributedDataParallel(nn.Linear(6, 2))
loader = DataLoader(TensorDataset(x), batch_size=8, shuffle=True)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for epoch in range(2):
    for (a,) in loader:
        loss = F.mse_loss(net(a), a[:, :2])
        opt.zero_grad(); loss.backward(); opt.step()
dist.destroy_process_group()
"""
HEALTHY["einsum attention"] = ATT.replace("LINE", "a = s.softmax(dim=-1)")
HEALTHY["vae"] = """
class VAE(nn.Module):
    def __init__(self):
        super().__init__(); self.e, self.d = nn.Linear(12, 8), nn.Linear(4, 12)
    def forward(self, x):
        mu, lv = self.e(x).chunk(2, -1); z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.d(z), mu, lv
net = VAE()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    x = torch.rand(32, 12).round(); out, mu, lv = net(x)
    fit = F.binary_cross_entropy_with_logits(out, x, reduction="sum")
    loss = (fit - 0.5 * (1 + lv - mu**2 - lv.exp()).sum()) / 32
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["reinforce"] = """
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for episode in range(20):
    logs, rewards = [], []
    s = torch.randn(4)
    for t in range(6):
        dist = torch.distributions.Categorical(logits=net(s)); a = dist.sample()
        logs.append(dist.log_prob(a)); rewards.append(float(a)); s = torch.randn(4)
    r = torch.tensor(rewards); r = (r - r.mean()) / (r.std() + 1e-6)
    loss = -(torch.stack(logs) * r).sum()
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["images channels first by permute"] = """
imgs = torch.rand(64, 10, 10, 3); y = (imgs[..., 0].mean((1, 2)) > 0.5).long()
x = imgs.permute(0, 3, 1, 2).contiguous()
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for i in torch.randperm(64).split(16):
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["every place classified"] = """
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 6))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(16, 6, 5); y = torch.randint(0, 6, (16, 6))
    loss = F.cross_entropy(net(x).transpose(1, 2), y)
    opt.zero_grad(); loss.backward(); opt.step()
"""
HEALTHY["fine tuning in two phases"] = """
body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
head = nn.Linear(16, 2)
net = nn.Sequential(body, head)
def fit(params, frozen):
    opt = torch.optim.Adam(params, lr=1e-3)
    for step in range(12):
        net.train()
        if frozen: body.eval()
        x = torch.randn(32, 6); loss = F.mse_loss(net(x), x[:, :2])
        opt.zero_grad(); loss.backward(); opt.step()
fit(net.parameters(), False)
body.requires_grad_(False)
fit(head.parameters(), True)
body.requires_grad_(True)
fit(net.parameters(), False)
"""

HEALTHY["one function for training and validation"] = """
net = nn.Linear(6, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
train, valid = torch.randn(96, 6), torch.randn(48, 6)
def loss_of(rows):
    return F.mse_loss(net(rows), rows[:, :2])
for epoch in range(4):
    for i in torch.randperm(96).split(16):
        loss = loss_of(train[i])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad(): print(loss_of(valid).item())
"""

HEALTHY["a policy that reads one state at a time"] = """
from torch.distributions import Categorical
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
for episode in range(12):
    at, logps, rewards = 0, [], []
    for t in range(8):
        choice = Categorical(logits=policy(torch.tensor([at / 4, t / 8])))
        action = choice.sample()
        logps.append(choice.log_prob(action))
        at += 1 if action.item() else -1
        rewards.append(float(at))
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(logps) * (returns - returns.mean())).mean()
    opt.zero_grad(); loss.backward(); opt.step()
"""

HEALTHY["a head behind a recurrent network"] = """
signal = torch.sin(torch.arange(400) * 0.07) + 0.05 * torch.randn(400)
windows = signal.unfold(0, 13, 1)
x_tr, y_tr = windows[:280, :-1, None], windows[:280, -1:]
x_te, y_te = windows[300:, :-1, None], windows[300:, -1:]
lstm, head = nn.LSTM(1, 8, batch_first=True), nn.Linear(8, 1)
opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=5e-3)
for epoch in range(5):
    for i in torch.randperm(280).split(40):
        loss = F.mse_loss(head(lstm(x_tr[i])[0][:, -1]), y_tr[i])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        print(F.mse_loss(head(lstm(x_te)[0][:, -1]), y_te).item())
"""
