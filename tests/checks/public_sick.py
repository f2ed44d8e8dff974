"""Sick programs in the styles of public repositories; `# here` marks lines that a person would change."""

SICK: dict[tuple[str, str], str] = {}
ATT = """
class Attn(nn.Module):
    def __init__(self, d=16, h=2):
        super().__init__()
        self.h, self.qkv, self.o = h, nn.Linear(d, 3*d), nn.Linear(d, d)
    def forward(self, x):
        B, T, D = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.h, D // self.h).unbind(2)
        s = torch.einsum("bqhd,bkhd->bhqk", q, k) / (D // self.h) ** 0.5
        LINE
        return self.o(torch.einsum("bhqk,bkhd->bqhd", a, v).reshape(B, T, D))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.attn, self.out = nn.Linear(4, 16), Attn(), nn.Linear(16, 3)
        self.pos = nn.Parameter(torch.randn(1, 6, 16) * 0.1)
    def forward(self, x):
        h = self.inp(x) + self.pos
        h = h + self.attn(h)
        return self.out(h.mean(1))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(16, 6, 4)
    y = x[:, 0, :3].argmax(1)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["einsum softmax over queries", "wrong_axis"] = ATT.replace("LINE", "a = s.softmax(dim=2)  # here")
SICK["einsum softmax over heads", "wrong_axis"] = ATT.replace("LINE", "a = F.softmax(s, dim=1)  # here")
SICK["einsum softmax over batch", "wrong_axis"] = ATT.replace("LINE", "a = torch.softmax(s, dim=0)  # here")
SICK["einsum attention by hand", "slow_attention"] = ATT.replace("LINE", "a = s.softmax(dim=-1)  # here")
SICK["pooling softmax over one", "wrong_axis"] = """
class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.score, self.out = nn.GRU(4, 16, batch_first=True), nn.Linear(16, 1), nn.Linear(16, 2)
    def forward(self, x):
        h, _ = self.enc(x)
        w = torch.softmax(self.score(h), dim=-1)  # here
        return self.out((w * h).sum(1))
