"""A number with its noun, for sentences that people read."""


def counted(count: int, noun: str) -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "entry"), counted(2, "entry"), counted(0, "class"), counted(1500, "test image")
    ('1 entry', '2 entries', '0 classes', '1,500 test images')
    >>> counted(2, "batch"), counted(2, "epoch")
    ('2 batches', '2 epochs')
    """
    if count != 1:
        is_hissing = noun.endswith(("s", "sh", "ch", "x")) and not noun.endswith("epoch")
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if is_hissing else f"{noun}s"
    return f"{count:,} {noun}"
