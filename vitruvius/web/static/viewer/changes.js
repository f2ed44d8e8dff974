/** Change the computation: switch patches off, swap two, leave positions out, turn the temperature. */

import { h } from "./dom.js";
import { WITH_BETA } from "./kernels.js";
import { lessonLink } from "./lesson.js";
import { NO_CHANGES } from "./network.js";
import { patchName } from "./tokens.js";

/** @typedef {import("./network.js").Changes} Changes */
/** @typedef {"look" | "off" | "swap"} Mode what a click on a patch does */

/** Whether anything is changed. @param {Changes} changes */
export function isChanged(changes) {
  return changes.hidden.length > 0 || changes.order !== null || !changes.positions || changes.beta !== 1;
}

/** A patch switched off, or on again. @param {Changes} changes @param {number} patch @returns {Changes} */
export function toggled(changes, patch) {
  const isOff = changes.hidden.includes(patch);
  const hidden = isOff ? changes.hidden.filter((other) => other !== patch) : [...changes.hidden, patch];
  return { ...changes, hidden };
}

/** The patches of two places exchanged. @param {Changes} changes @param {number} a @param {number} b @param {number} patches */
export function swapped(changes, a, b, patches) {
  const order = changes.order ? [...changes.order] : Array.from({ length: patches }, (_, index) => index);
  [order[a], order[b]] = [order[b], order[a]];
  return { ...changes, order: order.every((patch, place) => patch === place) ? null : order };
}

/**
 * The inverse temperature of the slider, which has 0 at its left end, 1 in the middle, infinity at its right end.
 * @param {number} place from 0 to 100
 */
export function betaOf(place) {
  if (place <= 0) return 0;
  return place >= 100 ? Infinity : 2 ** ((place - 50) / 10);
}

/** What is changed, a phrase each. @param {Changes} changes @param {import("./weights.js").Arch} arch */
export function phrases(changes, arch) {
  const found = [];
  const count = changes.hidden.length;
  if (count)
    found.push(
      count <= 3
        ? `${changes.hidden.map((patch) => patchName(arch, patch)).join(" and ")} off`
        : `${count} patches off`,
    );
  if (changes.order)
    found.push(`${changes.order.filter((patch, place) => patch !== place).length} patches moved`);
  if (!changes.positions) found.push("no positions");
  if (changes.beta !== 1) found.push(`β = ${betaName(changes.beta)}`);
  return found;
}

/** @param {number} beta */
function betaName(beta) {
  if (beta === Infinity) return "∞, the best key alone";
  if (beta === 0) return "0, the mean of all";
  return beta === 1 ? "1/√d, as trained" : `${beta.toPrecision(2)} · 1/√d`;
}

/**
 * Make the panel.
 * @param {import("./weights.js").Arch} arch
 * @param {{mode: (mode: Mode) => void, change: (change: (changes: Changes) => Changes) => void}} listeners
 * @param {((name: string, fields: Object) => string) | undefined} lesson
 * @returns {{element: HTMLElement, show: (changes: Changes, mode: Mode, first: number | null) => void}}
 */
export function changesPanel(arch, { mode: onMode, change }, lesson) {
  const positions = h("input", {
    type: "checkbox",
    disabled: arch.positions === "none",
    onchange: () => change((changes) => ({ ...changes, positions: !positions.checked })),
  });
  const beta = h("input", {
    type: "range",
    min: 0,
    max: 100,
    step: 1,
    "aria-label": "inverse temperature beta",
    disabled: !WITH_BETA.includes(arch.kernel),
    oninput: () => change((changes) => ({ ...changes, beta: betaOf(Number(beta.value)) })),
  });
  const betaText = h("output", {});
  const reset = h(
    "button",
    { type: "button", class: "reset", onclick: () => change(() => NO_CHANGES) },
    "Undo all changes",
  );
  const modes = modeButtons(onMode);
  const hint = h("p", { class: "hint" });
  const summary = h("p", { class: "summary", "aria-live": "polite" });
  const show = (changes, mode, first) => {
    modes.forEach(([name, field]) => (field.checked = name === mode));
    hint.textContent =
      mode === "swap" && first !== null
        ? `Now the patch that ${patchName(arch, first)} is swapped with.`
        : HINTS[mode];
    positions.checked = !changes.positions;
    if (betaOf(Number(beta.value)) !== changes.beta) beta.value = "50";
    betaText.textContent = `β = ${betaName(changes.beta)}`;
    beta.setAttribute("aria-valuetext", betaText.textContent);
    summary.textContent = isChanged(changes)
      ? `Changed: ${phrases(changes, arch).join("; ")}.`
      : "Nothing is changed.";
    reset.disabled = !isChanged(changes);
  };
  const element = h(
    "div",
    { class: "changes" },
    h(
      "fieldset",
      { class: "modes" },
      h("legend", {}, "A click on a patch"),
      ...modes.map(([, field, label]) => h("label", {}, field, label)),
    ),
    hint,
    h(
      "label",
      { class: "check" },
      positions,
      arch.positions === "none" ? "This network has no positions" : "Leave the positions out",
    ),
    lessonLink("positions", lesson),
    h(
      "div",
      { class: "beta" },
      h("span", { "aria-hidden": "true" }, "Inverse temperature β"),
      h("div", { class: "slider" }, h("span", {}, "0"), beta, h("span", {}, "∞")),
      betaText,
      WITH_BETA.includes(arch.kernel)
        ? null
        : h("p", { class: "hint" }, `The kernel ${arch.kernel} has no temperature.`),
      lessonLink("temperature", lesson),
    ),
    summary,
    reset,
  );
  return { element, show };
}

const HINTS = {
  look: "Shows where that patch looks.",
  off: "Takes the patch away: no token sees it. A second click brings it back.",
  swap: "Exchanges two patches; their positions stay where they are.",
};

/** @returns {[string, HTMLInputElement, string][]} */
function modeButtons(onMode) {
  const words = { look: "looks from it", off: "switches it off", swap: "swaps it with another" };
  return Object.entries(words).map(([mode, text]) => [
    mode,
    h("input", { type: "radio", name: "viewer-mode", value: mode, onchange: () => onMode(mode) }),
    text,
  ]);
}