net = Pool()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(16, 6, 4)
    loss = F.cross_entropy(net(x), (x.sum((1, 2)) > 0).long())
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["argmax over rows in evaluation", "wrong_axis"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
xv = torch.randn(50, 6); yv = xv[:, :4].argmax(1)
for epoch in range(3):
    for step in range(10):
        x = torch.randn(32, 6)
        loss = nn.CrossEntropyLoss()(net(x), x[:, :4].argmax(1))
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        pred = net(xv).argmax(dim=0)  # here
        print(pred.shape)
"""
SICK["max over rows", "wrong_axis"] = SICK["argmax over rows in evaluation", "wrong_axis"].replace(
    "pred = net(xv).argmax(dim=0)", "_, pred = torch.max(net(xv), 0)"
)
SICK["log_softmax without classes axis", "wrong_axis"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4), nn.LogSoftmax(dim=0))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
crit = nn.NLLLoss()
for step in range(30):
    x = torch.randn(32, 6)
    loss = crit(net(x), x[:, :4].argmax(1))  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""


def nan(line: str, extra: str = "") -> str:
    """A training whose loss becomes NaN."""
    return f"""
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(32, 6)
    h = net(x)
    {extra}
    {line}
    opt.zero_grad(); loss.backward(); opt.step()
"""


SICK["masked mean of nothing", "nan_source"] = nan(
    "loss = (h.sum(1) * m).sum() / m.sum()  # here", "m = (x[:, 0] > 50).float()"
)
SICK["norm root of zero", "nan_source"] = nan("loss = ((h - h.detach()) ** 2).sum(1).sqrt().mean()  # here")
SICK["log of one minus p", "nan_source"] = nan(
    "loss = -torch.log(1 - p).mean()  # here", "p = torch.sigmoid(h * 1e4)"
)
SICK["reciprocal", "nan_source"] = nan("loss = (1 / torch.relu(h - 50)).mean()  # here")
SICK["log of softmax underflow", "nan_source"] = nan(
    "loss = -(p.log() * p).sum(1).mean()  # here", "p = F.softmax(h * 1e5, dim=1)"
)
SICK["pow with negative base", "nan_source"] = nan("loss = (h ** 0.5).mean()  # here")
SICK["softmax of all masked", "nan_source"] = nan(
    "loss = s.softmax(1).mean()  # here", 's = h.masked_fill(torch.ones_like(h).bool(), float("-inf"))'
)


def kept(init: str, line: str, before: str = "") -> str:
    """A training that keeps something of every step."""
    return (
        before
        + f"""
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
{init}
for step in range(24):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad(); loss.backward(); opt.step()
    {line}
"""
    )


SICK["history dict", "kept_graph"] = kept('history = {"loss": []}', 'history["loss"].append(loss)  # here')
SICK["meter", "kept_graph"] = kept(
    "meter = Meter()",
    "meter.update(loss, len(x))",
    """
class Meter:
    def __init__(self):
        self.sum, self.n = 0.0, 0
    def update(self, value, n):
        self.sum += value * n  # here
        self.n += n
""",
)
SICK["ema of loss", "kept_graph"] = kept("smooth = 0.0", "smooth = 0.9 * smooth + 0.1 * loss  # here")
SICK["inside a function", "kept_graph"] = """
def train(net, opt):
    total = 0
    for step in range(24):
        x = torch.randn(32, 6)
        loss = F.mse_loss(net(x), x[:, :2])
        opt.zero_grad(); loss.backward(); opt.step()
        total = total + loss  # here
    return total / 24
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
print(float(train(net, opt)))
"""
SICK["clip after scaler step", "clip_after_step"] = """
net = nn.Linear(6, 2)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu")
for step in range(12):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here
"""
SICK["clip before backward", "clip_after_step"] = """
from torch.nn.utils import clip_grad_norm_
net = nn.Linear(6, 2)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad()
    clip_grad_norm_(net.parameters(), 1.0)  # here
    loss.backward()
    opt.step()
"""
SICK["value clip too small", "clip_too_small"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(60):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), 3 * x[:, :2])
    opt.zero_grad(); loss.backward()
    torch.nn.utils.clip_grad_value_(net.parameters(), clip_value=1e-6)  # here
    opt.step()
"""
SICK["value clip before unscale", "clip_before_unscale"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-1)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
for step in range(12):
    x = torch.randn(32, 6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad()
    scaler.scale(loss).backward()
    nn.utils.clip_grad_value_(net.parameters(), 0.5)  # here
    scaler.step(opt)
    scaler.update()
"""
SICK["unscaled loss backward", "scaler_misused"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-1)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
for step in range(12):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad()
    scaler.scale(loss)
    loss.backward()  # here
    scaler.step(opt)  # here
    scaler.update()
"""
SICK["no update", "scaler_misused"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-1)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
for step in range(12):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad()
    scaler.scale(loss).backward()  # here
    scaler.step(opt)  # here
"""
SICK["unscale twice", "scaler_misused"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-1)
scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
for step in range(12):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    scaler.unscale_(opt)  # here
    scaler.step(opt)
    scaler.update()
"""
SICK["overlapping subsets", "validation_leak"] = """
x = torch.randn(300, 6); y = x[:, 0] + 0.1 * torch.randn(300)
data = TensorDataset(x, y)
train_set = Subset(data, range(0, 240))
val_set = Subset(data, range(200, 300))  # here
train_loader = DataLoader(train_set, batch_size=128, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)  # here
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
def validate():
    net.eval()
    with torch.no_grad():
        return sum(F.mse_loss(net(a).squeeze(1), b).item() for a, b in val_loader)
for epoch in range(5):
    net.train()
    for a, b in train_loader:
        loss = F.mse_loss(net(a).squeeze(1), b)
        opt.zero_grad(); loss.backward(); opt.step()
    print(validate())
"""
SICK["two random splits", "validation_leak"] = (
    SICK["overlapping subsets", "validation_leak"]
    .replace("train_set = Subset(data, range(0, 240))", "train_set, _ = random_split(data, [240, 60])")
    .replace("val_set = Subset(data, range(200, 300))", "_, val_set = random_split(data, [200, 100])")
)
SICK["duplicates before the split", "validation_leak"] = """
x = torch.randn(200, 6); y = (x[:, 0] > 0.8).long()
rare = (y == 1).nonzero().flatten()
x = torch.cat([x, x[rare].repeat(4, 1)]); y = torch.cat([y, y[rare].repeat(4)])  # here
order = torch.randperm(len(x))
train_idx, val_idx = order[:-80], order[-80:]  # here
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(5):
    for i in train_idx[torch.randperm(len(train_idx))].split(32):
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        print((net(x[val_idx]).argmax(1) == y[val_idx]).float().mean())
"""
SICK["windows of a series, conv", "validation_leak"] = """
t = torch.arange(600) * 0.07
series = torch.sin(t) + 0.3 * torch.randn(600)
W = 24
xs = torch.stack([series[i:i + W] for i in range(0, 600 - W - 1, 2)]).unsqueeze(1)
ys = torch.stack([series[i + W] for i in range(0, 600 - W - 1, 2)])
perm = torch.randperm(len(xs))
tr, te = perm[:220], perm[220:]  # here
x_tr, y_tr, x_te, y_te = xs[tr], ys[tr], xs[te], ys[te]  # here
net = nn.Sequential(nn.Conv1d(1, 8, 5), nn.ReLU(), nn.Flatten(), nn.Linear(160, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    for i in torch.randperm(len(x_tr)).split(32):
        loss = F.mse_loss(net(x_tr[i]).squeeze(1), y_tr[i])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        test = F.mse_loss(net(x_te).squeeze(1), y_te)
"""
SICK["val raw, train divided", "validation_scaled_otherwise"] = """
imgs = (torch.rand(300, 1, 8, 8) * 255).round(); y = (imgs.mean((1, 2, 3)) > 127).long()
x_train = imgs[:240] / 255.0
x_test = imgs[240:]  # here
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for i in torch.randperm(240).split(32):
        loss = F.cross_entropy(net(x_train[i]), y[i])
        opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    print(F.cross_entropy(net(x_test), y[240:]).item())
"""
SICK["val standardised by itself, loader", "validation_scaled_otherwise"] = """
def table(n, shift):
    x = torch.randn(n, 5) * 3 + shift
    return x, x[:, 0] - shift
class Table(Dataset):
    def __init__(self, x, y):
        self.x = (x - x.mean(0)) / x.std(0)  # here
        self.y = y
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return self.x[i], self.y[i]
train = DataLoader(Table(*table(320, 1.0)), batch_size=32, shuffle=True)
valid = DataLoader(Table(*table(90, 4.0)), batch_size=30)  # here
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for a, b in train:
        loss = F.mse_loss(net(a).squeeze(1), b)
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        print(sum(F.mse_loss(net(a).squeeze(1), b).item() for a, b in valid))
"""
SICK["val shares the transform", "validation_augmented"] = """
class Pics(Dataset):
    def __init__(self, x, y, train_transform=None):
        self.x, self.y, self.t = x, y, train_transform
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        return (self.t(self.x[i]) if self.t else self.x[i]), self.y[i]
def flip_and_noise(img):
    if torch.rand(1) < 0.5: img = img.flip(-1)
    return img + 0.1 * torch.randn_like(img)
def main():
    x = torch.rand(160, 1, 8, 8); y = (x.mean((1, 2, 3)) > 0.5).long()
    train_ds = Pics(x[:120], y[:120], flip_and_noise)
    val_ds = Pics(x[120:], y[120:], flip_and_noise)  # here
    train_dl = DataLoader(train_ds, batch_size=24, shuffle=True)
    val_dl = DataLoader(dataset=val_ds, batch_size=20, shuffle=False)  # here
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(3):
        net.train()
        for a, b in train_dl:
            loss = F.cross_entropy(net(a), b)
            opt.zero_grad(); loss.backward(); opt.step()
        net.eval()
        with torch.no_grad():
            for a, b in val_dl:
                out = net(a)
main()
"""
SICK["window holds the target", "target_among_features"] = """
series = torch.randn(400).cumsum(0) * 0.1
W = 12
x = torch.stack([series[i:i + W + 1] for i in range(380)])  # here
y = torch.stack([series[i + W] for i in range(380)]).clone()
net = nn.Sequential(nn.Linear(W + 1, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(4):
    for i in torch.randperm(380).split(38):
        pred = net(x[i]).squeeze(-1)
        loss = F.mse_loss(pred, y[i])
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["label column, dataset class", "target_among_features"] = """
class Rows(Dataset):
    def __init__(self, n):
        self.t = torch.randn(n, 5)
        self.t[:, 4] = (self.t[:, 0] > 0).float()
    def __len__(self): return len(self.t)
    def __getitem__(self, i): return self.t[i], self.t[i, 4].long().clone()  # here
loader = DataLoader(Rows(200), batch_size=20, shuffle=True)  # here
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for a, b in loader:
        loss = F.cross_entropy(net(a), b)
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["global generator", "same_random_workers"] = """
rng = np.random.default_rng(3)  # here
class Noisy(Dataset):
    def __len__(self): return 64
    def __getitem__(self, i):
        return torch.full((4,), float(i)) + torch.from_numpy(rng.normal(size=4)).float()  # here
if __name__ == "__main__":
    loader = DataLoader(Noisy(), batch_size=8, num_workers=2)  # here
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=1e-5)
    for x in loader:
        loss = net(x).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["partial seeds", "same_random_workers"] = """
from functools import partial
def seed_worker(worker_id, seed):
    np.random.seed(seed); torch.manual_seed(seed)
class Noisy(Dataset):
    def __len__(self): return 64
    def __getitem__(self, i):
        return torch.full((4,), float(i)) + torch.randn(4)
if __name__ == "__main__":
    init = partial(seed_worker, seed=1)
    loader = DataLoader(Noisy(), batch_size=8, num_workers=2, worker_init_fn=init)  # here
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=1e-5)
    for x in loader:
        loss = net(x).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
"""
LM = """
class GPT(nn.Module):
    def __init__(self, V=11, T=8, D=16):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, D), nn.Embedding(32, D)
        self.layer = nn.TransformerEncoderLayer(D, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(D, V)
    def forward(self, idx, targets=None):
        B, T = idx.shape
        x = self.tok(idx) + POS
        mask = nn.Transformer.generate_square_subsequent_mask(T)
        logits = self.head(self.layer(x, src_mask=mask))
        if targets is None: return logits
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))
net = GPT()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(20):
    text = torch.randint(0, 11, (12, 9))
    logits, loss = net(text[:, :-1], TARGETS)
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["positions by tokens in a GPT", "positions_indexed"] = LM.replace(
    "POS", "self.pos(idx)  # here"
).replace("TARGETS", "text[:, 1:]")
SICK["positions by rows in a GPT", "positions_indexed"] = LM.replace(
    "POS", "self.pos(torch.arange(B))[:, None]  # here"
).replace("TARGETS", "text[:, 1:]")
SICK["one position in a GPT", "positions_indexed"] = LM.replace(
    "POS", "self.pos(torch.tensor(T - 1))  # here"
).replace("TARGETS", "text[:, 1:]")
SICK["targets not shifted", "bad_labels"] = (
    LM.replace("POS", "self.pos(torch.arange(T))")
    .replace("TARGETS", "text[:, :-1]")
    .replace("targets.reshape(-1))", "targets.reshape(-1))  # here")
)
SICK["classes from one", "bad_labels"] = """
x = torch.randn(400, 6); y = x[:, :4].argmax(1) + 1
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
crit = nn.CrossEntropyLoss()
for epoch in range(3):
    for i in torch.randperm(400).split(40):
        loss = crit(net(x[i]), y[i])  # here
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["labels -1 and 1", "bad_labels"] = """
x = torch.randn(400, 6); y = torch.sign(x[:, 0])
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
crit = nn.BCEWithLogitsLoss()
for epoch in range(3):
    for i in torch.randperm(400).split(40):
        loss = crit(net(x[i]).squeeze(1), y[i])  # here
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["labels out of range", "bad_labels"] = """
x = torch.randn(400, 6); y = x[:, :4].argmax(1) + 1
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for i in torch.randperm(400).split(40):
        loss = F.cross_entropy(net(x[i]), y[i])  # here
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["multi-hot to cross entropy", "bad_labels"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6); y = (x[:, :5] > 0).float()
    loss = F.cross_entropy(net(x), y)  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["relu logits by clamp", "activation_on_logits"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, 3)
    def forward(self, x):
        return self.b(self.a(x).relu()).clamp(min=0)  # here
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(1))  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["sigmoid for unbounded targets", "activation_on_logits"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())  # here
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6)
    loss = F.l1_loss(net(x), 10 * x[:, :1] + 20)
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["tanh before cross entropy", "activation_on_logits"] = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3), nn.Tanh())  # here
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6)
    loss = nn.CrossEntropyLoss()(net(x), x[:, :3].argmax(1))
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["dropout before log_softmax", "dropout_at_output"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 16), nn.Linear(16, 3)
    def forward(self, x):
        x = self.b(self.a(x).relu())
        x = F.dropout(x, 0.5, training=self.training)  # here
        return F.log_softmax(x, dim=1)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(32, 6)
    loss = F.nll_loss(net(x), x[:, :3].argmax(1))  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["one cycle in epochs, stepped per batch", "schedule_length"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=5)  # here
for epoch in range(5):
    for step in range(10):
        x = torch.randn(32, 6)
        loss = F.mse_loss(net(x), x[:, :2])
        opt.zero_grad(); loss.backward(); opt.step()
        sched.step()  # here
"""
SICK["one cycle far too long", "schedule_length"] = """
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=20000)  # here
for step in range(60):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad(); loss.backward(); opt.step()
    sched.step()  # here
"""
SICK["linear warm-up never ends", "schedule_length"] = """
net = nn.Linear(6, 2)
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=1e-3, total_iters=5000)  # here
for step in range(60):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad(); loss.backward(); opt.step()
    sched.step()  # here
"""
SICK["cosine in steps, stepped per epoch", "schedule_length"] = """
loader = DataLoader(TensorDataset(torch.randn(320, 6)), batch_size=32, shuffle=True)
net = nn.Linear(6, 2)
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=6 * len(loader))  # here
for epoch in range(6):
    for (x,) in loader:
        loss = F.mse_loss(net(x), x[:, :2])
        opt.zero_grad(); loss.backward(); opt.step()
    sched.step()  # here
"""
SICK["sequential warm-up never ends", "schedule_length"] = """
net = nn.Linear(6, 2)
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
L = torch.optim.lr_scheduler
warm = L.LinearLR(opt, start_factor=0.01, total_iters=2000)  # here
sched = L.SequentialLR(opt, [warm, L.CosineAnnealingLR(opt, 100)], milestones=[2000])  # here
for step in range(60):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad(); loss.backward(); opt.step()
    sched.step()  # here
"""
SYNC = "target.load_state_dict(q.state_dict())"
GOAL = "with torch.no_grad(): goal = r + 0.9 * target(s2).max(1).values"
DQN = """
def make(): return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
q, target = make(), make()
INIT
opt = torch.optim.Adam(PARAMS, lr=1e-3)
for step in range(60):
    s, s2, r = torch.randn(32, 4), torch.randn(32, 4), torch.randn(32)
    GOAL
    loss = F.mse_loss(q(s)[:, 0], goal)
    opt.zero_grad(); loss.backward(); opt.step()
    UPDATE
"""


