"""Metric learning: embed badge scans so that those of one person are close."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, inputs=20, dim=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.layers(x), dim=1)


class CosineMargin(nn.Module):
    def __init__(self, people, dim=16, scale=5.0, margin=0.05):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(people, dim))
        self.scale, self.margin = scale, margin

    def forward(self, emb, who):
        cos = emb @ F.normalize(self.centres, dim=1).T
        cos = cos - self.margin * F.one_hot(who, cos.size(1))
        return F.cross_entropy(self.scale * cos, who)


def scans(n, prototypes):
    who = torch.randint(0, len(prototypes), (n,))
    return (prototypes[who] + 0.9 * torch.randn(n, 20)) / 1.35, who


def main():
    torch.manual_seed(2115)
    prototypes = torch.randn(12, 20)
    x, who = scans(960, prototypes)
    net = Embedder()
    loss_fn = CosineMargin(12)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(8):
        losses = []
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            loss = loss_fn(net(x[idx]), who[idx])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")
    gallery, names = scans(120, prototypes)
    query, truth = scans(120, prototypes)
    with torch.no_grad():
        nearest = (net(query) @ net(gallery).T).argmax(1)
    print("retrieval", (names[nearest] == truth).float().mean().item())


main()
