"""Sentence classification; the model computes its own loss when labels are given."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Phrases(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 3, (n,), generator=g)
        self.ids = torch.randint(1, 50, (n, 12), generator=g)
        for i, label in enumerate(self.labels.tolist()):
            self.ids[i, torch.randperm(12, generator=g)[:4]] = 50 + label

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.labels[i]}


class ForClassification(nn.Module):
    def __init__(self, vocab=53, width=24, labels=3):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(2 * width, labels)

    def forward(self, input_ids, labels=None):
        hidden, _ = self.encoder(self.embeddings(input_ids))
        logits = self.classifier(self.dropout(hidden.mean(1)))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


class SimpleTrainer:
    def __init__(self, model, train, evaluation, lr=3e-3, epochs=4):
        self.model, self.epochs = model, epochs
        self.train_loader = DataLoader(train, batch_size=32, shuffle=True)
        self.eval_loader = DataLoader(evaluation, batch_size=64)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def train(self):
        for epoch in range(self.epochs):
            self.model.train()
            for batch in self.train_loader:
                loss = self.model(**batch)["loss"]
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
            print({"epoch": epoch, "loss": loss.item(), **self.evaluate()})

    @torch.inference_mode()
    def evaluate(self):
        self.model.eval()
        hits, total, loss = 0, 0, 0.0
        for batch in self.eval_loader:
            out = self.model(**batch)
            loss += out["loss"].item() * len(batch["labels"])
            hits += (out["logits"].argmax(-1) == batch["labels"]).sum().item()
            total += len(batch["labels"])
        return {"eval_loss": loss / total, "eval_accuracy": hits / total}


torch.manual_seed(0)
SimpleTrainer(ForClassification(), Phrases(480, 0), Phrases(160, 1)).train()
