"""The two single files that a commit hook would be called for: one that trains, and one in which no walk stands."""

from __future__ import annotations

from pathlib import Path

_TRAINS = '''
def epoch_{n}(model, criterion, optimizer, loader, device="cpu"):
    """Train for one epoch."""
    model.train()
    total = 0.0
    for inputs, targets in loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)
'''
_READS = '''
def describe_{n}(table, columns=("loss", "accuracy")):
    """One line a row."""
    lines = []
    for row in table:
        parts = []
        for name in columns:
            value = row.get(name)
            parts.append(name + "=" + ("-" if value is None else str(value)))
        lines.append(", ".join(parts))
    if not lines:
        return "nothing"
    return "\\n".join(lines)
'''


def write(folder: Path) -> dict[str, Path]:
    """Both files, of some 300 lines each, by what they are called in the table."""
    texts = {
        "a file that trains": "import torch\n" + "".join(
            (_TRAINS if n % 4 == 0 else _READS).format(n=n) for n in range(22)
        ),
        "a file without a backward pass": "import json\n" + "".join(_READS.format(n=n) for n in range(22)),
    }  # fmt: skip
    places = {name: folder / f"{name.replace(' ', '_')}.py" for name in texts}
    for name, place in places.items():
        place.write_text(texts[name], encoding="utf-8")
    return places
