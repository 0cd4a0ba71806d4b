"""Dictionaries, strings and sorting: some tenths of a second."""
import random

random.seed(7)
counts = {}
for i in range(220000):
    word = "w%d" % (random.random() * 5000)
    counts[word] = counts.get(word, 0) + i
rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
text = " ".join(word for word, _ in rows)
print(len(text), rows[0][0], sum(len(part) for part in text.split()))
