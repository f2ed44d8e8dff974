import torch
from torch import nn

torch.manual_seed(33)


def clouds(n, size=12):
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).float()
    centre = torch.randint(0, size, (n, 2))
    distance = ((grid[None] - centre[:, :, None, None]) ** 2).sum(1)
    images = torch.exp(-distance / 2) + 0.2 * torch.randn(n, size, size)
    return images.unsqueeze(1), centre[:, 0] // 3 * 4 + centre[:, 1] // 3


class Mosaic(nn.Module):
    """Scores every tile of the image: which one holds the cloud's centre?"""

    def __init__(self, dim=24, heads=4):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, kernel_size=3, stride=3)
        self.place = nn.Parameter(torch.randn(1, 16, dim) * 0.02)
        block = nn.TransformerEncoderLayer(dim, heads, 48, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, 1, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 1)

    def forward(self, images):
        x = self.patch(images)
        b, c, h, w = x.shape
        tokens = x.view(b, h * w, c)
        tokens = self.encoder(tokens + self.place)
        return self.head(self.norm(tokens)).squeeze(-1)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


images, labels = clouds(1000)
test_images, test_labels = clouds(300)
model = Mosaic()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
for epoch in range(5):
    model.train()
    for idx in torch.randperm(len(images)).split(25):
        loss = nn.functional.cross_entropy(model(images[idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {accuracy(model, test_images, test_labels):.3f}")
