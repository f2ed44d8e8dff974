"""Two-layer graph convolution on a stochastic block graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(a, b))
        self.bias = nn.Parameter(torch.zeros(b))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.gc1, self.gc2 = GraphConv(features, hidden), GraphConv(hidden, classes)

    def forward(self, x, adj):
        x = F.relu(self.gc1(x, adj))
        x = F.dropout(x, 0.4, training=self.training)
        return F.log_softmax(self.gc2(x, adj), dim=1)


def village(n=240, classes=4):
    labels = torch.arange(n) % classes
    p = torch.where(labels[:, None] == labels[None], 0.12, 0.01)
    adj = (torch.rand(n, n) < p).float().triu(1)
    adj = adj + adj.t() + torch.eye(n)
    d = adj.sum(1).rsqrt()
    x = torch.randn(n, 16) + F.one_hot(labels, 16).float()
    return x, d[:, None] * adj * d[None], labels


torch.manual_seed(3)
features, adj, labels = village()
order = torch.randperm(240)
idx_train, idx_val = order[:80], order[80:]
model = GCN(16, 24, 4)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(120):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss = F.nll_loss(output[idx_train], labels[idx_train])
    loss.backward()
    optimizer.step()
    if epoch % 30 == 29:
        model.eval()
        with torch.no_grad():
            output = model(features, adj)
            acc = (output[idx_val].argmax(1) == labels[idx_val]).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} val {acc:.3f}")
