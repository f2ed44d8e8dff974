/** The picture: draw with mouse, finger or keyboard, upload one, or take a test image. */

import { h } from "./dom.js";
import { paintImage, readPicture } from "./picture.js";
import { centred, inverted, stroke } from "./strokes.js";

const FILE_LIMIT = 20e6; // bytes of an uploaded picture

/** @typedef {import("./source.js").Description} Description */

/**
 * @typedef {Object} Picture what the person chose
 * @property {Float32Array} pixels
 * @property {number | null} image the index of an unchanged test image
 */

/**
 * Make the panel.
 * @param {Description} about
 * @param {(picture: Picture) => void} onChange
 * @param {(message: string) => void} onError
 * @returns {{element: HTMLElement, choose: (image: number) => void}}
 */
export function drawPanel(about, onChange, onError) {
  const size = about.arch.channels * about.arch.image ** 2;
  const canvas = padCanvas(about);
  const pad = h("div", { class: "pad-frame" }, canvas, h("span", { class: "pen", "aria-hidden": "true" }));
  let pixels = new Float32Array(size).fill(about.range[0]);
  let erases = false;

  const set = (next, image = null) => {
    pixels = next;
    paintImage(canvas, about, pixels);
    thumbnails.forEach((button, index) => button.setAttribute("aria-pressed", String(index === image)));
    onChange({ pixels: pixels.slice(), image });
  };
  const colourField = about.arch.channels === 3 ? h("input", { type: "color", value: "#ffffff" }) : null;
  const draw = (from, to) => {
    stroke(pixels, about, [from, to], erases ? emptyColour(about) : penColour(about, colourField));
    set(pixels);
  };
  const eraser = h(
    "button",
    {
      type: "button",
      "aria-pressed": "false",
      onclick: () => {
        erases = !erases;
        eraser.setAttribute("aria-pressed", String(erases));
      },
    },
    "Eraser",
  );
  const action = (words, change) => h("button", { type: "button", onclick: () => set(change()) }, words);
  const upload = uploadButton(about, set, onError);
  const thumbnails = about.images.map((image, index) =>
    thumbnail(about, image, index, () => set(image.slice(), index)),
  );
  acceptStrokes(canvas, about, draw);
  acceptFiles(canvas, about, set, onError);

  const element = h(
    "section",
    { class: "draw", "aria-label": "your picture" },
    h("h2", {}, "Your picture"),
    h("p", { class: "hint" }, "Draw here, with the mouse, a finger, or arrow keys and space."),
    pad,
    h(
      "div",
      { class: "tools" },
      action("Clear", () => new Float32Array(size).fill(about.range[0])),
      eraser,
      about.arch.channels === 1 ? action("Centre", () => centred(pixels, about)) : null,
      action("Invert", () => inverted(pixels, about)),
      upload,
      colourField && h("label", { class: "colour" }, "Colour ", colourField),
    ),
    h("h3", {}, "Test images"),
    h("div", { class: "thumbnails", role: "group", "aria-label": "test images" }, ...thumbnails),
  );
  return { element, choose: (image) => set(about.images[image].slice(), image) };
}

function padCanvas(about) {
  const side = about.arch.image;
  return h("canvas", {
    class: "pad",
    width: side,
    height: side,
    tabindex: 0,
    role: "application",
    "aria-label": `Drawing pad of ${side} by ${side} pixels. Arrow keys move the pen, space puts it down or lifts it.`,
  });
}

function thumbnail(about, image, index, onclick) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  paintImage(canvas, about, image);
  const label = about.labels[index];
  const words = label >= 0 ? `test image ${index + 1}: ${about.classes[label]}` : `test image ${index + 1}`;
  return h(
    "button",
    { type: "button", "aria-pressed": "false", "aria-label": words, title: words, onclick },
    canvas,
  );
}

function emptyColour(about) {
  return new Array(about.arch.channels).fill(about.range[0]);
}

function penColour(about, field) {
  const [low, high] = about.range;
  if (!field) return new Array(about.arch.channels).fill(high);
  return [1, 3, 5].map((at) => low + ((high - low) * parseInt(field.value.slice(at, at + 2), 16)) / 255);
}

function uploadButton(about, set, onError) {
  const field = h("input", {
    type: "file",
    accept: "image/*",
    class: "visually-hidden",
    onchange: () => {
      if (field.files.length) take(field.files[0], about, set, onError);
      field.value = "";
    },
  });
  return h("label", { class: "button" }, field, "Upload");
}

/** Read a picture file and show it. */
async function take(file, about, set, onError) {
  try {
    if (file.size > FILE_LIMIT)
      throw new Error(
        `${file.name} has ${(file.size / 1e6).toFixed(0)} MB; at most ${FILE_LIMIT / 1e6} MB are read.`,
      );
    set(await readPicture(file, about));
  } catch (error) {
    onError(error.message);
  }
}

/** Take files that are dropped on the pad. */
function acceptFiles(canvas, about, set, onError) {
  canvas.addEventListener("dragover", (event) => event.preventDefault());
  canvas.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) take(event.dataTransfer.files[0], about, set, onError);
  });
}

/** Turn pointer and keys into strokes. */
function acceptStrokes(canvas, about, draw) {
  const side = about.arch.image;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return {
      x: ((event.clientX - box.left) / box.width) * side,
      y: ((event.clientY - box.top) / box.height) * side,
    };
  };
  let last = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = place(event);
    draw(last, last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!last) return;
    const next = place(event);
    draw(last, next);
    last = next;
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (last = null));
  acceptKeys(canvas, side, draw);
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function acceptKeys(canvas, side, draw) {
  let pen = { x: side / 2, y: side / 2 };
  let isDown = false;
  const showPen = () => {
    canvas.parentElement.style.setProperty("--pen-x", String(pen.x / side));
    canvas.parentElement.style.setProperty("--pen-y", String(pen.y / side));
  };
  canvas.addEventListener("focus", showPen);
  canvas.addEventListener("keydown", (event) => {
    if (event.key === " ") {
      isDown = !isDown;
      canvas.classList.toggle("pen-down", isDown);
      if (isDown) draw(pen, pen);
    } else if (event.key in STEPS) {
      const [right, down] = STEPS[event.key].map((step) => (step * side) / 28);
      const next = {
        x: Math.min(side, Math.max(0, pen.x + right)),
        y: Math.min(side, Math.max(0, pen.y + down)),
      };
      if (isDown) draw(pen, next);
      pen = next;
      showPen();
    } else {
      return;
    }
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => {
    isDown = false;
    canvas.classList.remove("pen-down");
  });
}
