"""Sum of digits: short sequences first, long ones later."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Adder(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(6, 8)
        self.gru = nn.GRU(8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, digits):
        return self.out(self.gru(self.embed(digits))[1][0]).squeeze(1)


def problems(n, longest=10):
    length = torch.randint(2, longest + 1, (n,))
    digits = torch.randint(1, 6, (n, longest)) * (torch.arange(longest) < length[:, None])
    return digits, (digits.sum(1).float() - 18) / 9, length


torch.manual_seed(143)
digits, total, length = problems(800)
test_digits, test_total, _ = problems(200)
model = Adder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(9):
    limit = min(10, 4 + 2 * (epoch // 2))
    pool = (length <= limit).nonzero().flatten()
    losses = []
    for idx in pool[torch.randperm(len(pool))].split(40):
        loss = F.mse_loss(model(digits[idx]), total[idx])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        test = F.mse_loss(model(test_digits), test_total).item()
    print(f"epoch {epoch} up to {limit:2d} digits: train {sum(losses) / len(losses):.4f} all {test:.4f}")
