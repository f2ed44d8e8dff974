import torch
from torch import nn

torch.manual_seed(29)


class DepthNet(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = [nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])]
        self.norm = nn.LayerNorm(sizes[-1])
        self.readout = nn.Linear(sizes[-1], 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.readout(self.norm(x)).squeeze(-1)


def drill(n):
    place = torch.rand(n, 2) * 4 - 2
    depth = torch.sin(2 * place[:, 0]) * torch.cos(1.5 * place[:, 1]) + 0.3 * place[:, 0]
    return place, depth + 0.02 * torch.randn(n)


def main(epochs=8, batch_size=32, lr=4e-3):
    x, y = drill(1200)
    x_test, y_test = drill(300)
    model = DepthNet([2, 24, 24, 24])
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    print(sum(p.numel() for p in model.parameters()), "parameters")
    for epoch in range(1, epochs + 1):
        model.train()
        for idx in torch.randperm(len(x)).split(batch_size):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            error = nn.functional.mse_loss(model(x_test), y_test)
        print(f"epoch {epoch} train {loss.item():.4f} test {error:.4f}")


if __name__ == "__main__":
    main()
