/** A network that the server computes, as the source of a viewer (viewer.js says what a source is). */

/** @param {string} address of the network, `/look/ID` */
export function serverSource(address) {
  let about = null;

  const ask = async (question, pixels, head) => {
    // JSON has no Infinity.
    const changes = { ...head.changes, beta: head.changes.beta === Infinity ? "inf" : head.changes.beta };
    const line = new TextEncoder().encode(`${JSON.stringify({ ...head, changes })}\n`);
    const numbers = new Uint8Array(Float32Array.from(pixels).buffer);
    const body = new Uint8Array(line.length + numbers.length);
    body.set(line);
    body.set(numbers, line.length);
    return checked(await fetch(`${address}/${question}`, { method: "POST", body }));
  };

  return {
    async describe() {
      if (!about) {
        const found = await (await checked(await fetch(`${address}/description`))).json();
        about = { ...found, images: found.images.map((text) => image(text, found.pixels)) };
      }
      return about;
    },
    async forward(pixels, changes) {
      const { arch } = await this.describe();
      const numbers = new Float32Array(await (await ask("forward", pixels, { changes })).arrayBuffer());
      let at = arch.classes;
      const attention = arch.layers.map(({ heads }) => {
        const size = heads * arch.tokens ** 2;
        at += size;
        return numbers.subarray(at - size, at);
      });
      return { logits: numbers.subarray(0, arch.classes), attention };
    },
    async detail(pixels, changes, place) {
      const found = await (await ask("detail", pixels, { changes, at: place })).json();
      const vectors = (rows) => rows.map((row) => Float32Array.from(row));
      const plain = ["x", "q", "weights", "mixed", "output"].map((name) => [name, Float32Array.from(found[name])]);
      return { ...Object.fromEntries(plain), keys: vectors(found.keys), values: vectors(found.values) };
    },
  };
}

/** The answer of the server, or an error with its sentence. */
async function checked(response) {
  if (response.ok) return response;
  const sentence = await response.text();
  throw new Error(sentence.length < 300 && !sentence.startsWith("<") ? sentence : `The server answered ${response.status}.`);
}

/** The pixels of an image in 0..1, or as they are. */
function image(text, kind) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  return kind === "uint8" ? Float32Array.from(bytes, (value) => value / 255) : new Float32Array(bytes.buffer);
}
