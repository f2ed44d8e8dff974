import torch
import torch.nn.functional as F


def make_students(n):
    hours = torch.randn(n, 1)
    sleep = torch.randn(n, 1)
    habits = torch.randn(n, 4)
    ability = 1.5 * hours + sleep - 0.5 * hours * sleep + habits[:, :1]
    outcome = torch.sigmoid(ability) * 0.999
    x = torch.cat([hours, sleep, habits], dim=1)
    return x, outcome.squeeze(1).long()


class Exam(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(6, 24)
        self.fc2 = torch.nn.Linear(24, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def main():
    torch.manual_seed(75)
    x, y = make_students(500)
    x_val, y_val = make_students(100)
    model = Exam()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        epoch_loss = 0.0
        for idx in torch.randperm(500).split(50):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item() / 10
        with torch.no_grad():
            val = (model(x_val).argmax(1) == y_val).float().mean().item()
        if epoch % 2 == 0:
            print(f"epoch {epoch}: train loss {epoch_loss:.4f}, val accuracy {val:.2f}")


main()
