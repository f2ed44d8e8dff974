import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(10)
PAD = 0


class Attend(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, real):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=real[:, None, None, :])
        return self.proj(out.transpose(1, 2).reshape(b, t, d))


class Counter(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(8, dim)
        self.attend = Attend(dim, 4)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        real = ids != PAD
        x = self.embed(ids)
        x = self.norm(x + self.attend(x, real))
        weight = real.unsqueeze(-1).float()
        return self.head((x * weight).sum(1) / weight.sum(1))


def posts(n, longest=12):
    ids = torch.randint(1, 8, (n, longest))
    length = torch.randint(4, longest + 1, (n, 1))
    ids[torch.arange(longest) >= length] = PAD
    return ids, ((ids == 2).sum(1) > (ids == 5).sum(1)).long()


x, y = posts(1500)
xv, yv = posts(400)
model = Counter()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(5):
    for idx in torch.randperm(len(x)).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f} acc {acc:.3f}")
