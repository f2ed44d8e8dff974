/**
 * Read a network from its file, which vitruvius/web/weights.py writes and documents.
 *
 * The file is in the safetensors format: eight bytes with the length of a JSON header, the header, the numbers.
 * The header's metadata hold a description of the network as JSON and a checksum.
 */

/** @typedef {import("./layers.js").Linear} Linear */

/**
 * A network as data; the fields of the Python class of the same name, and some that follow from them.
 * @typedef {Object} Arch
 * @property {number} image side of the image in pixels
 * @property {number} channels
 * @property {number} classes
 * @property {number} patch side of a patch in pixels
 * @property {number} width
 * @property {number} depth
 * @property {{heads: number, head_dim: number, mlp: number}[]} layers
 * @property {"gelu" | "gelu_tanh" | "relu" | "silu"} activation
 * @property {number} norm_eps
 * @property {boolean} class_token
 * @property {"cls" | "mean"} pooling
 * @property {"tokens" | "pooled"} final_norm
 * @property {"learned" | "sinusoidal" | "none"} positions
 * @property {boolean} qkv_bias
 * @property {boolean} out_bias
 * @property {string} kernel
 * @property {number} patches
 * @property {number} tokens
 */

/**
 * What a file says about its network.
 * @typedef {Object} About
 * @property {string} name
 * @property {string} text one sentence: data, test accuracy
 * @property {string} command how it was trained
 * @property {Arch} arch
 * @property {string[]} classes
 * @property {number[]} mean per channel, of pixels between 0 and 1
 * @property {number[]} std
 * @property {[number, number]} range the smallest and the largest value of a pixel
 * @property {number[]} labels of the test images; -1: unknown
 * @property {"squash" | "crop" | "pad"} [fit] how a picture that is no square becomes one
 */

/** @typedef {{heads: number, headDim: number, mlp: number, norm1: Linear, qkv: Linear, out: Linear,
 *   norm2: Linear, fc1: Linear, fc2: Linear}} Layer */

/**
 * @typedef {Object} Network
 * @property {Arch} arch
 * @property {Linear} patchMap
 * @property {Float32Array | null} classToken
 * @property {Float32Array | null} positions
 * @property {Layer[]} layers
 * @property {Linear} norm
 * @property {Linear} head
 */

const VERSION = 1;

/**
 * Read a file; one that is damaged or of another version is an Error with a sentence.
 * @param {ArrayBuffer} file
 * @returns {{about: About, network: Network, images: Float32Array[]}}
 */
export function readNetwork(file) {
  const { about, tensors } = readTensors(file);
  const { arch } = about;
  const take = (name, length) => {
    const found = tensors.get(name);
    if (!found || found.length !== length)
      throw new Error(`The network's file is damaged: ${name} is not as long as it must be.`);
    return found;
  };
  const map = (name, inputs, outputs, hasBias = true) => ({
    weight: take(`${name}.weight`, inputs * outputs),
    bias: hasBias ? take(`${name}.bias`, outputs) : null,
  });
  const norm = (name) => map(name, 1, arch.width);
  const network = {
    arch,
    patchMap: map("patch_map", arch.channels * arch.patch ** 2, arch.width),
    classToken: arch.class_token ? take("class_token", arch.width) : null,
    positions: arch.positions === "learned" ? take("positions", arch.tokens * arch.width) : sinusoidal(arch),
    layers: arch.layers.map(({ heads, head_dim: headDim, mlp }, index) => {
      const [at, inner] = [`layers.${index}`, heads * headDim];
      return {
        heads,
        headDim,
        mlp,
        norm1: norm(`${at}.norm1`),
        qkv: map(`${at}.attention.qkv`, arch.width, 3 * inner, arch.qkv_bias),
        out: map(`${at}.attention.out`, inner, arch.width, arch.out_bias),
        norm2: norm(`${at}.norm2`),
        fc1: map(`${at}.mlp.0`, arch.width, mlp),
        fc2: map(`${at}.mlp.3`, mlp, arch.width),
      };
    }),
    norm: norm("norm"),
    head: map("head", arch.width, arch.classes),
  };
  const size = arch.channels * arch.image ** 2;
  const all = take("images", about.labels.length * size);
  return {
    about,
    network,
    images: about.labels.map((_, index) => all.slice(index * size, (index + 1) * size)),
  };
}

/**
 * The tensors of a file as float32, by name, and what it says about itself.
 * @param {ArrayBuffer} file
 * @returns {{about: About, tensors: Map<string, Float32Array>}}
 */
export function readTensors(file) {
  const damaged = () => new Error("The network's file is damaged: it does not match its checksum.");
  const length = file.byteLength >= 8 ? Number(new DataView(file).getBigUint64(0, true)) : Infinity;
  if (8 + length > file.byteLength) throw damaged();
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  } catch {
    throw damaged();
  }
  const { network, crc32: claimed, version } = header.__metadata__ ?? {};
  if (Number(version) !== VERSION)
    throw new Error(`The network's file has version ${version}; this page reads version ${VERSION}.`);
  const data = new Uint8Array(file, 8 + length);
  if (crc32(data, crc32(new TextEncoder().encode(network))) !== Number(claimed)) throw damaged();
  const tensors = new Map();
  for (const [
    name,
    {
      dtype,
      data_offsets: [start, end],
    },
  ] of Object.entries(header).filter(([name]) => name !== "__metadata__")) {
    tensors.set(name, numbers(dtype, file.slice(8 + length + start, 8 + length + end)));
  }
  return { about: JSON.parse(network), tensors };
}

/** Bytes as float32; pixels of one byte become 0 to 1. @param {string} dtype @param {ArrayBuffer} bytes */
function numbers(dtype, bytes) {
  if (dtype === "F32") return new Float32Array(bytes);
  if (dtype === "F16") return Float32Array.from(new Uint16Array(bytes), fromHalf);
  if (dtype === "U8") return Float32Array.from(new Uint8Array(bytes), (value) => value / 255);
  throw new Error(`The network's file is damaged: numbers of type ${dtype} are not known.`);
}

/**
 * A float16 (sign, 5 bits of exponent, 10 bits of fraction) as a number.
 * @param {number} bits
 * @returns {number}
 */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/**
 * CRC-32 (ISO 3309), as zlib computes it.
 * @param {Uint8Array} bytes
 * @param {number} start the checksum of what stands before
 * @returns {number}
 */
export function crc32(bytes, start = 0) {
  let crc = ~start;
  for (let i = 0; i < bytes.length; i++) crc = CRC_TABLE[(crc ^ bytes[i]) & 0xff] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** The positions of Vaswani et al. (2017), (N, D); null for a network without. @param {Arch} arch */
function sinusoidal(arch) {
  if (arch.positions !== "sinusoidal") return null;
  const table = new Float32Array(arch.tokens * arch.width);
  for (let token = 0; token < arch.tokens; token++) {
    for (let i = 0; i < arch.width; i++) {
      const angle = token * Math.exp((-Math.log(10000) * (i - (i % 2))) / arch.width);
      table[token * arch.width + i] = i % 2 ? Math.cos(angle) : Math.sin(angle);
    }
  }
  return table;
}
