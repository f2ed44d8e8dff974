import torch
import torch.nn as nn
import torch.nn.functional as F


class Faces:
    def __init__(self, people=30, each=40):
        self.centre = torch.randn(people, 16)
        self.x = self.centre.repeat_interleave(each, 0) + 0.7 * torch.randn(people * each, 16)
        self.people, self.each = people, each

    def triplets(self, n):
        person = torch.randint(0, self.people, (n,))
        other = (person + torch.randint(1, self.people, (n,))) % self.people
        a, p, q = (torch.randint(0, self.each, (n,)) for _ in range(3))
        return self.x[person * self.each + a], self.x[person * self.each + p], self.x[other * self.each + q]


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


torch.manual_seed(0)
faces, encoder = Faces(), Encoder()
criterion = nn.TripletMarginLoss(margin=0.3)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)
for step in range(1, 401):
    anchor, positive, negative = faces.triplets(64)
    loss = criterion(encoder(anchor), encoder(positive), encoder(negative))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(step, f"{loss.item():.4f}")
