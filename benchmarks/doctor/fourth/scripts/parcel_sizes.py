import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Parcels(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(2)
        self.size = 0.2 + torch.rand(n, 3, generator=g)
        volume = self.size.prod(1)
        edges = torch.quantile(volume, torch.tensor([1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6]))
        self.grade = torch.bucketize(volume, edges) + 1

    def __len__(self):
        return len(self.grade)

    def __getitem__(self, i):
        return self.size[i], self.grade[i]


torch.manual_seed(0)
train_loader = DataLoader(Parcels(900), batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 6))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for size, grade in train_loader:
        optimizer.zero_grad()
        output = model(size)
        loss = loss_fn(output, grade)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
