/* Parts of the page that few visitors open. Their scripts are loaded when they are first needed; the last line of such
   a script calls ``arrived``. */

/** @type {Map<string, Promise<unknown>>} */
const loading = new Map();
const waiting = new Map();

/** What a late module exports. @param {string} entry @returns {Promise<any>} */
export function late(entry) {
  const asked =
    loading.get(entry) ??
    new Promise((resolve, reject) => {
      waiting.set(entry, resolve);
      const script = document.createElement("script");
      script.src = LATE[entry];
      script.addEventListener("error", () => {
        loading.delete(entry); // the next call tries again
        reject(new Error(`${LATE[entry]} was not loaded`));
      });
      document.head.append(script);
    });
  loading.set(entry, asked);
  return asked;
}

/** @param {string} entry @param {unknown} exported */
export function arrived(entry, exported) {
  waiting.get(entry)?.(exported);
}
