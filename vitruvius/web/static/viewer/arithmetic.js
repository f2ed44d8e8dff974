/**
 * The arithmetic of one token of one head with the numbers of this picture: from the token to what attention adds.
 *
 * $z_i = \sum_j w_{ij} v_j$ with $w_{ij}$ the softmax over j of $q_i \cdot k_j / \sqrt d$ (Vaswani et al. 2017).
 */

import { h, percent } from "./dom.js";
import { excerpt, lessonCommand, lessonLink } from "./lesson.js";
import {
  bold,
  formula,
  fraction,
  lines,
  number,
  plus,
  power,
  root,
  row,
  sub,
  transposed,
  vector,
} from "./mathml.js";
import { theToken, tokenName } from "./tokens.js";

const KEYS = 3; // keys that are written out: those with the most weight

/** @typedef {import("./source.js").Detail} Detail */

/**
 * @typedef {Object} Board what the steps speak of
 * @property {import("./weights.js").Arch} arch
 * @property {{layer: number, head: number, token: number}} at
 * @property {Detail} detail
 * @property {number} beta
 * @property {number[]} best tokens in the order of their weights
 * @property {number[]} products q.k for every token
 */

/**
 * Fill an element with the steps.
 * @param {HTMLElement} element
 * @param {import("./weights.js").Arch} arch
 * @param {{layer: number, head: number, token: number}} at
 * @param {Detail} detail
 * @param {{beta: number, lesson?: (name: string, fields: Object) => string}} options
 */
export function showArithmetic(element, arch, at, detail, { beta, lesson }) {
  const dot = (key) => key.reduce((sum, value, i) => sum + value * detail.q[i], 0);
  const products = detail.keys.map(dot);
  const tokens = products.map((_, token) => token).filter((token) => detail.weights[token] > 0);
  const best = tokens.sort((a, b) => detail.weights[b] - detail.weights[a]);
  const board = { arch, at, detail, beta, best, products };
  if (!best.length) {
    element.replaceChildren(h("p", {}, `${tokenName(arch, at.token)} is switched off: it takes no part.`));
    return;
  }
  const steps = [tokenStep, queryStep, keyStep, scoreStep, ...weightSteps(arch.kernel), sumStep, outputStep];
  const items = steps.map((step) => {
    const { title, words, maths, lesson: name } = step(board);
    return h(
      "li",
      {},
      h("h4", {}, title),
      h("p", {}, words),
      h("div", { class: "formula", tabindex: 0, role: "group", "aria-label": title }, ...maths),
      lessonLink(name, lesson),
    );
  });
  element.replaceChildren(
    h(
      "p",
      { class: "legend" },
      `Layer ${at.layer + 1}, head ${at.head + 1}; i is ${theToken(arch, at.token)}. The keys with the most weight are written out: ${names(board)}.`,
    ),
    h("ol", { class: "steps" }, ...items),
    asLesson(board, lesson),
  );
}

function names({ arch, best }) {
  return best
    .slice(0, KEYS)
    .map((token, index) => `${index + 1} is ${theToken(arch, token)}`)
    .join(", ");
}

function tokenStep({ arch, at, detail }) {
  return {
    title: "The token",
    lesson: "normalisation",
    maths: [formula(bold("x", "i"), "=", vector(detail.x))],
    words: `Layer ${at.layer + 1} first normalises every token: ${arch.width} numbers with mean 0 and variance 1, then scaled and shifted as was learned.`,
  };
}

function queryStep({ arch, at, detail }) {
  return {
    title: "The query",
    lesson: "multihead",
    maths: [
      formula(
        bold("q", "i"),
        "=",
        bold("W", "q"),
        bold("x", "i"),
        arch.qkv_bias ? "+" : "",
        arch.qkv_bias ? bold("b", "q") : "",
        "=",
        vector(detail.q),
      ),
    ],
    words: `Head ${at.head + 1} asks with ${detail.q.length} numbers: what is this token looking for?`,
  };
}

