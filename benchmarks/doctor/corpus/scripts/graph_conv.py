import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(150)

# stochastic block model with four communities
N, K = 240, 4
community = torch.randint(0, K, (N,))
same = community[:, None] == community[None]
edges = (torch.rand(N, N) < torch.where(same, 0.12, 0.01)).float().triu(1)
A = edges + edges.t() + torch.eye(N)
d = A.sum(1).rsqrt()
A_hat = d[:, None] * A * d[None]
X = torch.randn(K, 16)[community] * 0.5 + torch.randn(N, 16)
shuffled = torch.randperm(N)
train_mask, test_mask = torch.zeros(N, dtype=torch.bool), torch.zeros(N, dtype=torch.bool)
train_mask[shuffled[:60]] = True
test_mask[shuffled[60:]] = True


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(16, 24)
        self.w2 = nn.Linear(24, K)

    def forward(self, a, x):
        h = F.relu(a @ self.w1(x))
        h = F.dropout(h, 0.3, training=self.training)
        return a @ self.w2(h)


gcn = GCN()
optimizer = torch.optim.Adam(gcn.parameters(), lr=1e-2)
for epoch in range(101):
    gcn.train()
    optimizer.zero_grad()
    out = gcn(A_hat, X)
    loss = F.cross_entropy(out[train_mask], community[train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 20 == 0:
        gcn.eval()
        with torch.no_grad():
            pred = gcn(A_hat, X).argmax(1)
        acc = (pred == community)[test_mask].float().mean().item()
        print(f"epoch {epoch:3d} loss {loss.item():.3f} test accuracy {acc:.3f}")
