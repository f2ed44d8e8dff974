"""What LaTeX commands look like as characters."""

import unicodedata

GREEK = {
    unicodedata.name(letter).rsplit(" ", 1)[1].lower().replace("lamda", "lambda"): letter
    for letter in "αβγδζηθικλμνξπρστυχψω"
}
GREEK |= {name.capitalize(): letter.upper() for name, letter in GREEK.items()}
GREEK |= {"epsilon": "ε", "varepsilon": "ε", "phi": "φ", "varphi": "φ", "Phi": "Φ", "vartheta": "ϑ"}

ORDINARY = GREEK | {
    "infty": "∞", "partial": "∂", "nabla": "∇", "top": "ᵀ", "dots": "…", "ldots": "…", "cdots": "⋯",
    "vdots": "⋮", "ddots": "⋱", "int": "∫", "ell": "ℓ", "prime": "′", "forall": "∀", "exists": "∃",
    "emptyset": "∅", "varnothing": "∅", "hbar": "ħ", "degree": "°", "square": "□", "checkmark": "✓",
    "star": "⋆", "%": "%", "&": "&", "#": "#", "_": "_", "$": "$", "backslash": "\\", "qed": "∎",
    "dagger": "†",
}  # fmt: skip
OPENING = {"lbrace": "{", "{": "{", "langle": "⟨", "lfloor": "⌊", "lceil": "⌈", "lVert": "‖", "lvert": "|"}
CLOSING = {"rbrace": "}", "}": "}", "rangle": "⟩", "rfloor": "⌋", "rceil": "⌉", "rVert": "‖", "rvert": "|"}
BARS = {"|": "‖", "Vert": "‖", "vert": "|", "mid": "|"}
RELATIONS = {
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "equiv": "≡",
    "sim": "~", "propto": "∝", "in": "∈", "notin": "∉", "subset": "⊂", "subseteq": "⊆", "to": "→",
    "rightarrow": "→", "mapsto": "↦", "longrightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒",
    "implies": "⇒", "iff": "⇔", "Leftrightarrow": "⇔", "leftrightarrow": "↔", "ll": "≪", "gg": "≫",
    "perp": "⟂", "parallel": "∥", "succeq": "⪰", "preceq": "⪯", "coloneqq": "≔", "gets": "←", "lt": "<",
    "gt": ">", "simeq": "≃", "cong": "≅", "longmapsto": "↦",
}  # fmt: skip
BINARY = {
    "times": "×", "cdot": "·", "pm": "±", "mp": "∓", "odot": "⊙", "otimes": "⊗", "oplus": "⊕", "circ": "∘",
    "ast": "∗", "cup": "∪", "cap": "∩", "setminus": "∖", "wedge": "∧", "vee": "∨", "land": "∧", "lor": "∨",
    "div": "÷", "bullet": "•",
}  # fmt: skip
SPACES = {",": " ", ";": " ", ":": " ", " ": " ", "!": "", "thinspace": " "}
QUADS = {"quad": "   ", "qquad": "     "}
NAMES = {name: name for name in ("log", "ln", "exp", "max", "min", "sup", "inf", "lim", "arg", "sin", "cos")}
NAMES |= {name: name for name in ("tan", "tanh", "sinh", "cosh", "det", "dim", "ker", "Pr")}
NAMES |= {"argmax": "argmax", "argmin": "argmin", "sum": "Σ", "prod": "Π"}
KINDS = {"atom": ORDINARY, "relation": RELATIONS, "operator": BINARY, "open": OPENING, "close": CLOSING}
KINDS |= {"bar": BARS, "name": NAMES, "space": SPACES, "quad": QUADS}
"""Commands without arguments, by the kind of box they make."""
DOUBLE = {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "Q": "ℚ", "C": "ℂ", "E": "𝔼", "P": "ℙ", "1": "𝟙"}
ACCENTS = {
    "hat": "\u0302", "widehat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "widetilde": "\u0303",
    "vec": "\u20d7", "dot": "\u0307", "ddot": "\u0308", "overline": "\u0305",
}  # fmt: skip
"""Combining characters, which follow their letter."""

SUPERSCRIPT = dict(
    zip("0123456789+-=()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾", strict=True),
    **dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True)),
    **dict(zip("ABDEGHIJKLMNOPRTUVW", "ᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂ", strict=True)),
    **{"ᵀ": "ᵀ", "∗": "*", "*": "*", "′": "′", "β": "ᵝ"},
)
SUBSCRIPT = dict(
    zip("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", strict=True),
    **dict(zip("aehijklmnoprstuvx", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)),
    **dict(zip("βγρφχ", "ᵦᵧᵨᵩᵪ", strict=True)),
)
