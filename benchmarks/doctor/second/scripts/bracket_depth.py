import torch
import torch.nn as nn

CFG = {
    "hidden": 32,
    "lr": 0.3,
    "batch": 64,
    "steps": 120,
    "length": 14,
}


class BracketGRU(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embed = nn.Embedding(2, 8)
        self.gru = nn.GRU(8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, s):
        states, _ = self.gru(self.embed(s))
        return self.out(states).squeeze(-1)


def strings(n, length):
    """0 opens a bracket and 1 closes one; the target is the depth so far"""
    s = torch.randint(0, 2, (n, length))
    depth = (1 - 2 * s).cumsum(1).float()
    return s, depth / 2.7


def train(cfg):
    torch.manual_seed(2124)
    model = BracketGRU(cfg["hidden"])
    optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg["lr"])
    for step in range(cfg["steps"]):
        s, depth = strings(cfg["batch"], cfg["length"])
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(s), depth)
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:4d} mse {loss.item():.4f}")
    return model


model = train(CFG)
s, depth = strings(256, CFG["length"])
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(model(s), depth).item())
