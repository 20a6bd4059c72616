/* A grammar as a link: deflated into the part of the address that never leaves the browser. */

(() => {
  const VERSION = "2"; // links without a number are the first version's: tests were texts alone
  const LONGEST = 1 << 20; // bytes a link may unfold to; a few bytes of deflate can spell gigabytes
  const LONG = 2000,
    TOO_LONG = 8000; // characters: chats and trackers cut the one, some servers refuse the other

  const letters = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

  /** All of the bytes through a stream, but not more of them than anybody would write. */
  async function through(data, stream) {
    const parts = [],
      reader = new Blob([data]).stream().pipeThrough(stream).getReader();
    let size = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > LONGEST) {
        reader.cancel();
        throw new RangeError("more than a link holds");
      }
      parts.push(value);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  /** FNV-1a: a link that lost a letter on its way must not open as another grammar. */
  function check(text) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return (hash >>> 0).toString(36);
  }

  /** What is not as everybody has it; the rest needs no room in a link. */
  function brief(work) {
    const usual = { start: "start", style: "", prompt: "", tab: "" };
    const kept = Object.entries(work).filter(
      ([name, value]) => value !== usual[name] && (typeof value !== "object" || Object.keys(value).length),
    );
    return JSON.stringify(Object.fromEntries(kept));
  }

  /** The part after the #: ``g=2.CHECK.LETTERS``. */
  wb.fragment = async (work = wb.work.now()) => {
    const text = brief(work);
    const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
    return `g=${VERSION}.${check(text)}.${letters(packed)}`;
  };

  async function unfolded(fragment) {
    const [version, sum, packed] = fragment.includes(".") ? fragment.split(".") : ["1", "", fragment];
    if (version !== VERSION && version !== "1") throw new RangeError("a later version's");
    const text = new TextDecoder("utf-8", { fatal: true }).decode(
      await through(bytes(packed ?? ""), new DecompressionStream("deflate-raw")),
    );
    if (version === VERSION && sum !== check(text)) throw new RangeError("not as it was sent");
    return JSON.parse(text);
  }

  /** Inside a Space the page stands in a frame; the address a visitor sees and copies is the frame's owner's. */
  const owner = () =>
    wb.state.space ? `https://huggingface.co/spaces/${wb.state.space}` : location.origin + location.pathname;
  const framed = () => window.parent !== window && location.hostname.endsWith(".hf.space");

  /** Put the fragment into the address, the owner's too: huggingface.co listens for this message. */
  function show(fragment) {
    history.replaceState(null, "", location.pathname + location.search + (fragment && `#${fragment}`));
    if (framed()) window.parent.postMessage({ hash: fragment && `#${fragment}` }, "https://huggingface.co");
  }

  /** The address of the page with everything a person wrote on it. */
  wb.link = async () => `${owner()}#${await wb.fragment()}`;

  /** The Share button: the link goes into the address and the clipboard; a long one is told about. */
  wb.share = async (button) => {
    const fragment = await wb.fragment(),
      link = `${owner()}#${fragment}`;
    show(fragment);
    await wb.copy(link, button);
    const size = wb.number(link.length);
    if (link.length > TOO_LONG)
      wb.notice(`The link has ${size} characters; many programs will cut it. Export the grammar as a file instead.`);
    else if (link.length > LONG)
      wb.notice(`Copied. The link has ${size} characters; chats and issue trackers may cut it.`);
    else
      wb.notice(
        `Copied: a link of ${size} characters that contains the grammar, prompt, tests and settings. Nothing is stored on a server.`,
      );
    return link;
  };
  /** The address no longer says what stands on the page. */
  wb.unlink = () => {
    if (location.hash.startsWith("#g=")) show("");
  };

  /** What a link holds, as an example; null for no link, and for one that was cut off or is nobody's. */
  wb.linked = async () => {
    if (!location.hash.startsWith("#g=")) return null;
    try {
      const held = wb.work.checked(await unfolded(location.hash.slice(3)));
      if (held) return { ...wb.work.asExample(held, "Shared grammar"), from: "link" };
    } catch {
      /* reported below */
    }
    wb.notice(
      "This link cannot be read: it is incomplete, or a later version wrote it. Ask for the link again; the page shows an example instead.",
    );
    return null;
  };

  // a link put into the address of a page that is open already
  window.addEventListener("hashchange", async () => {
    const held = await wb.linked();
    if (held) wb.emit("open", held);
  });

  /** A sentence at the lower edge of the page, for a while; read aloud too. */
  let box = null,
    timer = 0;
  wb.notice = (text) => {
    if (!box) {
      box = wb.el("div", { class: "wb notice", role: "status" });
      document.body.append(box);
    }
    box.textContent = text;
    box.classList.add("on");
    clearTimeout(timer);
    timer = setTimeout(() => box.classList.remove("on"), Math.max(4000, 60 * text.length));
  };
})();
