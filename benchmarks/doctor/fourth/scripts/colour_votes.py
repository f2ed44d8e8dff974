import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Votes(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(9, 40)
        self.answer = nn.Linear(40, 6)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        return F.log_softmax(self.answer(x), dim=0)


torch.manual_seed(0)
x = torch.randn(1800, 9)
y = (x @ torch.randn(9, 6)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
model = Votes()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 6):
    for data, target in loader:
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
    print("Epoch: {} \tLoss: {:.6f}".format(epoch, loss.item()))
