/** Numbers as pictures: images, patches and heat maps on small canvases that the style sheet enlarges. */

/** @typedef {import("./weights.js").About} About */

/** Colours from no weight to the most, as red, green, blue: dark blue over orange to pale yellow. */
const RAMP = [
  [17, 24, 48],
  [63, 48, 110],
  [146, 53, 110],
  [222, 84, 72],
  [250, 158, 59],
  [252, 240, 176],
];

const LARGEST = 1024; // pixels of an uploaded picture's side

/**
 * A colour of the ramp.
 * @param {number} share from 0 to 1
 * @returns {number[]}
 */
export function heatColour(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(at), RAMP.length - 2);
  return RAMP[low].map((value, index) => Math.round(value + (at - low) * (RAMP[low + 1][index] - value)));
}

/**
 * Draw an image, or one patch of it.
 * @param {HTMLCanvasElement} canvas gets one pixel per pixel
 * @param {About} about
 * @param {Float32Array} pixels (C, H, W) in the range of the data
 * @param {{left: number, top: number, side: number}} part
 */
export function paintImage(canvas, about, pixels, part = { left: 0, top: 0, side: about.arch.image }) {
  const { image, channels } = about.arch;
  const [low, high] = about.range;
  const shade = (channel, at) => (255 * (pixels[channel * image ** 2 + at] - low)) / (high - low);
  const colour = (at) => {
    if (channels === 3) return [shade(0, at), shade(1, at), shade(2, at)];
    let total = 0;
    for (let channel = 0; channel < channels; channel++) total += shade(channel, at);
    return [total / channels, total / channels, total / channels];
  };
  paint(canvas, part.side, (x, y) => colour((part.top + y) * image + part.left + x));
}

/**
 * Draw a square of numbers as a heat map.
 * @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>} values row by row
 * @param {number} most the number that gets the brightest colour
 */
export function paintHeat(canvas, values, most) {
  const side = Math.round(Math.sqrt(values.length));
  paint(canvas, side, (x, y) => heatColour(values[y * side + x] / (most || 1)));
}

/** @param {HTMLCanvasElement} canvas @param {number} side @param {(x: number, y: number) => number[]} colour */
function paint(canvas, side, colour) {
  if (canvas.width !== side) canvas.width = canvas.height = side;
  const context = canvas.getContext("2d");
  const data = context.createImageData(side, side);
  for (let at = 0; at < side ** 2; at++)
    data.data.set([...colour(at % side, Math.floor(at / side)), 255], 4 * at);
  context.putImageData(data, 0, 0);
}

/**
 * A picture file as pixels of a network: made a square as the training pictures were, grey or coloured.
 * @param {File} file
 * @param {About} about
 * @returns {Promise<Float32Array>}
 */
export async function readPicture(file, about) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name} is not a picture that this browser can read.`);
  }
  const { image: side, channels } = about.arch;
  const [low, high] = about.range;
  const colours = [0, 1, 2].map((channel) => resized(plane(bitmap, channel, about.fit), side));
  const grey = colours[0].map((red, at) => 0.299 * red + 0.587 * colours[1][at] + 0.114 * colours[2][at]);
  const planes = Array.from({ length: channels }, (_, channel) => (channels === 3 ? colours[channel] : grey));
  return Float32Array.from(
    planes.flatMap((values) => Array.from(values)),
    (shade) => low + ((high - low) * shade) / 255,
  );
}

/** One colour of a picture, of a large one at most LARGEST pixels per side. */
function plane(bitmap, channel, fit) {
  const part = visiblePart(bitmap, fit);
  const shrink = Math.min(1, LARGEST / Math.max(part.width, part.height));
  const [width, height] = [part.width, part.height].map((length) => Math.max(1, Math.round(length * shrink)));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  const [left, top] = [-part.left * shrink, -part.top * shrink];
  context.drawImage(bitmap, left, top, bitmap.width * shrink, bitmap.height * shrink);
  const { data } = context.getImageData(0, 0, width, height);
  const values = Float32Array.from({ length: width * height }, (_, at) => data[4 * at + channel]);
  return { width, height, values };
}

/** What of a picture is taken: all of it, the square in its centre, or a square around it with black bars. */
function visiblePart({ width, height }, fit) {
  if (fit !== "crop" && fit !== "pad") return { left: 0, top: 0, width, height };
  const side = fit === "crop" ? Math.min(width, height) : Math.max(width, height);
  return { left: (width - side) / 2, top: (height - side) / 2, width: side, height: side };
}

/**
 * A plane scaled to a square, rows first, by the filter of Pillow's BILINEAR, with which `vitruvius predict` reads.
 * @param {{width: number, height: number, values: Float32Array}} plane
 * @param {number} side
 */
export function resized({ width, height, values }, side) {
  const across = filter(width, side);
  const narrow = new Float32Array(height * side);
  for (let y = 0; y < height; y++) {
    across.forEach(({ start, weights }, x) => {
      narrow[y * side + x] = weights.reduce(
        (sum, weight, i) => sum + weight * values[y * width + start + i],
        0,
      );
    });
  }
  const found = new Float32Array(side * side);
  filter(height, side).forEach(({ start, weights }, y) => {
    for (let x = 0; x < side; x++) {
      found[y * side + x] = weights.reduce(
        (sum, weight, i) => sum + weight * narrow[(start + i) * side + x],
        0,
      );
    }
  });
  return found;
}

/** Which pixels a new pixel is a mean of: a triangle around its centre, as wide as pixels shrink. */
function filter(from, to) {
  const scale = Math.max(1, from / to);
  return Array.from({ length: to }, (_, index) => {
    const centre = ((index + 0.5) * from) / to;
    const start = Math.max(0, Math.floor(centre - scale + 0.5));
    const end = Math.min(from, Math.floor(centre + scale + 0.5));
    const raw = Array.from({ length: end - start }, (_, i) =>
      Math.max(0, 1 - Math.abs(start + i + 0.5 - centre) / scale),
    );
    const total = raw.reduce((sum, weight) => sum + weight, 0);
    return { start, weights: raw.map((weight) => weight / total) };
  });
}
