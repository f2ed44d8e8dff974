import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(1000, 6)
Y = (X[:, 0] > X[:, 1]).long()
dataloader = DataLoader(TensorDataset(X, Y), batch_size=20, shuffle=True)

net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(8):
    running_loss = 0.0
    for i, data in enumerate(dataloader, 0):
        inputs, labels = data
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward
        optimizer.step()
        running_loss += loss.item()
    print("[%d] loss: %.3f" % (epoch + 1, running_loss / len(dataloader)))
print("Finished Training")
net.eval()
with torch.no_grad():
    probe = torch.randn(500, 6)
    share = (net(probe).argmax(1) == (probe[:, 0] > probe[:, 1]).long()).float().mean()
print("accuracy on new rows: %.3f" % share)
