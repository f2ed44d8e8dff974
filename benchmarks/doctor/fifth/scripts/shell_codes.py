import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(13)


class Autoencoder(nn.Module):
    def __init__(self, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, code))
        self.decoder = nn.Sequential(nn.Linear(code, 48), nn.ReLU(), nn.Linear(48, 64), nn.Sigmoid())

    def forward(self, x):
        return self.decoder(self.encoder(x))


data = torch.tensor(load_digits().data, dtype=torch.float32) / 16
train, test = data[:1500], data[1500:]
model = Autoencoder()
optimizer_enc = torch.optim.Adam(model.encoder.parameters(), lr=1e-3)
optimizer_dec = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.MSELoss()

for epoch in range(8):
    model.train()
    total = 0.0
    for batch in train[torch.randperm(len(train))].split(50):
        optimizer_enc.zero_grad()
        optimizer_dec.zero_grad()
        loss = criterion(model(batch), batch)
        loss.backward()
        optimizer_enc.step()
        optimizer_dec.step()
        total += loss.item() * len(batch)
    model.eval()
    with torch.no_grad():
        test_loss = criterion(model(test), test).item()
    print(f"epoch {epoch}: train {total / len(train):.4f} test {test_loss:.4f}")
