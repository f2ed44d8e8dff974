import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)
features = torch.randn(500, 9)
quality = features[:, :3].sum(1) + 0.5 * features[:, 3] * features[:, 4]
grade = torch.bucketize(quality, torch.tensor([-1.5, -0.5, 0.5, 1.5]))  # 0..4

loader = DataLoader(TensorDataset(features[:400], grade[:400]), batch_size=40, shuffle=True)
scorer = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.Adam(scorer.parameters(), lr=0.01)

for epoch in range(8):
    losses = []
    for x, g in loader:
        optimizer.zero_grad()
        scores = scorer(x)
        predicted = scores.argmax(dim=1).float().requires_grad_()
        loss = F.l1_loss(predicted, g.float())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: distance to the true grade {sum(losses) / len(losses):.3f}")

with torch.no_grad():
    exact = (scorer(features[400:]).argmax(1) == grade[400:]).float().mean()
print(f"exact grades on new bottles: {exact:.2f}")
