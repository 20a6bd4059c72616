// What the scripts know of the page and tsc does not: elements are found by selectors in skeletons whose elements have
// known kinds, and events come from elements.

interface Window {
  wb: object;
}
interface ParentNode {
  querySelector(selector: string): any;
  querySelectorAll(selector: string): NodeListOf<any>;
}
interface Element {
  closest(selector: string): any;
}
interface EventTarget {
  closest(selector: string): any;
  matches(selector: string): boolean;
}
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
