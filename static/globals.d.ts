// What the scripts know of the page and tsc does not: elements are found by selectors in skeletons. Their kind is that
// of where the result is used, ``HTMLElement`` where nothing says more; and events come from elements.

interface Window {
  wb: object;
}
interface ParentNode {
  querySelector<Tag extends keyof HTMLElementTagNameMap>(tag: Tag): HTMLElementTagNameMap[Tag];
  querySelector<Tag extends keyof SVGElementTagNameMap>(tag: Tag): SVGElementTagNameMap[Tag];
  querySelector<Kind extends Element = HTMLElement>(selector: string): Kind;
  querySelectorAll<Tag extends keyof HTMLElementTagNameMap>(tag: Tag): NodeListOf<HTMLElementTagNameMap[Tag]>;
  querySelectorAll<Tag extends keyof SVGElementTagNameMap>(tag: Tag): NodeListOf<SVGElementTagNameMap[Tag]>;
  querySelectorAll<Kind extends Element = HTMLElement>(selector: string): NodeListOf<Kind>;
}
interface Element {
  closest<Tag extends keyof HTMLElementTagNameMap>(tag: Tag): HTMLElementTagNameMap[Tag];
  closest<Kind extends Element = HTMLElement>(selector: string): Kind;
}
interface EventTarget {
  closest<Kind extends Element = HTMLElement>(selector: string): Kind;
  matches(selector: string): boolean;
}
/** Functions of a state without their first parameter, which ``bound`` of bound.js fills. */
type Bound<State, Functions> = {
  [Name in keyof Functions]: Functions[Name] extends (state: State, ...details: infer Details) => infer Result
    ? (...details: Details) => Result
    : never;
};
/** What ``el`` of dom.js makes of a name, and its children. */
type ElementOf<Name extends string> = Name extends `${infer Tag extends keyof HTMLElementTagNameMap}.${string}`
  ? HTMLElementTagNameMap[Tag]
  : Name extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[Name]
    : HTMLElement;
type Child = Node | string | null | undefined;
/** The addresses of late scripts by their entry. */
declare const LATE: Record<string, string>;
/** The notations that the server has registered; the joined script begins with them. */
declare const NOTATIONS: {
  name: string;
  label: string;
  suffix: string;
  choices: Record<string, (string | boolean)[]>;
  numbers: string[];
  finish: boolean;
  rules: boolean;
  written: boolean;
}[];
