/* Texts, tokens and numbers as they are shown: white space and unprintable characters made visible, bytes where a token
   is not a text by itself. */

import { el } from "./dom.js";

/** @import { Step, Token } from "./wire" */

/** @type {Record<string, string>} */
const CLASS_OF = { " ": "ws", "\n": "ws nl", "\t": "ws tab" };
const SHAPELESS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/u;

/** @type {Record<string, string>} */
const SIGNS = { " ": "·", "\n": "⏎", "\t": "⇥" };

/** @param {number} number @param {number} length */
const hexDigits = (number, length) => number.toString(16).toUpperCase().padStart(length, "0");

/** @param {string} character */
const codePointSign = (character) => `<U+${hexDigits(Number(character.codePointAt(0)), 4)}>`;

/** @param {number} byte */
const isPrintable = (byte) => byte > 32 && byte < 127;

/** @param {number} byte */
const byteSign = (byte) => (isPrintable(byte) ? String.fromCharCode(byte) : `<0x${hexDigits(byte, 2)}>`);

/** Text as nodes: white space marked but still itself (so a copy is the real text), the unseen spelt out.
    @param {string} text */
export function visibleText(text) {
  const nodes = document.createDocumentFragment();
  let plain = "";
  const flush = () => {
    if (plain) nodes.append(plain);
    plain = "";
  };
  for (const character of text) {
    const name = CLASS_OF[character];
    if (!name && !SHAPELESS.test(character)) {
      plain += character;
      continue;
    }
    flush();
    nodes.append(el("span", { class: name ?? "byte" }, name ? character : codePointSign(character)));
  }
  flush();
  return nodes;
}

/** @param {string} hex */
const bytesOf = (hex) => (hex.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));

/** A token as nodes: its text, or each byte where it is no text by itself, or the end sign.
    @param {Token} token */
export function tokenNodes(token) {
  if (token.end) return el("span.end", "end");
  if (token.hex === undefined) return visibleText(token.text ?? "");
  const nodes = document.createDocumentFragment();
  for (const byte of bytesOf(token.hex))
    nodes.append(isPrintable(byte) ? byteSign(byte) : el("span.byte", byteSign(byte)));
  return nodes;
}

/** The same on one line, for lists: spaces as dots, breaks as signs.
    @param {Pick<Token, "text" | "hex" | "end">} token */
export function glyphs(token) {
  if (token.end) return "end";
  if (token.hex !== undefined) return bytesOf(token.hex).map(byteSign).join("");
  return (token.text ?? "").replace(/[ \n\t]/g, (blank) => SIGNS[blank]).replace(/[\p{Cc}\p{Cf}]/gu, codePointSign);
}

/** The bytes of a token as hexadecimal digits; null for the end.
    @param {Pick<Token, "text" | "hex" | "end">} token @returns {string | null} */
export const hexOf = (token) =>
  token.end
    ? null
    : (token.hex ??
      [...new TextEncoder().encode(token.text)].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
/** What the grammar reads of a step's token: nothing in the free part of a reasoning model, up to the closing marker.
    @param {Pick<Step, "token" | "free">} step @returns {string | null} */
export const readOf = (step) => step.free ?? hexOf(step.token);
/** The bytes of a token; none of the end.
    @param {Token} token */
export const tokenBytes = (token) =>
  token.end ? [] : token.hex !== undefined ? bytesOf(token.hex) : [...new TextEncoder().encode(token.text)];
/** The text that tokens spell together.
    @param {Token[]} tokens */
export const spelledText = (tokens) => new TextDecoder().decode(new Uint8Array(tokens.flatMap(tokenBytes)));

/** @param {number} p */
export const formatPercent = (p) => (p === 0 ? "0 %" : p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);
export const formatNumber = new Intl.NumberFormat("en-US").format;
/** A count with its noun. @param {number} count @param {string} one */
export const several = (count, one) => `${formatNumber(count)} ${one}${count === 1 ? "" : "s"}`;
/** @param {number | null} b null for infinite */
export const formatBits = (b) => (b === null ? "∞" : b < 0.05 ? "0.0" : b.toFixed(1));
