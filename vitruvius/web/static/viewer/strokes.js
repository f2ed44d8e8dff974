/** Drawing as arithmetic on pixels: strokes of a round brush, centring, inversion. */

/** @typedef {import("./weights.js").About} About */

/**
 * Draw a line with a round, soft brush.
 * @param {Float32Array} pixels (C, H, W), changed in place
 * @param {About} about
 * @param {{x: number, y: number}[]} line its two ends, in pixels
 * @param {number[]} colour one number per channel, in the range of the data
 */
export function stroke(pixels, about, [from, to], colour) {
  const side = about.arch.image;
  const radius = side / 28;
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = dx * dx + dy * dy || 1;
  for (let at = 0; at < side ** 2; at++) {
    const [x, y] = [(at % side) + 0.5, Math.floor(at / side) + 0.5];
    const along = Math.min(1, Math.max(0, ((x - from.x) * dx + (y - from.y) * dy) / length));
    const away = Math.hypot(x - from.x - along * dx, y - from.y - along * dy);
    const ink = Math.min(1, Math.max(0, 1 - (away - radius * 0.8) / radius));
    if (ink === 0) continue;
    colour.forEach((value, channel) => {
      const index = channel * side ** 2 + at;
      // A stroke only brings a pixel nearer to the colour: crossing lines do not erase one another's edges.
      const wanted = about.range[0] + ink * (value - about.range[0]);
      pixels[index] =
        value > about.range[0] ? Math.max(pixels[index], wanted) : pixels[index] * (1 - ink) + value * ink;
    });
  }
}

/**
 * Bright and dark exchanged.
 * @param {Float32Array} pixels
 * @param {About} about
 */
export function inverted(pixels, about) {
  return pixels.map((value) => about.range[0] + about.range[1] - value);
}

/**
 * The drawing moved and scaled as digits of MNIST are: 20 of 28 pixels large, its centre of mass in the middle.
 * @param {Float32Array} pixels (C, H, W)
 * @param {About} about
 */
export function centred(pixels, about) {
  const { image: side, channels } = about.arch;
  const low = about.range[0];
  const box = inkBox(pixels, about);
  if (!box) return pixels;
  const scale = Math.max(box.width, box.height) / ((20 / 28) * side);
  return Float32Array.from({ length: channels * side ** 2 }, (_, index) => {
    const [start, at] = [index - (index % side ** 2), index % side ** 2];
    const x = box.x + ((at % side) + 0.5 - side / 2) * scale - 0.5;
    const y = box.y + (Math.floor(at / side) + 0.5 - side / 2) * scale - 0.5;
    return between(pixels.subarray(start, start + side ** 2), side, x, y, low);
  });
}

/** Size and centre of mass of what is drawn; null for an empty picture. */
function inkBox(pixels, about) {
  const { image: side } = about.arch;
  const [low, high] = about.range;
  let [left, right, top, bottom, mass, x, y] = [side, -1, side, -1, 0, 0, 0];
  pixels.forEach((value, index) => {
    const ink = (value - low) / (high - low);
    if (ink < 0.05) return;
    const [column, row] = [index % side, Math.floor((index % side ** 2) / side)];
    [left, right, top, bottom] = [
      Math.min(left, column),
      Math.max(right, column),
      Math.min(top, row),
      Math.max(bottom, row),
    ];
    mass += ink;
    x += ink * (column + 0.5);
    y += ink * (row + 0.5);
  });
  return mass ? { width: right - left + 1, height: bottom - top + 1, x: x / mass, y: y / mass } : null;
}

/** The value between pixels, by bilinear interpolation; outside the picture it is `outside`. */
function between(plane, side, x, y, outside) {
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, down] = [x - left, y - top];
  const at = (column, row) =>
    column >= 0 && column < side && row >= 0 && row < side ? plane[row * side + column] : outside;
  const upper = at(left, top) * (1 - right) + at(left + 1, top) * right;
  const lower = at(left, top + 1) * (1 - right) + at(left + 1, top + 1) * right;
  return upper * (1 - down) + lower * down;
}
