/**
 * The image cut into patches. Each is a button: the pointer or the arrow keys choose one, and its colour is the
 * weight that the chosen token gives it.
 */

import { h, percent } from "./dom.js";
import { ALL_PATCHES, largest } from "./maps.js";
import { paintImage } from "./picture.js";
import { patchName, theToken } from "./tokens.js";

const NUMBERS_UP_TO = 49; // patches that have room for their weight in figures

/**
 * @typedef {Object} Seen what the patches show
 * @property {Float32Array} pixels
 * @property {import("./network.js").Changes} changes
 * @property {number} token the chosen token
 * @property {Float32Array} weights that it gives to every token, (N)
 * @property {number | null} first the first of two patches to be swapped
 */

/**
 * Make the patches.
 * @param {import("./source.js").Description} about
 * @param {{choose: (token: number) => void, click: (patch: number) => void}} listeners `choose` also while hovering
 * @returns {{element: HTMLElement, show: (seen: Seen) => void}}
 */
export function patchGrid(about, { choose, click }) {
  const { arch } = about;
  const rows = arch.image / arch.patch;
  const skip = arch.tokens - arch.patches;
  const buttons = Array.from({ length: arch.patches }, (_, patch) =>
    patchButton(patch, arch, choose, click, skip),
  );
  const grid = h(
    "div",
    { class: "patches", role: "group", "aria-label": "patches of the image" },
    ...buttons,
  );
  grid.style.setProperty("--rows", String(rows));
  moveByKeys(grid, buttons, rows);
  const whole = wholeButton(arch, choose);

  const show = (seen) => {
    const most = largest(seen.weights.subarray(skip)) || 1;
    buttons.forEach((button, place) => {
      const patch = seen.changes.order ? seen.changes.order[place] : place;
      const part = {
        left: (patch % rows) * arch.patch,
        top: Math.floor(patch / rows) * arch.patch,
        side: arch.patch,
      };
      paintImage(button.querySelector("canvas"), about, seen.pixels, part);
      showWeight(button, place, seen, seen.weights[skip + place], most, arch);
      button.setAttribute("aria-pressed", String(seen.token === skip + place));
    });
    showWhole(whole, seen);
  };
  const hint =
    "Orange, and in percent: how much the chosen token looks at each patch. Point at another, or click it.";
  return { element: h("div", { class: "patch-board" }, h("p", { class: "hint" }, hint), whole, grid), show };
}

function patchButton(patch, arch, choose, click, skip) {
  return h(
    "button",
    {
      type: "button",
      class: "patch",
      tabindex: patch ? -1 : 0,
      onclick: () => click(patch),
      onpointerenter: (event) => event.pointerType === "mouse" && choose(skip + patch, true),
    },
    h("canvas", { "aria-hidden": "true" }),
    h("span", { class: "heat", "aria-hidden": "true" }),
    arch.patches <= NUMBERS_UP_TO ? h("span", { class: "figure", "aria-hidden": "true" }) : null,
  );
}

/** The colour, the figure and the words of one patch. */
function showWeight(button, place, seen, weight, most, arch) {
  const isOff = seen.changes.hidden.includes(place);
  const isMoved = seen.changes.order !== null && seen.changes.order[place] !== place;
  button.style.setProperty("--heat", String(isOff ? 0 : weight / most));
  button.classList.toggle("off", isOff);
  button.classList.toggle("moved", isMoved);
  button.classList.toggle("first", seen.first === place);
  const figure = button.querySelector(".figure");
  // What is read aloud must hold what is seen.
  const share = (100 * weight).toFixed(weight < 0.0995 ? 1 : 0);
  if (figure) figure.textContent = isOff ? "off" : share;
  const moved = isMoved ? `, showing ${patchName(arch, seen.changes.order[place])}` : "";
  const state = isOff
    ? "switched off"
    : `${share} % of the attention of ${theToken(arch, seen.token)}`;
  button.setAttribute("aria-label", `${patchName(arch, place)}${moved}: ${state}`);
}

/** The button of the class token, or of the mean over all patches. */
function wholeButton(arch, choose) {
  const token = arch.class_token ? 0 : ALL_PATCHES;
  const button = (of) =>
    h("button", {
      type: "button",
      class: "whole",
      onclick: () => choose(of, false),
      "data-token": of,
      onpointerenter: (event) => event.pointerType === "mouse" && choose(of, true),
    });
  const buttons =
    arch.class_token && arch.pooling === "mean" ? [button(0), button(ALL_PATCHES)] : [button(token)];
  return h("div", { class: "wholes" }, ...buttons);
}

function showWhole(element, seen) {
  for (const button of element.children) {
    const token = Number(button.dataset.token);
    const weight = token === ALL_PATCHES ? "" : ` ${percent(seen.weights[token])}`;
    button.textContent =
      token === ALL_PATCHES ? "All patches (the head reads their mean)" : `Class token${weight}`;
    button.setAttribute("aria-pressed", String(seen.token === token));
  }
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/** Arrow keys move among the patches; only one of them is a stop of the tab key. */
function moveByKeys(grid, buttons, rows) {
  grid.addEventListener("keydown", (event) => {
    if (!(event.key in MOVES)) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    const [down, right] = MOVES[event.key];
    const [row, column] = [Math.floor(at / rows) + down, (at % rows) + right];
    if (at < 0 || row < 0 || row >= rows || column < 0 || column >= rows) return;
    buttons[at].tabIndex = -1;
    buttons[row * rows + column].tabIndex = 0;
    buttons[row * rows + column].focus();
  });
}
