"""Next-step prediction on sequences of dance moves with a small decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

MOVES, CONTEXT = 12, 16


def routines(n):
    seq = [torch.randint(0, MOVES, (n,)), torch.randint(0, MOVES, (n,))]
    for _ in range(CONTEXT - 1):
        nxt = (seq[-1] + 2 * seq[-2] + 1) % MOVES
        free = torch.rand(n) < 0.35
        seq.append(torch.where(free, torch.randint(0, MOVES, (n,)), nxt))
    return torch.stack(seq, dim=1)


class Head4(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        mask = torch.triu(torch.ones(CONTEXT, CONTEXT), diagonal=2).bool()
        self.register_buffer("mask", mask)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        att = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        att = att.masked_fill(self.mask[:t, :t], float("-inf")).softmax(-1)
        return self.proj((att @ v).transpose(1, 2).reshape(b, t, d))


class Decoder(nn.Module):
    def __init__(self, dim=32, depth=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(MOVES, dim), nn.Embedding(CONTEXT, dim)
        self.att = nn.ModuleList(Head4(dim) for _ in range(depth))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
            for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.head = nn.Linear(dim, MOVES)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for norm, att, mlp in zip(self.norms, self.att, self.mlp):
            x = x + att(norm(x))
            x = x + mlp(x)
        return self.head(x)


torch.manual_seed(2104)
model = Decoder()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(160):
    batch = routines(48)
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, MOVES), batch[:, 1:].reshape(-1))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    if it % 40 == 0 or it == 159:
        print(it, round(loss.item(), 4))
