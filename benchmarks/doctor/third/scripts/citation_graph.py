"""Two-layer GCN with a sparse adjacency."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(344)
N, CLASSES = 200, 4
label = torch.randint(0, CLASSES, (N,))
same = (label[:, None] == label[None, :]).float()
adj = (torch.rand(N, N) < 0.08 * same + 0.005).float()
adj = ((adj + adj.t() + torch.eye(N)) > 0).float()
deg = adj.sum(1)
norm = adj / (deg.sqrt()[:, None] * deg.sqrt()[None, :])
A = norm.to_sparse()
features = torch.randn(CLASSES, 8)[label] + 2.0 * torch.randn(N, 8)
order = torch.randperm(N)
train_mask = torch.zeros(N, dtype=torch.bool)
train_mask[order[:60]] = True
val_mask = ~train_mask


class GCN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.w1, self.w2 = nn.Linear(8, hidden), nn.Linear(hidden, CLASSES)

    def forward(self, A, x):
        h = F.relu(torch.sparse.mm(A, self.w1(x)))
        h = F.dropout(h, 0.3, training=self.training)
        return torch.sparse.mm(A, self.w2(h))


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(80):
    model.train()
    out = model(A, features)
    loss = F.cross_entropy(out[train_mask], label[train_mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 20 == 19:
        model.eval()
        with torch.no_grad():
            pred = model(A, features).argmax(dim=1)
        print(epoch, f"{loss.item():.3f} {(pred == label)[val_mask].float().mean().item():.3f}")
