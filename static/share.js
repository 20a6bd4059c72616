"use strict";
/* A grammar as a link: deflated into the part of the address that never leaves the browser. */
(() => {
  const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
  const letters = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

  /** The address of the page with everything a person wrote on it. */
  wb.link = async () => {
    const { notation, start, text, prompt, tests } = wb.state;
    const packed = await through(new TextEncoder().encode(JSON.stringify({ notation, start, text, prompt, tests })), new CompressionStream("deflate-raw"));
    return location.href.replace(/[?#].*$/, "") + "#g=" + letters(packed);
  };

  /** What a link holds, or null: a link may be cut off, or be nobody's. */
  wb.linked = async () => {
    if (!location.hash.startsWith("#g=")) return null;
    try {
      const unpacked = await through(bytes(location.hash.slice(3)), new DecompressionStream("deflate-raw"));
      const held = JSON.parse(new TextDecoder().decode(unpacked));
      const texts = [held.text, held.prompt, ...held.tests];
      if (!["regex", "kbnf"].includes(held.notation) || texts.some((text) => typeof text !== "string")) return null;
      return { name: "shared", title: "Your own", note: "", notation: held.notation, start: String(held.start || "start"), text: held.text, prompt: held.prompt, tests: held.tests.slice(0, 50), accepts: [], rejects: [] };
    } catch { return null; }
  };
})();
