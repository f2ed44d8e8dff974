import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, padding=1)
        self.norm = nn.GroupNorm(4, 16)
        self.fc = nn.Linear(400, 6)

    def forward(self, x):
        return self.fc(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2).flatten(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    y = torch.randint(0, 6, (1500,))
    x = torch.randn(6, 1, 10, 10)[y] + 1.2 * torch.randn(1500, 1, 10, 10)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    for epoch in range(args.epochs):
        model.train()
        for idx in torch.randperm(1200).split(40):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.amp):
                logits = model(x[idx])
            loss = F.cross_entropy(logits.float(), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(epoch, f"{(model(x[1200:]).argmax(1) == y[1200:]).float().mean():.3f}")


if __name__ == "__main__":
    main()
