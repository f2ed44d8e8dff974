"""A mask of attention hides what it should show: True means hidden in one function and visible in another."""

from vitruvius.checks import Finding, Findings, Mask, Trace, named, training

LESSON = "masking"
SICK = training(
    "x = torch.randn(4, 5, 8)",
    "h = net(x, src_mask=MASK)  # here",
    "h.square().mean().backward()",
    net="nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True)",
).replace("MASK", "torch.ones(5, 5).tril(-1).bool()")
HEALTHY = SICK.replace("tril(-1)", "triu(1)")
MEANING = {
    "attn_mask": "attn_mask of MultiheadAttention is True where a key is hidden, that of "
    "scaled_dot_product_attention where it takes part, and floats are added to the scores",
    "key_padding_mask": "key_padding_mask is True where a key is hidden: at the padding",
    "masked_fill": "masked_fill replaces the scores where the mask is True",
    "addition": "what is added to the scores is -inf, or very low, where a key is hidden",
    "where": "where keeps its second argument where the mask is True",
}


def inverted_mask(trace: Trace) -> Findings:
    """Masks that show the future only, or padding only, or add zeros and ones to the scores."""
    events = trace.of(Mask)
    for line, here in trace.grouped(events, "where").items():
        event = here[0]
        # A network that reads backwards may want it: proven only if it predicts what comes next.
        proven = not event.anti_causal or event.emptied or any(example.shifted for example in trace.examples)
        said = next(filter(None, map(_said, here)))
        yield Finding(
            where=line,
            module=named(trace, event.module),
            evidence=f"{event.argument}: {said}",
            why=MEANING[event.argument],
            fix="-inf where a key is hidden and 0 elsewhere" if event.added else "invert the mask: ~mask",
            severity="error" if proven else "warning",
            confidence="exact" if proven else "heuristic",
            explains=("non_finite", "nan_source", "rate_too_low", "positions_ignored"),
        )


def _said(event: Mask) -> str:
    if event.added:
        return "a mask of zeros and ones is added to the scores, which hides nothing"
    if event.anti_causal:
        return "every token sees only what comes after it"
    if event.hides_tokens:
        return "only the padding is visible; the tokens are hidden"
    return "rows without padding are hidden wholly, of the others only the last places are visible"
