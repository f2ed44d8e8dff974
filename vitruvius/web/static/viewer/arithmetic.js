/**
 * The arithmetic of one token of one head with the numbers of this picture: from the token to what attention adds.
 *
 * $z_i = \sum_j w_{ij} v_j$ with $w_{ij}$ the softmax over j of $q_i \cdot k_j / \sqrt d$ (Vaswani et al. 2017).
 */

import { h } from "./dom.js";
import { excerpt, lessonCommand, lessonLink } from "./lesson.js";
import { KEYS, keyStep, outputStep, queryStep, scoreStep, sumStep, tokenStep } from "./steps.js";
import { theToken, tokenName } from "./tokens.js";
import { weightSteps } from "./weighing.js";

/** @typedef {{layer: number, head: number, token: number}} Place */

/**
 * Make the panel; it computes nothing while it is folded.
 * @param {import("./weights.js").Arch} arch
 * @param {{source: any, lesson?: (name: string, fields: Object) => string}} options
 * @param {{choose: (at: Place) => void, fail: (message: string) => void}} listeners
 * @returns {{element: HTMLElement, show: (pixels: Float32Array, changes: any, at: Place) => void}}
 */
export function arithmeticPanel(arch, { source, lesson }, { choose, fail }) {
  const fields = chooser(arch, choose);
  const board = h("div", { class: "arithmetic-board" });
  let [wanted, shown] = [null, null];
  const fill = async () => {
    if (!element.open || !wanted || isSame(wanted, shown)) return;
    const asked = (shown = wanted);
    fields.show(asked.at);
    try {
      const detail = await source.detail(asked.pixels, asked.changes, asked.at);
      if (asked === shown) showSteps(board, arch, asked, detail, lesson);
    } catch (error) {
      fail(error.message);
    }
  };
  const summary = h("summary", {}, "Open the arithmetic");
  const element = h("details", { class: "arithmetic", ontoggle: fill }, summary, fields.element, board);
  const show = (pixels, changes, at) => {
    wanted = { pixels, changes, at };
    fill();
  };
  return { element, show };
}

/** Whether two questions are the same. */
function isSame(one, other) {
  if (!other || one.pixels !== other.pixels || one.changes !== other.changes) return false;
  return ["layer", "head", "token"].every((name) => one.at[name] === other.at[name]);
}

/**
 * Fields that choose layer, head and token.
 * @param {import("./weights.js").Arch} arch
 * @param {(at: Place) => void} onChoose
 * @returns {{element: HTMLElement, show: (at: Place) => void}}
 */
function chooser(arch, onChoose) {
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

/** Fill the board with the steps. */
function showSteps(element, arch, { at, changes }, detail, lesson) {
  const hidden = new Set(changes.hidden.map((patch) => arch.tokens - arch.patches + patch));
  if (hidden.has(at.token)) {
    element.replaceChildren(h("p", {}, `${tokenName(arch, at.token)} is switched off: it takes no part.`));
    return;
  }
  const dot = (key) => key.reduce((sum, value, i) => sum + value * detail.q[i], 0);
  const products = detail.keys.map(dot);
  const visible = products.map((_, token) => token).filter((token) => !hidden.has(token));
  // Where one key has all the weight, the products order the others.
  const best = visible.sort((a, b) => detail.weights[b] - detail.weights[a] || products[b] - products[a]);
  const board = { arch, at, detail, beta: changes.beta, best, products };
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
