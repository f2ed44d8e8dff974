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
 * A picture file as pixels of a network: stretched to its square, grey or coloured as it needs.
 * @param {Blob} file
 * @param {About} about
 * @returns {Promise<Float32Array>}
 */
export async function readPicture(file, about) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`${file.name ?? "This file"} is not a picture that this browser can read.`);
  }
  const side = about.arch.image;
  const context = shrunk(bitmap, side).getContext("2d", { willReadFrequently: true });
  const { data } = context.getImageData(0, 0, side, side);
  const [low, high] = about.range;
  return Float32Array.from({ length: about.arch.channels * side ** 2 }, (_, index) => {
    const [channel, at] = [Math.floor(index / side ** 2), 4 * (index % side ** 2)];
    const grey = 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
    const shade = about.arch.channels === 3 ? data[at + channel] : grey;
    return low + ((high - low) * shade) / 255;
  });
}

/** Halve a picture until it is small: one large step would leave most of its pixels out. */
function shrunk(bitmap, side) {
  let [current, width, height] = [bitmap, bitmap.width, bitmap.height];
  for (;;) {
    [width, height] = [Math.max(side, Math.ceil(width / 2)), Math.max(side, Math.ceil(height / 2))];
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(current, 0, 0, width, height);
    current = canvas;
    if (width === side && height === side) return canvas;
  }
}
