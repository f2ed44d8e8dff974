/** The steps of attention that all kernels share: token, query, keys, scores; weighted sum and output. */

import { bold, formula, lines, number, plus, row, transposed, vector } from "./mathml.js";

/** Keys that are written out: those with the most weight. */
export const KEYS = 3;

/**
 * What the steps speak of.
 * @typedef {Object} Board
 * @property {import("./weights.js").Arch} arch
 * @property {{layer: number, head: number, token: number}} at
 * @property {import("./source.js").Detail} detail
 * @property {number} beta
 * @property {number[]} best the tokens that are not switched off, in the order of their weights
 * @property {number[]} products q.k for every token
 */

/** @typedef {{title: string, lesson: string, words: string, maths: Node[]}} Step */

/** @param {Board} board @returns {Step} */
export function tokenStep({ arch, at, detail }) {
  return {
    title: "The token",
    lesson: "normalisation",
    maths: [formula(bold("x", "i"), "=", vector(detail.x))],
    words: `Layer ${at.layer + 1} first normalises every token: ${arch.width} numbers with mean 0 and variance 1, then scaled and shifted as was learned.`,
  };
}

/** y = W x + b, where W and b have the letter of y as their index. */
function mapped(letter, x, hasBias, values) {
  const bias = hasBias ? ["+", bold("b", letter)] : [];
  return formula(bold(letter, "i"), "=", bold("W", letter), x, ...bias, "=", vector(values));
}

/** @param {Board} board @returns {Step} */
export function queryStep({ arch, at, detail }) {
  return {
    title: "The query",
    lesson: "multihead",
    maths: [mapped("q", bold("x", "i"), arch.qkv_bias, detail.q)],
    words: `Head ${at.head + 1} asks with ${detail.q.length} numbers: what is this token looking for?`,
  };
}

/** @param {Board} board @returns {Step} */
export function keyStep({ detail, best }) {
  const shown = best
    .slice(0, KEYS)
    .flatMap((token, index) => [bold("k", index + 1), "=", vector(detail.keys[token]), ",  "]);
  return {
    title: "The keys",
    lesson: "multihead",
    maths: [formula(...shown, "…")],
    words: `Every token answers with a key of the same length: what does it have to offer? There are ${best.length}.`,
  };
}

/** @param {Board} board @returns {Step} */
export function scoreStep({ detail, best, products }) {
  const line = (token, index) => {
    const terms = Array.from(detail.q, (value, i) =>
      row(number(value, true), "·", number(detail.keys[token][i], true)),
    );
    return row(transposed(bold("q", "i")), bold("k", index + 1), "=", plus(terms, 2), "=", products[token]);
  };
  return {
    title: "The scores",
    lesson: "attention",
    maths: [lines(...best.slice(0, KEYS).map(line))],
    words: "The product of query and key says how well the two agree.",
  };
}

/** @param {Board} board @returns {Step} */
export function sumStep({ detail, best }) {
  const terms = best.map((token, index) => row(number(detail.weights[token]), bold("v", index + 1)));
  const values = best.map((token) => row(number(detail.weights[token]), vector(detail.values[token])));
  return {
    title: "The weighted sum",
    lesson: "attention",
    words: "Every token also has a value. The head's result is their mean with these weights.",
    maths: [formula(bold("z", "i"), "=", plus(terms, KEYS), "=", plus(values, 2), "=", vector(detail.mixed))],
  };
}

/** @param {Board} board @returns {Step} */
export function outputStep({ arch, at, detail }) {
  const { heads } = arch.layers[at.layer];
  const stacked = heads > 1 ? row("[", bold("z", "i"), " of ", heads + " heads", "]") : bold("z", "i");
  return {
    title: "The output",
    lesson: "multihead",
    words: `${heads > 1 ? `The results of all ${heads} heads stand side by side; one` : "One"} more matrix maps them back to ${arch.width} numbers, which are added to the token.`,
    maths: [mapped("o", stacked, arch.out_bias, detail.output)],
  };
}
