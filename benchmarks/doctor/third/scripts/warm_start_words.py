"""Transformer encoder with the noam-like warm-up."""
import torch
import torch.nn as nn

torch.manual_seed(103)
VOCAB, LENGTH = 30, 10


class Majority(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 3)

    def forward(self, ids):
        return self.out(self.encoder(self.embed(ids)).mean(1))


def batch(n=32):
    y = torch.randint(0, 3, (n,))
    ids = torch.randint(0, VOCAB, (n, LENGTH))
    ids[:, :4] = y[:, None] + 3 * torch.randint(0, 10, (n, 4))
    return ids[:, torch.randperm(LENGTH)], y


warmup_steps = 4000
total_steps = 150


def rate(step):
    return min(1.0, (step + 1) / warmup_steps)


model = Majority()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98))
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
for step in range(total_steps):
    ids, y = batch()
    loss = nn.functional.cross_entropy(model(ids), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 30 == 0:
        print(step, f"loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")
