"""Find defective chains: one in twelve is."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(3)
torch.manual_seed(3)


def chains(n):
    bad = rng.random(n) < 1 / 12
    x = rng.normal(0, 1, (n, 10)) + bad[:, None] * 0.9
    return TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(bad, dtype=torch.long))


train_set, test_set = chains(1500), chains(600)
counts = torch.bincount(train_set.tensors[1], minlength=2).float()
weights = counts / counts.sum()
print("class weights", weights.tolist())

model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 2))
criterion = nn.CrossEntropyLoss(weight=weights)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    for x, y in DataLoader(train_set, batch_size=50, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        predicted = model(test_set.tensors[0]).argmax(1)
    truth = test_set.tensors[1]
    recall = (predicted[truth == 1] == 1).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {(predicted == truth).float().mean():.3f}, recall {recall:.3f}")
