/** Formulas as MathML, built from elements: rows, fractions, indices, and long vectors folded after a few entries. */

import { m } from "./dom.js";

const ENTRIES = 4; // entries of a long vector that are shown

/** A formula on a line of its own. @param {...(Node | string | number)} parts */
export function formula(...parts) {
  return m("math", { display: "block" }, row(...parts));
}

/** Parts side by side: words become identifiers, signs operators, nothing nothing. @param {...(Node | string | number)} parts */
export function row(...parts) {
  return m("mrow", {}, ...parts.filter((given) => given !== "").map(part));
}

function part(given) {
  if (typeof given === "number") return number(given);
  if (typeof given !== "string") return given;
  return /^[A-Za-zα-ω]+$/.test(given) ? m("mi", {}, given) : m("mo", {}, given);
}

/** A number with three decimals, in brackets where a sign would stand beside an operator. */
export function number(value, inBrackets = false) {
  const text = m("mn", {}, figure(value));
  return inBrackets && value < 0 ? row("(", text, ")") : text;
}

/** A number as text: three decimals, a true minus sign. @param {number} value */
export function figure(value) {
  const digits = Math.abs(value) >= 100 ? 1 : 3;
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** x with an index below. @param {string} name @param {string | number | Node} index */
export function sub(name, index) {
  return m("msub", {}, m("mi", {}, name), index instanceof Node ? index : m("mn", {}, index));
}

/** A bold letter (a vector or matrix) with an index. @param {string} name @param {string | number | null} index */
export function bold(name, index = null) {
  const letter = m("mi", { mathvariant: "bold", class: "bold" }, name);
  return index === null ? letter : m("msub", {}, letter, m("mn", {}, index));
}

/** @param {Node | string | number} above @param {Node | string | number} below */
export function fraction(above, below) {
  return m("mfrac", {}, part(above), part(below));
}

/** @param {Node | string | number} inside */
export function root(inside) {
  return m("msqrt", {}, part(inside));
}

/** A power. @param {Node | string} base @param {Node} exponent */
export function power(base, exponent) {
  return m("msup", {}, part(base), part(exponent));
}

/** Transposed. @param {Node} of */
export function transposed(of) {
  return m("msup", {}, of, m("mo", {}, "⊤"));
}

/**
 * A vector as a column in brackets; what is long is folded: first entries, dots, the last one.
 * @param {ArrayLike<number>} values
 */
export function vector(values) {
  const all = Array.from(values);
  const entries = all.length > ENTRIES + 1 ? [...all.slice(0, ENTRIES - 1), "⋮", all.at(-1)] : all;
  const rows = entries.map((entry) =>
    m("mtr", {}, m("mtd", {}, entry === "⋮" ? m("mo", {}, "⋮") : number(entry))),
  );
  return row("[", m("mtable", {}, ...rows), "]");
}

/** Lines under one another. @param {...Node} all */
export function lines(...all) {
  return m(
    "math",
    { display: "block" },
    m(
      "mtable",
      { class: "lines", displaystyle: "true" },
      ...all.map((line) => m("mtr", {}, m("mtd", {}, line))),
    ),
  );
}

/**
 * Terms with plus signs between them; what is long is folded after a few.
 * @param {(Node | string)[]} terms
 * @param {number} most
 */
export function plus(terms, most = 3) {
  const shown = terms.length > most ? [...terms.slice(0, most), "⋯"] : terms;
  return row(...shown.flatMap((term, index) => (index ? ["+", term] : [term])));
}
