"""A GRU language model over knitting stitches with shared input and output vectors."""
import torch
import torch.nn as nn
import torch.nn.functional as F

STITCHES, DIM, LENGTH = 40, 64, 20


class StitchModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(STITCHES, DIM)
        self.gru = nn.GRU(DIM, DIM, batch_first=True)
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, STITCHES, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, idx):
        h, _ = self.gru(self.embed(idx))
        return self.head(self.norm(h))


def rows(n, table):
    out = [torch.randint(0, STITCHES, (n,))]
    for _ in range(LENGTH):
        out.append(torch.multinomial(table[out[-1]], 1).squeeze(1))
    return torch.stack(out, 1)


def loss_of(model, batch):
    logits = model(batch[:, :-1])
    return F.cross_entropy(logits.reshape(-1, STITCHES), batch[:, 1:].reshape(-1))


torch.manual_seed(2113)
table = torch.softmax(2.5 * torch.randn(STITCHES, STITCHES), dim=1)
train, valid = rows(768, table), rows(128, table)
model = StitchModel()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    for idx in torch.randperm(len(train)).split(48):
        loss = loss_of(model, train[idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    with torch.no_grad():
        print(f"epoch {epoch} train {loss.item():.3f} valid {loss_of(model, valid).item():.3f}")
