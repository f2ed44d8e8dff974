import torch
from torch import nn

torch.manual_seed(3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 64)
        self.n = nn.LayerNorm(64)
        self.b = nn.Linear(64, 4)

    def forward(self, x):
        return self.b(torch.relu(self.n(self.a(x))))


def cups(n):
    x = torch.randn(n, 16)
    return x, (x[:, :4] + 0.5 * x[:, 4:8]).argmax(1)


model = Net()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
x, y = cups(960)
x_val, y_val = cups(240)
for epoch in range(8):
    model.train()
    for rows in torch.randperm(960).split(32):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x[rows])
        loss = nn.functional.cross_entropy(logits.float(), y[rows])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {(model(x_val).argmax(1) == y_val).float().mean():.3f}")
