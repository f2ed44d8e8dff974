"""Pairwise preference model: the better item of each pair should score higher."""
import torch
import torch.nn.functional as F
from torch import nn


class RewardModel(nn.Module):
    def __init__(self, features: int = 8, hidden: int = 32) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.SiLU(), nn.Linear(hidden, 1))

    def forward(self, item: torch.Tensor) -> torch.Tensor:
        return self.net(item).squeeze(-1)


def draw_pairs(n: int, taste: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = torch.randn(n, 8), torch.randn(n, 8)
    a_wins = (a @ taste > b @ taste).unsqueeze(1)
    return torch.where(a_wins, a, b), torch.where(a_wins, b, a)


def optimise(loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main() -> None:
    torch.manual_seed(17)
    taste = torch.randn(8)
    model = RewardModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(120):
        better, worse = draw_pairs(64, taste)
        loss = -F.logsigmoid(model(better) - model(worse)).mean()
        value = optimise(loss, optimizer)
        optimizer.step()
        if step % 30 == 0:
            print(f"step {step:3d} loss {value:.3f}")
    with torch.no_grad():
        better, worse = draw_pairs(500, taste)
        print("pairs ordered correctly:", (model(better) > model(worse)).float().mean().item())


main()
