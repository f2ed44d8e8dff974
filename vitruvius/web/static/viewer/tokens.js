/** Names of tokens: "class token", "patch 2, 3" (row and column from 1). */

import { ALL_PATCHES } from "./maps.js";

/** @typedef {import("./weights.js").Arch} Arch */

/**
 * The place of a patch in words.
 * @param {Arch} arch
 * @param {number} patch
 */
export function patchName(arch, patch) {
  const rows = arch.image / arch.patch;
  return `patch ${Math.floor(patch / rows) + 1}, ${(patch % rows) + 1}`;
}

/**
 * A token in words.
 * @param {Arch} arch
 * @param {number} token
 */
export function tokenName(arch, token) {
  if (token === ALL_PATCHES) return "all patches";
  const first = arch.tokens - arch.patches;
  return token < first ? "class token" : patchName(arch, token - first);
}

/**
 * A token in a sentence: "the class token", "patch 2, 3".
 * @param {Arch} arch
 * @param {number} token
 */
export function theToken(arch, token) {
  const name = tokenName(arch, token);
  return name === "class token" ? "the class token" : name;
}

/** The token that the head reads: where looking begins. @param {Arch} arch */
export function readToken(arch) {
  return arch.pooling === "cls" ? 0 : ALL_PATCHES;
}
