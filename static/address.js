/* The parameters of the page's address, and its fragment. */

export const parameters = () => new URLSearchParams(location.search);

/** Set parameters, null removes one; the page does not load anew.
    @param {Record<string, string | null>} changes @param {string} [hash] */
export function setParameters(changes, hash = location.hash) {
  const query = parameters();
  for (const [name, value] of Object.entries(changes))
    if (value === null) query.delete(name);
    else query.set(name, value);
  const rest = String(query).replace(/=(?=&|$)/g, "");
  history.replaceState(null, "", (rest ? `?${rest}` : location.pathname) + hash);
}
