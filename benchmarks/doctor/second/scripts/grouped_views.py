import torch
import torch.nn as nn
import torch.nn.functional as F

SEED, KINDS, DIM = 61, 5, 20


def supervised_contrast(z, y, tau=0.2):
    """Khosla et al.: pull together all rows of the same kind in the batch."""
    sim = z @ z.T / tau
    me = torch.eye(len(z), dtype=torch.bool)
    logp = sim - torch.logsumexp(sim.masked_fill(me, -1e9), dim=1, keepdim=True)
    same = (y[:, None] == y[None, :]) & ~me
    return -((logp * same).sum(1) / same.sum(1).clamp_min(1)).mean()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def rows(n, mix):
    y = torch.randint(0, KINDS, (n,))
    hidden = torch.zeros(n, DIM)
    hidden[torch.arange(n), y] = 2.5 * torch.sign(torch.randn(n))
    return (hidden + torch.randn(n, DIM)) @ mix / 1.2, y


def main():
    torch.manual_seed(SEED)
    mix = torch.linalg.qr(torch.randn(DIM, DIM))[0]
    x, y = rows(1500, mix)
    xt, yt = rows(300, mix)
    model = Embedder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(12):
        model.train()
        losses = []
        for idx in torch.randperm(len(x)).split(100):
            optimizer.zero_grad()
            loss = supervised_contrast(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            z, zt = model(x), model(xt)
            near = y[(zt @ z.T).topk(9, dim=1).indices].mode(1).values
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f} neighbours agree {(near == yt).float().mean():.3f}")


if __name__ == "__main__":
    main()
