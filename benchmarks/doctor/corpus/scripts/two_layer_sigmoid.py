import torch
import torch.nn as nn

torch.manual_seed(38)


class TwoLayer(nn.Module):
    def __init__(self, d_in, d_hidden, d_out):
        super().__init__()
        self.fc1 = nn.Linear(d_in, d_hidden)
        self.act = nn.Sigmoid()
        self.fc2 = nn.Linear(d_hidden, d_out)
        nn.init.normal_(self.fc1.weight, 0.0, 4.0)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


n = 600
x = torch.randn(n, 20)
w = torch.randn(20) / 20**0.5
y = ((x @ w).sin() > 0).long()

model = TwoLayer(20, 48, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(15):
    order = torch.randperm(480)
    for i in range(0, 480, 48):
        b = order[i : i + 48]
        optimizer.zero_grad()
        loss = criterion(model(x[b]), y[b])
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", round(loss.item(), 4))
with torch.no_grad():
    print("test acc", (model(x[480:]).argmax(1) == y[480:]).float().mean().item())