function keyStep({ detail, best }) {
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

function scoreStep({ detail, best, products }) {
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

/**
 * Fields that choose layer, head and token.
 * @param {import("./weights.js").Arch} arch
 * @param {(at: {layer: number, head: number, token: number}) => void} onChoose
 * @returns {{element: HTMLElement, show: (at: {layer: number, head: number, token: number}) => void}}
 */
export function chooser(arch, onChoose) {
  const option = (value, words) => h("option", { value }, words);
  const range = (count, word) => Array.from({ length: count }, (_, index) => option(index, word(index)));
  const changed = () =>
    onChoose({
      layer: Number(layer.value),
      head: Math.min(Number(head.value), arch.layers[layer.value].heads - 1),
      token: Number(token.value),
    });
  const layer = h("select", { onchange: changed }, ...range(arch.depth, (index) => index + 1));
  const head = h("select", { onchange: changed });
  const token = h("select", { onchange: changed }, ...range(arch.tokens, (index) => tokenName(arch, index)));
  const show = (at) => {
    const { heads } = arch.layers[at.layer];
    if (head.length !== heads) head.replaceChildren(...range(heads, (index) => index + 1));
    [layer.value, head.value, token.value] = [at.layer, at.head, at.token].map(String);
  };
  const field = (words, select) => h("label", {}, words, " ", select);
  return {
    element: h(
      "div",
      { class: "chooser" },
      field("Layer", layer),
      field("Head", head),
      field("Token", token),
    ),
    show,
  };
}

/** How scores become weights: two steps for softmax, one for other kernels. */
function weightSteps(kernel) {
  return {
    softmax: [divisionStep, softmaxStep],
    graph: [divisionStep, softmaxStep],
    hardmax: [hardmaxStep],
    linear: [linearStep],
    quadratic: [quadraticStep],
  }[kernel];
}

function scaleOf({ detail, beta }) {
  return beta / Math.sqrt(detail.q.length);
}

function divisionStep(board) {
  const { detail, best, products, beta } = board;
  const dim = detail.q.length;
  const factor = () =>
    beta === 1 ? fraction("1", root(dim + "")) : row(number(beta), "·", fraction("1", root(dim + "")));
  const line = (token, index) =>
    row(
      sub("s", index + 1),
      "=",
      factor(),
      "·",
      number(products[token], true),
      "=",
      products[token] * scaleOf(board),
    );
  const changed =
    beta === 1
      ? ""
      : ` You have multiplied the inverse temperature by ${beta === Infinity ? "infinity" : beta.toPrecision(2)}.`;
  return {
    title: "The division",
    lesson: "scaling",
    words: `Long vectors make large products; dividing by the root of their length keeps the scores moderate.${changed}`,
    maths: [
      beta === Infinity
        ? formula(sub("s", "j"), "=", "∞", "·", transposed(bold("q", "i")), bold("k", "j"))
        : lines(...best.slice(0, KEYS).map(line)),
    ],
  };
}

function softmaxStep(board) {
  const { detail, best, products, beta } = board;
  const weight = (token, index) => [sub("w", index + 1), number(detail.weights[token])];
  if (beta === Infinity) {
    const shown = best
      .slice(0, KEYS)
      .flatMap((token, index) => [weight(token, index)[0], "=", weight(token, index)[1], ",  "]);
    return {
      title: "Softmax",
      lesson: "temperature",
      words: "At an infinite inverse temperature all weight goes to the best key.",
      maths: [formula(...shown, "…")],
    };
  }
  const scale = scaleOf(board);
  const powers = best.map((token) => Math.exp(products[token] * scale));
  const total = powers.reduce((sum, value) => sum + value, 0);
  const term = (token) => power("e", number(products[token] * scale));
  const line = (token, index) =>
    row(
      weight(token, index)[0],
      "=",
      fraction(term(token), plus(best.map(term), KEYS)),
      "=",
      fraction(number(powers[index]), number(total)),
      "=",
      weight(token, index)[1],
    );
  return {
    title: "Softmax",
    lesson: "temperature",
    maths: [lines(...best.slice(0, KEYS).map(line))],
    words: `Exponentials make every score positive; divided by their sum they are weights. The largest is ${percent(detail.weights[best[0]])}.`,
  };
}

function hardmaxStep({ detail, best }) {
  return {
    title: "The best key",
    lesson: "argmax_attention",
    words: "All weight goes to the key with the largest score.",
    maths: [formula(sub("w", 1), "=", number(detail.weights[best[0]]))],
  };
}

function linearStep({ detail, best }) {
  const shown = best
    .slice(0, KEYS)
    .map((token, index) =>
      row(
        sub("w", index + 1),
        "=",
        fraction(
          row("φ", "(", bold("q", "i"), ")", "·", "φ", "(", bold("k", index + 1), ")"),
          row("∑", "φ", "(", bold("q", "i"), ")", "·", "φ", "(", bold("k", "j"), ")"),
        ),
        "=",
        number(detail.weights[token]),
      ),
    );
  return {
    title: "The weights",
    lesson: "kernel_attention",
    words: "Instead of exponentials of products: products of positive features, φ(x) = elu(x) + 1.",
    maths: [lines(...shown)],
  };
}

function quadraticStep({ detail, best, products }) {
  const square = (token) => power(row("(", number(products[token]), "+", "1", ")"), row("2"));
  const shown = best
    .slice(0, KEYS)
    .map((token, index) =>
      row(
        sub("w", index + 1),
        "=",
        fraction(square(token), plus(best.map(square), 2)),
        "=",
        number(detail.weights[token]),
      ),
    );
  return {
    title: "The weights",
    lesson: "kernel_attention",
    words: "Instead of exponentials of products: the square of the product plus one.",
    maths: [lines(...shown)],
  };
}

function sumStep({ detail, best }) {
  const terms = best.map((token, index) => row(number(detail.weights[token]), bold("v", index + 1)));
  const values = best.map((token) => row(number(detail.weights[token]), vector(detail.values[token])));
  return {
    title: "The weighted sum",
    lesson: "attention",
    words: "Every token also has a value. The head's result is their mean with these weights.",
    maths: [formula(bold("z", "i"), "=", plus(terms, KEYS), "=", plus(values, 2), "=", vector(detail.mixed))],
  };
}

function outputStep({ arch, at, detail }) {
  const { heads } = arch.layers[at.layer];
  const stacked = heads > 1 ? row("[", bold("z", "i"), " of ", heads + " heads", "]") : bold("z", "i");
  return {
    title: "The output",
    lesson: "multihead",
    words: `${heads > 1 ? `The results of all ${heads} heads stand side by side; one` : "One"} more matrix maps them back to ${arch.width} numbers, which are added to the token.`,
    maths: [
      formula(
        bold("o", "i"),
        "=",
        bold("W", "o"),
        stacked,
        arch.out_bias ? "+" : "",
        arch.out_bias ? bold("b", "o") : "",
        "=",
        vector(detail.output),
      ),
    ],
  };
}

/** Carry a small part of these numbers into the lesson on attention. */
function asLesson({ detail, best, arch }, lesson) {
  const fields = excerpt(detail, best);
  const count = fields.keys.length;
  const words = `The ${count} most attended of ${best.length} tokens, rounded to two decimals: worked exactly and proved, with numbers you may change.`;
  if (!["softmax", "graph"].includes(arch.kernel)) return h("p");
  const link = lesson
    ? h("a", { class: "button", href: lesson("attention", fields) }, "Open as a lesson")
    : h(
        "details",
        {},
        h("summary", {}, "Open as a lesson"),
        h("pre", { tabindex: 0 }, lessonCommand("attention", fields)),
      );
  return h("div", { class: "as-lesson" }, h("p", {}, words), link);
}
