// Compute images in Node as the viewer does in a browser: forward.mjs FILE CHANGES OUT.
// CHANGES is a list of JSON objects of the viewer's changes, "inf" for an infinite beta. OUT gets float32 numbers:
// for each change and image of the file the logits, then the attention weights of every layer.
import { readFileSync, writeFileSync } from "node:fs";
import { browserSource } from "../../vitruvius/web/static/viewer/source.js";

const [file, changes, out] = process.argv.slice(2);
const bytes = readFileSync(file);
const source = browserSource(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
const { images } = await source.describe();
const parts = [];
for (const change of JSON.parse(changes)) {
  const beta = change.beta === "inf" ? Infinity : change.beta;
  for (const pixels of images) {
    const { logits, attention } = await source.forward(pixels, { ...change, beta });
    parts.push(logits, ...attention);
  }
}
const length = parts.reduce((sum, part) => sum + part.length, 0);
const all = new Float32Array(length);
let at = 0;
for (const part of parts) {
  all.set(part, at);
  at += part.length;
}
writeFileSync(out, new Uint8Array(all.buffer));
