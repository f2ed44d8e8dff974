/**
 * Where a token looks: a small map for every head of every layer with its distance, and one of them as a matrix.
 */

import { h, percent } from "./dom.js";
import { distance, headMap, largest, meanMap, rollout, seenBy } from "./maps.js";
import { paintHeat } from "./picture.js";
import { theToken, tokenName } from "./tokens.js";

/**
 * Which map is shown large: of a head of a layer, the mean over the heads of a layer, or the rollout of all layers.
 * @typedef {{layer: number, head: number | "mean"} | "rollout"} View
 */

/**
 * The weights of a view.
 * @param {import("./source.js").Answer} answer
 * @param {View} view
 * @param {number} tokens
 * @returns {Float32Array} (N, N)
 */
export function mapOf(answer, view, tokens) {
  if (view === "rollout") return rollout(answer.attention, tokens);
  const layer = answer.attention[view.layer];
  return view.head === "mean" ? meanMap(layer, tokens) : headMap(layer, view.head, tokens);
}

/** A view in words. @param {View} view */
export function viewName(view) {
  if (view === "rollout") return "rollout over all layers";
  const head = view.head === "mean" ? "mean over the heads" : `head ${view.head + 1}`;
  return `layer ${view.layer + 1}, ${head}`;
}

/**
 * Make the overview of all heads.
 * @param {import("./weights.js").Arch} arch
 * @param {(view: View) => void} onChoose
 * @returns {{element: HTMLElement, show: (answer: import("./source.js").Answer, token: number, view: View) => void}}
 */
export function headOverview(arch, onChoose) {
  const cells = [];
  const cell = (view, words) => {
    const button = h(
      "button",
      { type: "button", class: "head", title: words, onclick: () => onChoose(view) },
      h("canvas", { "aria-hidden": "true" }),
      h("span", { class: "distance", "aria-hidden": "true" }),
    );
    cells.push({ button, view, words });
    return h("td", {}, button);
  };
  const widest = Math.max(...arch.layers.map((layer) => layer.heads));
  const heads = Array.from({ length: widest }, (_, head) => head);
  const rows = arch.layers.map((layer, index) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, `layer ${index + 1}`),
      ...heads.map((head) =>
        head < layer.heads ? cell({ layer: index, head }, `layer ${index + 1}, head ${head + 1}`) : h("td"),
      ),
      cell({ layer: index, head: "mean" }, `layer ${index + 1}, mean over the heads`),
    ),
  );
  const titles = ["", ...heads.map((head) => head + 1), "mean"];
  const roll = h(
    "button",
    { type: "button", class: "rollout", onclick: () => onChoose("rollout") },
    "Rollout over all layers",
  );
  const element = h(
    "div",
    { class: "overview" },
    h(
      "p",
      { class: "hint" },
      "Each map shows the patches as the chosen token sees them; the bar below it, how far the head looks.",
    ),
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "group", "aria-label": "all heads" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ...titles.map((title) =>
              h(title === "" ? "td" : "th", title === "" ? {} : { scope: "col" }, title),
            ),
          ),
        ),
        h("tbody", {}, ...rows),
      ),
    ),
    roll,
  );
  return { element, show: (answer, token, view) => showOverview(arch, cells, roll, answer, token, view) };
}

/** Draw every small map, and mark the one that is shown large. */
function showOverview(arch, cells, roll, answer, token, view) {
  const skip = arch.tokens - arch.patches;
  const farthest = Math.SQRT2 * (arch.image - arch.patch) || 1;
  for (const { button, view: own, words } of cells) {
    const map = mapOf(answer, own, arch.tokens);
    const seen = seenBy(map, arch, token).subarray(skip);
    const far = distance(map, arch);
    paintHeat(button.querySelector("canvas"), seen, largest(seen));
    button.style.setProperty("--distance", String(far / farthest));
    button.setAttribute("aria-label", `${words}, looks ${far.toFixed(1)} pixels far`);
    button.setAttribute(
      "aria-pressed",
      String(view !== "rollout" && view.layer === own.layer && view.head === own.head),
    );
  }
  roll.setAttribute("aria-pressed", String(view === "rollout"));
}

/**
 * Make the matrix of one map: a row per query, a column per key.
 * @param {import("./weights.js").Arch} arch
 * @param {(token: number) => void} onChoose
 * @returns {{element: HTMLElement, show: (map: Float32Array, token: number, view: View) => void}}
 */
export function attentionMatrix(arch, onChoose) {
  const canvas = h("canvas", { role: "img" });
  const readout = h("p", { class: "readout" }, "Point at a cell to read it.");
  const marker = h("span", { class: "row-marker", "aria-hidden": "true" });
  let shown = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    const index = (offset, length) =>
      Math.min(arch.tokens - 1, Math.max(0, Math.floor((offset / length) * arch.tokens)));
    return {
      query: index(event.clientY - box.top, box.height),
      key: index(event.clientX - box.left, box.width),
    };
  };
  canvas.addEventListener("pointermove", (event) => {
    const { query, key } = at(event);
    const weight = percent(shown[query * arch.tokens + key]);
    readout.textContent = `${tokenName(arch, query)} gives ${weight} to ${theToken(arch, key)}`;
  });
  canvas.addEventListener("click", (event) => onChoose(at(event).query));
  const show = (map, token, view) => {
    shown = map;
    paintHeat(canvas, map, largest(map));
    canvas.setAttribute(
      "aria-label",
      `Attention matrix, ${viewName(view)}: a row for each token that looks, a column for each that is looked at`,
    );
    marker.hidden = token < 0;
    marker.style.setProperty("--row", String(token));
    marker.style.setProperty("--tokens", String(arch.tokens));
  };
  const board = h("div", { class: "matrix" }, canvas, marker);
  return {
    element: h(
      "div",
      { class: "matrix-board" },
      h("h3", {}, "The same as a matrix"),
      h(
        "p",
        { class: "hint" },
        "One row per token that looks, one column per token it looks at. Click a row to choose it.",
      ),
      board,
      readout,
    ),
    show,
  };
}