def dqn(init: str = SYNC, params: str = "q.parameters()", goal: str = GOAL, update: str = "pass") -> str:
    """A network that learns towards a copy of itself."""
    return DQN.replace("INIT", init).replace("PARAMS", params).replace("GOAL", goal).replace("UPDATE", update)


SICK["target not detached, rare sync", "target_network_trained"] = dqn(
    goal="goal = r + 0.9 * target(s2).max(1).values  # here",
    update="if step % 25 == 24: target.load_state_dict(q.state_dict())",
)
SICK["target in the optimiser, rare sync, no first sync", "target_network_trained"] = dqn(
    init="",
    params="[*q.parameters(), *target.parameters()]",
    goal="goal = r + 0.9 * target(s2).max(1).values  # here",
    update="if step % 25 == 24: target.load_state_dict(q.state_dict())",
).replace("lr=1e-3)", "lr=1e-3)  # here")
SICK["target never synced", "target_network_stands"] = dqn(
    goal="with torch.no_grad(): goal = r + 0.9 * target(s2).max(1).values  # here"
).replace("target.load", "target.load")
SICK["state dict changed, not loaded", "target_network_stands"] = dqn(
    goal="with torch.no_grad(): goal = r + 0.9 * target(s2).max(1).values  # here",
    update="""sd = target.state_dict()
    for k, v in q.state_dict().items():
        sd[k] = 0.9 * sd[k] + 0.1 * v  # here""",
)
EMA = """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
CREATE
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(60):
    x = torch.randn(32, 6)
    loss = F.mse_loss(net(x), x[:, :2])
    opt.zero_grad(); loss.backward(); opt.step()
    UPDATE
    if step % 20 == 19:
        with torch.no_grad(): print(F.mse_loss(EVAL(x), x[:, :2]).item())  # here2
"""
SICK["averaged model never updated", "target_network_stands"] = (
    EMA.replace(
        "CREATE", "from torch.optim.swa_utils import AveragedModel\nema_model = AveragedModel(net)  # here"
    )
    .replace("UPDATE", "pass")
    .replace("EVAL", "ema_model")
    .replace("here2", "here")
)
SICK["ema decay swapped by lerp", "ema_decay"] = (
    EMA.replace("CREATE", "ema = copy.deepcopy(net)")
    .replace(
        "UPDATE",
        """with torch.no_grad():
        for e, p in zip(ema.parameters(), net.parameters()):
            e.lerp_(p, 0.999)  # here""",
    )
    .replace("EVAL", "ema")
    .replace("here2", "x")
)
SICK["ema decay swapped, averaged model", "ema_decay"] = (
    EMA.replace(
        "CREATE",
        "from torch.optim.swa_utils import AveragedModel\n"
        "ema_model = AveragedModel(net, avg_fn=lambda a, p, n: 0.001 * a + 0.999 * p)  # here",
    )
    .replace("UPDATE", "ema_model.update_parameters(net)  # here")
    .replace("EVAL", "ema_model")
    .replace("here2", "x")
)
SICK["ema state dict swapped", "ema_decay"] = (
    EMA.replace("CREATE", "ema = {k: v.clone() for k, v in net.state_dict().items()}")
    .replace(
        "UPDATE",
        """for k, v in net.state_dict().items():
        ema[k] = 0.01 * ema[k] + 0.99 * v.detach()  # here""",
    )
    .replace("EVAL", "net")
    .replace("here2", "x")
)
SICK["retained state in attribute", "hidden_state_kept"] = """
class R(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out, self.h = nn.GRUCell(3, 8), nn.Linear(8, 1), None
    def forward(self, x):
        self.h = self.cell(x, self.h)  # here
        return self.out(self.h)
net = R()
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for epoch in range(3):
    net.h = None
    for step in range(4):
        x = torch.randn(8, 3)
        loss = net(x).square().mean()  # here
        loss.backward(retain_graph=True)  # here
    opt.step(); opt.zero_grad()
"""
SICK["lstm state in a tuple", "hidden_state_kept"] = """
lstm, head = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 1)
opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-3)
h = (torch.zeros(1, 4, 8), torch.zeros(1, 4, 8))
for step in range(6):
    x = torch.randn(4, 5, 3)
    out, h = lstm(x, h)  # here
    loss = head(out).square().mean()
    opt.zero_grad()
    loss.backward()  # here
    opt.step()
"""
SICK["frozen inside no_grad", "frozen_batchnorm_moves"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
        for p in self.backbone.parameters(): p.requires_grad = False
        self.head = nn.Linear(16, 2)
    def forward(self, x):
        with torch.no_grad():
            f = self.backbone(x)  # here
        return self.head(f)
net = Net()
opt = torch.optim.Adam(net.head.parameters(), lr=1e-3)
for epoch in range(3):
    net.train()  # here
    for step in range(8):
        x = torch.randn(32, 6)
        loss = F.mse_loss(net(x), x[:, :2])  # here
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK[".detach() in place", "inplace_saved_tensor"] = """
net = nn.Linear(6, 4)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(6):
    x = torch.randn(8, 6)
    h = torch.sigmoid(net(x))
    h.detach()[h.detach() < 0.5] = 0  # here
    loss = h.square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["leaky relu in place after sigmoid", "inplace_saved_tensor"] = """
net = nn.Linear(6, 4)
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for step in range(6):
    x = torch.randn(8, 6)
    h = torch.tanh(net(x))
    h = F.leaky_relu(h, 0.1, inplace=True)  # here
    loss = h.square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["weights updated in place by hand", "inplace_saved_tensor"] = """
w = torch.randn(6, 2, requires_grad=True)
for step in range(6):
    x = torch.randn(8, 6)
    loss = F.mse_loss(x @ w, x[:, :2])
    loss.backward()
    w -= 0.1 * w.grad  # here
    w.grad = None
"""
SICK["half model with adamw", "float16_underflow"] = """
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)).to(torch.float16)  # here
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)  # here
for step in range(30):
    x = torch.randn(32, 6)
    out = net(x.half())
    loss = F.cross_entropy(out.float(), x[:, :3].argmax(1))
    opt.zero_grad(); loss.backward()
    opt.step()  # here
"""
SICK["autocast float16, float32 loss", "float16_underflow"] = """
net = nn.Sequential(nn.Linear(6, 32), nn.Linear(32, 32), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(64, 6)
    with torch.autocast("cpu", dtype=torch.float16):  # here
        out = net(x)  # here
    loss = F.mse_loss(out.float() * 1e-4, x[:, :3] * 1e-4)  # here
    opt.zero_grad(); loss.backward()  # here
    opt.step()
"""
SICK["padded tags, pack", "padding_in_loss"] = """
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.o = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 4)
        self.r = nn.LSTM(8, 8, batch_first=True)
    def forward(self, w, n):
        p = pack_padded_sequence(self.e(w), n, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.r(p)[0], batch_first=True)
        return self.o(h)
net = Tagger(); opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    n = torch.randint(3, 12, (16,)); n[0] = 11
    w = pad_sequence([torch.randint(1, 20, (int(k),)) for k in n], batch_first=True)
    t = (w % 4) * (w > 0)
    loss = nn.CrossEntropyLoss()(net(w, n).transpose(1, 2), t)  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["seq2seq with keywords", "padding_in_loss"] = """
class S2S(nn.Module):
    def __init__(self, V=13, D=16):
        super().__init__()
        self.e = nn.Embedding(V, D, padding_idx=0)
        self.p = nn.Parameter(torch.randn(16, D) * 0.1)
        self.t = nn.Transformer(D, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.o = nn.Linear(D, V)
    def forward(self, src, tgt):
        m = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        a, b = self.e(src) + self.p[:src.shape[1]], self.e(tgt) + self.p[:tgt.shape[1]]
        return self.o(self.t(a, b, tgt_mask=m, src_key_padding_mask=src == 0, tgt_key_padding_mask=tgt == 0))
net = S2S(); opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    n = torch.randint(3, 9, (16, 1)); ids = torch.randint(3, 13, (16, 9)) * (torch.arange(9) < n)
    src, tgt = ids, torch.cat([torch.full((16, 1), 1), ids.flip(1).sort(1, descending=True).values], 1)
    out = net(src=src, tgt=tgt[:, :-1])
    loss = F.cross_entropy(out.reshape(-1, 13), tgt[:, 1:].reshape(-1))  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["ddp without sampler in main", "ddp_without_sampler"] = """
import os, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
dist.init_process_group("gloo", rank=0, world_size=1)
rank = dist.get_rank()
net = nn.parallel.DistributedDataParallel(nn.Linear(6, 2), device_ids=None)
loader = DataLoader(TensorDataset(torch.randn(64, 6)), batch_size=8, shuffle=True)  # here
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
for epoch in range(2):
    for (x,) in loader:
        loss = net(x).square().mean()
        opt.zero_grad(); loss.backward(); opt.step()
dist.destroy_process_group()
"""
SICK["float64 targets", "float64_by_accident"] = """
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4)); Y = X.sum(1, keepdims=True)
x = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(Y)  # here
net = nn.Linear(4, 1); opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for epoch in range(4):
    for i in torch.randperm(200).split(20):
        loss = F.mse_loss(net(x[i]), y[i])  # here
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["kl of scores", "kl_of_probabilities"] = """
teacher, net = nn.Linear(6, 4), nn.Linear(6, 4)
opt = torch.optim.SGD(net.parameters(), lr=1e-2); kl = nn.KLDivLoss(reduction="batchmean")
for step in range(12):
    x = torch.randn(32, 6)
    with torch.no_grad(): t = teacher(x).softmax(-1)
    loss = kl(net(x), t)  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["penalty from detached", "term_without_gradient"] = """
net = nn.Linear(6, 4); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(24):
    x = torch.randn(32, 6)
    with torch.no_grad():
        reg = sum(p.pow(2).sum() for p in net.parameters())  # here
    loss = torch.add(F.mse_loss(net(x), x[:, :4]), 0.01 * reg)  # here
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["pos_weight inverted, functional", "inverted_class_weights"] = """
x = torch.randn(600, 6); y = (x[:, 0] > 1.3).float()
w = torch.tensor([y.sum() / (1 - y).sum()])  # here
net = nn.Linear(6, 1); opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for i in torch.randperm(600).split(100):
        loss = F.binary_cross_entropy_with_logits(net(x[i]).squeeze(1), y[i], pos_weight=w)  # here
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["channels by view in data", "view_for_transpose"] = """
imgs = torch.rand(64, 10, 10, 3); y = (imgs[..., 0].mean((1, 2)) > 0.5).long()
x = imgs.reshape(64, 3, 10, 10)  # here
net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(3):
    for i in torch.randperm(64).split(16):
        loss = F.cross_entropy(net(x[i]), y[i])
        opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["sdpa mask inverted", "inverted_mask"] = (
    LM.replace(
        "self.layer = nn.TransformerEncoderLayer(D, 2, 32, dropout=0.0, batch_first=True)",
        "self.q = nn.Linear(D, 3 * D)",
    )
    .replace("POS", "self.pos(torch.arange(T))")
    .replace(
        """        mask = nn.Transformer.generate_square_subsequent_mask(T)
        logits = self.head(self.layer(x, src_mask=mask))""",
        """        q, k, v = self.q(x).chunk(3, -1)
        m = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        m, heads = m | torch.eye(T, dtype=torch.bool), (q[:, None], k[:, None], v[:, None])
        h = F.scaled_dot_product_attention(*heads, attn_mask=m)  # here
        logits = self.head(x + h[:, 0])""",
    )
    .replace("TARGETS", "text[:, 1:]")
)
SICK["masked_fill by lengths", "inverted_mask"] = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.o = nn.Linear(3, 8), nn.Linear(8, 2)
        self.a = nn.MultiheadAttention(8, 2, batch_first=True)
    def forward(self, x, n):
        h = self.e(x)
        real = torch.arange(x.shape[1]) < n[:, None]
        h, _ = self.a(h, h, h, key_padding_mask=real)  # here
        return self.o(h.mean(1))
net = Net(); opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    n = torch.randint(2, 8, (16,))
    x = torch.randn(16, 8, 3) * (torch.arange(8)[None, :, None] < n[:, None, None])
    loss = F.cross_entropy(net(x, n), (x[:, 0, 0] > 0).long())
    opt.zero_grad(); loss.backward(); opt.step()
"""
SICK["two optimisers share a trunk", "two_optimisers"] = """
trunk, a, b = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 1)
opt_a = torch.optim.Adam([*trunk.parameters(), *a.parameters()], lr=1e-3)  # here
opt_b = torch.optim.Adam([*trunk.parameters(), *b.parameters()], lr=1e-3)  # here
for step in range(12):
    x = torch.randn(32, 6)
    opt_a.zero_grad(); F.mse_loss(a(trunk(x).relu()), x[:, :1]).backward(); opt_a.step()  # here
    opt_b.zero_grad(); F.mse_loss(b(trunk(x).relu()), x[:, 1:2]).backward(); opt_b.step()  # here
"""
