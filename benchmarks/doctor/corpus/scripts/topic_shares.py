import torch
import torch.nn as nn


class ShareNet(nn.Module):
    """Predicts non-negative class shares that sum to one."""

    def __init__(self, features=10, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(features, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        share = torch.relu(self.fc2(torch.tanh(self.fc1(x))))
        return share / (share.sum(dim=1, keepdim=True) + 1e-6)


def likelihood_loss(share, label):
    picked = share.gather(1, label.unsqueeze(1)).squeeze(1)
    return -torch.log(picked).mean()


def batches(x, y, size):
    for idx in torch.randperm(len(x)).split(size):
        yield x[idx], y[idx]


def main():
    torch.manual_seed(27)
    label = torch.randint(0, 4, (400,))
    x = torch.randn(4, 10)[label] + 0.6 * torch.randn(400, 10)
    model = ShareNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    for epoch in range(10):
        losses = []
        for xb, yb in batches(x[:320], label[:320], 40):
            loss = likelihood_loss(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: nll {sum(losses) / len(losses):.3f}")
    with torch.no_grad():
        hits = (model(x[320:]).argmax(1) == label[320:]).float().mean().item()
    print("accuracy", hits)


main()
