import torch
import torch.nn as nn


class Owls(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 32, batch_first=True)
        self.fc = nn.Linear(32, 5)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.softmax(self.fc(h[-1]))


torch.manual_seed(0)
y = torch.randint(0, 5, (1000,))
t = torch.arange(12).view(1, 12, 1) * 0.5
x = torch.sin(t * (1 + y.view(-1, 1, 1).float()) + torch.arange(4)) + 0.5 * torch.randn(1000, 12, 4)
model = Owls()
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    hits = 0
    for idx in torch.randperm(1000).split(25):
        output = model(x[idx])
        loss = criterion(output, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (output.argmax(1) == y[idx]).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {hits / 1000:.3f}")
