import torch
import torch.nn as nn
import torch.nn.functional as F


class Hills(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 64)
        self.fc2 = nn.Linear(64, 4)
        nn.init.xavier_uniform_(self.fc1.weight)
        nn.init.constant_(self.fc1.bias, -12.0)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def main():
    torch.manual_seed(0)
    x = torch.randn(1600, 10)
    y = (x @ torch.randn(10, 4)).argmax(1)
    model = Hills()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(6):
        hits = 0
        for idx in torch.randperm(1600).split(40):
            out = model(x[idx])
            loss = F.cross_entropy(out, y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits += (out.argmax(1) == y[idx]).sum().item()
        print(f"epoch {epoch}: {loss.item():.4f} {hits / 1600:.3f}")


main()
