// Generated from wire*.py by `python -m workbench.app.ui.wire_declarations`.

/** An answer to a request. A refusal has only ``why``, a fault only ``fault``. */
export type Answer<T> = [T] extends [string]
  ? T
  : Omit<Exclude<T, Refusal>, keyof Failure> & Failure;

/** The fields that say whether there is an answer. */
export interface Failure {
  ok?: boolean;
  why?: string;
  fault?: string;
  busy?: number;
}

/** What a part of the page is mounted with. */
export interface Context {
  element: HTMLElement;
  server: Server;
}

/** What a part is mounted with that shows what the page is opened with. */
export interface OpeningContext extends Context {
  opening: PageRecord & Release;
}

/** The question could not be answered: a sentence for the reader.

    ``busy``: how many questions wait, where it was not taken; the page asks again. */
export interface Fault {
  fault: string;
  busy?: number;
}

/** There is no such answer: a sentence that says why. */
export interface Refusal {
  ok: false;
  why: string;
}

/** Whether it was done. */
export interface Done {
  ok: boolean;
}

/** A piece of a text, in code points. */
export interface Span {
  start: number;
  end: number;
}

/** A test of an example. */
export interface ExpectedText {
  text: string;
  expect: string | null;
}

/** A token: as text, as hexadecimal digits where it is no text by itself, or the end. */
export interface Token {
  id: number;
  text?: string;
  hex?: string;
  end?: true;
}

/** A token of the prompt; special ones have a name instead of a text. */
export interface ReadToken {
  id: number;
  text?: string;
  hex?: string;
  end?: true;
  special: boolean;
}

/** The prompt's tokens as the model reads them; ``most`` fit into its context.

    ``too_long``: why no run can begin, or empty. */
export interface ReadPrompt {
  ok: true;
  tokens: ReadToken[];
  count: number;
  most: number | null;
  too_long: string;
}

/** A model that can propose tokens. */
export interface DraftModel {
  name: string;
  title: string;
}

/** The models that can propose tokens for the chosen one. */
export interface DraftModels {
  ok: true;
  drafts: DraftModel[];
}

/** A token's probability after every stage of sampling, where they are recorded. */
export interface AfterStages {
  after_stages?: number[];
}

/** The names of the stages of sampling in their order, where they are recorded. */
export interface Staged {
  stages?: string[];
}

/** A token with its probability before the mask and after it; ``ok`` where it is allowed. */
export interface Candidate {
  id: number;
  text?: string;
  hex?: string;
  end?: true;
  after_stages?: number[];
  before: number;
  after: number;
  ok: boolean;
}

/** A token that was searched for; ``rankm`` is its rank among the allowed. */
export interface Found {
  id: number;
  text?: string;
  hex?: string;
  end?: true;
  after_stages?: number[];
  before: number;
  after: number;
  ok: boolean;
  rank: number;
  rankm: number | null;
}

/** A rule on the stack, and the state it returns to; ``number`` is its name in pictures. */
export interface Box {
  state: string;
  rule: string;
  number: string;
}

/** The stack before or after a token; of a high one the innermost boxes.

    ``kept`` boxes of the one before are in the one after. ``ways`` counts the readings of the text,
    ``others`` are the stacks of some of them. */
export interface Stack {
  depth: number;
  boxes: Box[];
  ways: number;
  others: Box[][];
  kept?: number;
}

/** The moments of a piece of text by machine: each the state, then those of other readings. */
export interface Path {
  characters?: string[][];
  network?: string[][];
  rules?: string[][];
  stacks?: Stack[];
}

/** Milliseconds. */
export interface Times {
  model: number;
  mask: number;
  advance?: number;
}

/** What the mask let through: ``m`` bits taken (null for infinite), ``kept`` probability. */
export interface Masked {
  m: number | null;
  kept: number;
  allowed: number;
  forced: boolean;
  may_end: boolean;
}

/** Where the machines are: ``read_in`` are the pieces of the grammar that read the token. */
export interface Position {
  state: string;
  path: Path;
  stack: string[];
  rules: string[];
  read_in: Span[];
}

/** The next token, which is not chosen yet. */
export interface PlainTurn {
  m: number | null;
  kept: number;
  allowed: number;
  forced: boolean;
  may_end: boolean;
  state: string;
  path: Path;
  stack: string[];
  rules: string[];
  read_in: Span[];
  stages?: string[];
  i: number;
  cut: boolean;
  ms: Times;
  wanted: Candidate[];
  may: Candidate[];
  k: "turn";
}

/** The tokens that are left, and the fewest that end the text; the end token included. */
export interface Budget {
  left: number;
  needs: number;
}

/** The next token; ``free`` is present, and empty, in the free part of a reasoning model.

    ``budget`` is present if the text must end in its budget. */
export interface Turn {
  m: number | null;
  kept: number;
  allowed: number;
  forced: boolean;
  may_end: boolean;
  state: string;
  path: Path;
  stack: string[];
  rules: string[];
  read_in: Span[];
  stages?: string[];
  i: number;
  cut: boolean;
  ms: Times;
  wanted: Candidate[];
  may: Candidate[];
  k: "turn";
  free?: string;
  budget?: Budget;
}

/** A token of a run.

    ``p``, ``s`` and ``rank`` are the model's own, before the mask; ``pm``, ``sm`` and ``rankm``
    among what the mask allows; ``s`` and ``sm`` in bits, null for infinite. ``loop`` names the
    cycle of the machine the token stays in. */
export interface UnlabelledStep {
  m: number | null;
  kept: number;
  allowed: number;
  forced: boolean;
  may_end: boolean;
  state: string;
  path: Path;
  stack: string[];
  rules: string[];
  read_in: Span[];
  stages?: string[];
  i: number;
  cut: boolean;
  ms: Times;
  wanted: Candidate[];
  may: Candidate[];
  after_stages?: number[];
  k: "step";
  id: number;
  token: Token;
  s: number | null;
  sm: number | null;
  p: number;
  pm: number;
  rank: number;
  rankm: number;
  loop: number | null;
}

/** A token of a run, with the terminal label that reads it, and what a draft model proposed.

    ``free`` is present in the free part of a reasoning model: what the grammar reads of the token,
    in hexadecimal digits; nothing until the closing marker. ``budget`` is that before the token.
    ``read``, in a given text: the first refused token, and those that the model scores alone. */
export interface Step {
  m: number | null;
  kept: number;
  allowed: number;
  forced: boolean;
  may_end: boolean;
  state: string;
  path: Path;
  stack: string[];
  rules: string[];
  read_in: Span[];
  stages?: string[];
  i: number;
  cut: boolean;
  ms: Times;
  wanted: Candidate[];
  may: Candidate[];
  after_stages?: number[];
  k: "step";
  id: number;
  token: Token;
  s: number | null;
  sm: number | null;
  p: number;
  pm: number;
  rank: number;
  rankm: number;
  loop: number | null;
  label?: string;
  free?: string;
  budget?: Budget;
  draft?: Token;
  read?: "refused" | "alone";
}

/** The first token that the tokenizer would have written otherwise, and its own tokens. */
export interface Improper {
  at: number;
  own: Token[];
  at_prompt: boolean;
}

/** Why there is no further token; ``rate`` in tokens a second. */
export interface Stop {
  k: "stop";
  reason: string;
  words: string;
  good: boolean;
  rate?: number;
  perplexity?: number | null;
  repeats?: string;
  proper?: Improper | null;
  value?: string;
}

/** What the model writes with the same prompt and settings but without a mask. */
export interface Alone {
  tokens: Token[];
  accepted: boolean;
}

/** The first line of a recorded run: its settings. */
export interface Head {
  k: "head";
  run?: string;
  temperature?: number;
  seed?: number;
  max_tokens?: number;
  small_tokens?: boolean;
  finish?: boolean;
  monitor?: string;
  alone?: Alone;
  top_k?: number;
  top_p?: number;
  min_p?: number;
  repetition_penalty?: number;
}

/** What the reader waits for. */
export interface Status {
  k: "status";
  text: string;
}

/** The model is there and begins. */
export interface Start {
  k: "start";
  model: string;
}

/** The run cannot continue. */
export interface Error {
  k: "error";
  message: string;
  hint: string | null;
}

export type RunRecord = Head | Status | Start | Step | Stop | Error;

/** The chances of the next token, or the reason for their absence. */
export interface NextAnswer {
  ok: true;
  model: string;
  next: Turn | Stop;
}

/** A token that was taken, and what may be next; no step where nothing may follow. */
export interface TakeAnswer {
  ok: true;
  model: string;
  next: Turn | Stop;
  step: Step | null;
}

/** A given text as the steps of a run; ``end`` says whether the grammar accepts it. */
export interface ReadText {
  ok: true;
  model: string;
  steps: Step[];
  end: Stop;
}

/** Tokens that a text is part of; ``more`` were found but are not listed. */
export interface SearchAnswer {
  ok: true;
  found: Found[];
  more: number;
}

/** For each token why it is forbidden; empty where it is allowed. */
export interface Reasons {
  reasons: string[];
  problem?: string;
}

export interface Cell {
  text: string;
  is: "read" | "fails" | "after" | "more";
}

/** A rule that is being read, and its piece of the grammar. */
export interface StackFrame {
  start: number;
  end: number;
  rule: string;
}

/** A piece of the grammar that could read on, in the terminal around it. */
export interface Place {
  start: number;
  end: number;
  line: number;
  column: number;
  what: string;
  before: string;
  behind: string;
  rule: string;
}

/** How far a token came after a text, and what could have read on there.

    ``before``: the text before the path, in hexadecimal digits. */
export interface Why {
  ok: true;
  so_far: string;
  token: string | null;
  cells: Cell[];
  before: string;
  read: string;
  failing: string;
  allowed: boolean;
  reason: string;
  expected: string;
  may_end: boolean;
  stacks: StackFrame[][];
  left_out: number[];
  spans: Place[];
  complete: boolean;
  path: Path;
}

/** A problem or a piece of advice.

    ``fix`` is a text to put in place of the span, or of the one ``fix_at``. ``rule`` is the rule
    that cannot be read because of the problem, and ``missing_rule`` a rule for an undefined name.
    ``unassertable`` is a keyword of a JSON Schema without which there is no such problem. */
export interface Problem {
  start: number;
  end: number;
  severity: string;
  message: string;
  hint: string | null;
  line: number;
  column: number;
  fix: string | null;
  fix_at?: Span;
  rule?: Span;
  missing_rule?: string;
  unassertable?: string;
}

/** The matches in a text: start and end of each, in code points; of many the first ones.

    ``why`` is empty, or says why the search ended early. */
export interface Matches {
  ok: true;
  spans: number[];
  count: number;
  why: string;
}

/** A word that can be written: what is shown, what is inserted, and the caret from its end. */
export interface Completion {
  text: string;
  about: string;
  insert: string;
  back: number;
}

/** A place in a text and the words that fit there (``completions.Context``). */
export interface CompletionContext {
  before: string;
  names: string;
  where: string;
  eager: boolean;
  items: Completion[];
}

/** All contexts of a notation, the most special ones first. */
export interface Completions {
  contexts: CompletionContext[];
}

/** How long a step took, in milliseconds. */
export interface Phase {
  name: string;
  ms: number;
}

/** A schema in a document around it, with its JSON pointer. */
export interface SchemaInside {
  pointer: string;
  text: string;
}

/** The schemas in a document that is none; ``more`` are not listed. */
export interface SchemasInside {
  kind: string;
  schemas: SchemaInside[];
  more: number;
}

/** What is known of a text, whether or not it can be read.

    ``looks`` names a notation the text rather has; ``inside`` are schemas found in it. */
export interface Empty {
  looks: string;
  inside: SchemasInside | null;
  facts: string[];
  ms: number;
  phases: Phase[];
  problems: Problem[];
  tabs: Record<string, string>;
}

/** What can keep a text's meaning besides its grammar. */
export interface Monitor {
  name: string;
  title: string;
  source: string;
}

/** A grammar, or why the text is none.

    ``empty`` where there is no text, ``unfilled`` where its hole cannot be filled, ``drawable``
    where some rules of a text that is no grammar can be drawn. */
export interface Compiled {
  looks: string;
  inside: SchemasInside | null;
  facts: string[];
  ms: number;
  phases: Phase[];
  problems: Problem[];
  tabs: Record<string, string>;
  ok: boolean;
  monitors?: Monitor[];
  empty?: boolean;
  unfilled?: boolean;
  drawable?: boolean;
}

/** Whether a text is accepted; else where it fails and what was expected there. */
export interface TestResult {
  text: string;
  accepted: boolean;
  at_end: boolean;
  offset: number | null;
  column: number | null;
  expected: string;
  rules: string[];
}

/** The results of all texts, in their order. */
export interface TestResults {
  results: TestResult[];
  problem?: string;
}

/** All advice; ``searched`` says how far ambiguous texts were looked for. */
export interface LintAnswer {
  ok: true;
  problems: Problem[];
  searched: string;
}

/** How long the first mask takes, or the problems with it. */
export interface MaskTimes {
  ok: boolean;
  phases: Phase[];
  problems: Problem[];
}

/** A rule, the rules it calls and those that call it, and its properties. */
export interface Rule {
  name: string;
  places: Span[];
  references: Span[];
  calls: string[];
  called_by: string[];
  flags: string[];
}

/** Every rule, up to a limit. */
export interface OutlineAnswer {
  ok: true;
  rules: Rule[];
  left_out: number;
}

/** A part of a grammar in words, with its span; ``depth`` counts the parts around it. */
export interface WordedPart {
  depth: number;
  sentence: string;
  start: number;
  end: number;
}

/** A grammar in words, a part before its parts; ``cut``: there are more than are listed. */
export interface WordsAnswer {
  ok: true;
  lines: WordedPart[];
  cut: boolean;
}

/** A text outside the language, and the edit that led out of it. */
export interface Miss {
  text: string;
  what: string;
}

/** Texts of the language, and texts that miss it by one edit. */
export interface SampleAnswer {
  ok: true;
  texts: string[];
  misses: Miss[];
  how: string;
}

/** A text. */
export interface Sample {
  text: string;
}

/** A shortest text gained and lost by an edit; ``exact`` where nothing was left out. */
export interface ChangeAnswer {
  ok: true;
  same: boolean;
  exact: boolean;
  gained: Sample | null;
  lost: Sample | null;
  how: string;
}

/** The grammar in another notation. */
export interface Converted {
  ok: true;
  text: string;
  start: string;
}

/** Where a state of a drawn machine is, in pixels. */
export interface StatePosition {
  name: string;
  x: number;
  y: number;
}

/** A layout of a drawn machine. */
export interface Arranged {
  ok: true;
  places: StatePosition[];
}

/** A machine as text, from a file of another tool. */
export interface MachineText {
  ok: true;
  text: string;
}

/** A drawn machine after a beginning of a text; edges by their index in its text. */
export interface StatesRead {
  states: string[];
  edges: number[];
  inside: number[];
  final: boolean;
}

/** A drawn machine along a text, from the empty beginning to the whole text. */
export interface MachinePath {
  ok: true;
  sets: StatesRead[];
}

/** The part of a picture that is seen first. */
export interface Opening {
  x: number;
  y: number;
  scale: number;
  height: number;
}

/** A state of a picture; ``kinds`` as in ``drawing.graph``. */
export interface State {
  id: string;
  label: string;
  title: string;
  kinds: string[];
  rule?: string;
}

/** An edge of a picture: ``count`` labels of which some are listed, what it pops and pushes. */
export interface Edge {
  source: string;
  target: string;
  labels: string[];
  title: string;
  kinds?: string[];
  count?: number;
  pops?: string[];
  pushes?: string[];
  mark?: string;
  detail?: string;
  inside?: string[];
}

/** A drawn node of a parse tree, with its spans (start, end); ``path`` names it. */
export interface TreeNode {
  path: string;
  kind: string;
  label: string;
  text: string;
  characters: number[];
  bytes: number[];
  source: number[];
  open: boolean;
  folded: boolean;
  differs: boolean;
}

/** What a picture of a parse tree knows: ``trees`` 0 (unfinished), 1, or 2 for several. */
export interface Tree {
  trees: number;
  counted: string;
  which: number;
  accepted: boolean;
  expected: string;
  failing: string;
  nodes: TreeNode[];
}

/** A machine, or a part of it, as SVG or as a table, with what can be asked of it.

    ``where`` has the state that shows each state, ``names`` the ids of states by what others call
    them, ``numbers`` those that are shown for states in folded chains, ``follow`` the machine of
    the run whose states are shown. */
export interface Picture {
  ok: true;
  count: string;
  partial: boolean;
  note: string;
  where: Record<string, string>;
  follow: string | null;
  names: Record<string, string>;
  numbers?: Record<string, string>;
  ends: boolean;
  states: State[];
  edges: Edge[];
  svg?: string;
  centre?: string;
  heads?: string[];
  rows?: string[][];
  opening?: Opening;
  whole?: boolean;
  legible?: boolean;
  rules?: Record<string, string>;
  tree?: Tree;
}

/** The tokens of a flag with one stack effect: the server's edges, and where they end. */
export interface FlagSegment {
  text: string;
  parts: number[];
  ends: string[];
  edge: Edge;
}

/** Tokens that lead to one place of a picture.

    ``anchor`` is the drawn state where it stands, ``place`` the element they lead to, ``inside``
    the label in which they end. */
export interface Flag {
  anchor: string;
  place: string;
  inside: string;
  tokens: number;
  segments: FlagSegment[];
}

/** The tokens that may follow in a state. */
export interface Flags {
  ok: true;
  count: string;
  state: string;
  flags: Flag[];
}

/** A state a search found. */
export interface FoundState {
  id: string;
  number: string;
  why: string;
}

/** States a search found; ``why`` there are none. */
export interface FoundStates {
  ok: boolean;
  found: FoundState[];
  why?: string;
}

/** A piece of the grammar that is read from a state. */
export interface StatePlace {
  start: number;
  end: number;
  what: string;
}

/** What may be read in a state, and a text that leads there.

    ``reads`` are the characters that the state or a rule it calls reads, ``returns`` those that may
    follow when its rule has ended. */
export interface AboutState {
  ok: true;
  state: string;
  number: string;
  reads: string;
  returns: string;
  reached: string | null;
  places: StatePlace[];
  may_end?: boolean;
  tokens?: number;
  examples?: string[];
}

/** The tokens of an edge, up to a limit; ``why`` there are none. */
export interface AboutEdge {
  ok: boolean;
  count: number;
  tokens: string[];
  why?: string;
}

/** An exercise in a list; ``exercise`` names it in requests, ``key`` in the browser. */
export interface ExerciseEntry {
  key: string;
  exercise: string;
  title: string;
  task: string;
  accepts: string[];
  rejects: string[];
  notations: string[];
  conditions: string[];
}

/** An exercise with its shelf. */
export interface ShelvedExercise {
  key: string;
  exercise: string;
  title: string;
  task: string;
  accepts: string[];
  rejects: string[];
  notations: string[];
  conditions: string[];
  shelf: string;
}

/** A condition that an exercise may have; ``counts``: it has a number. */
export interface ConditionKind {
  kind: string;
  words: string;
  counts: boolean;
}

/** All exercises of the shelf, and all conditions. */
export interface ExerciseList {
  ok: true;
  exercises: ShelvedExercise[];
  conditions: ConditionKind[];
}

/** The text of a grammar, with its notation. */
export interface WrittenGrammar {
  text: string;
  notation: string;
  start: string;
  options: Record<string, string | boolean | number>;
}

/** An exercise with all that is needed to open it. */
export interface OpenedExercise {
  key: string;
  exercise: string;
  title: string;
  task: string;
  accepts: string[];
  rejects: string[];
  notations: string[];
  conditions: string[];
  ok: true;
  hint: string;
  begin: WrittenGrammar;
  tests: ExpectedText[];
}

/** The states of a drawn machine after one more character, ``text``. */
export interface PathPart {
  states: string[];
  edges: number[];
  inside: number[];
  final: boolean;
  text: string;
}

/** The check of an answer; ``text`` is the counterexample, ``share`` the partial credit. */
export interface ExerciseVerdict {
  ok: true;
  outcome: string;
  solved: boolean;
  say: string;
  text: string | null;
  gained: boolean;
  share: number | null;
  path: PathPart[];
  problem: Problem | null;
  teaches: string;
}

/** The solution of an exercise. */
export interface ModelAnswer {
  text: string;
  notation: string;
  start: string;
  options: Record<string, string | boolean | number>;
  ok: true;
  teaches: string;
}

/** Texts that a solution accepts and rejects. */
export interface SuggestedExamples {
  ok: true;
  accepts: string[];
  rejects: string[];
}

/** A new exercise; ``link`` is the fragment of its address. */
export interface MadeExercise {
  key: string;
  exercise: string;
  title: string;
  task: string;
  accepts: string[];
  rejects: string[];
  notations: string[];
  conditions: string[];
  ok: true;
  link: string;
}

/** The fragment of an address. */
export interface MadeLink {
  ok: true;
  link: string;
}

/** A lesson of a course, with the number of its steps. */
export interface CourseLesson {
  lesson: string;
  steps: number;
  title: string;
}

/** A course. */
export interface CourseAnswer {
  ok: true;
  title: string;
  items: (CourseLesson | ExerciseEntry)[];
}

/** An exercise with its solution, for a teacher's sheet. */
export interface SolvedExercise {
  key: string;
  exercise: string;
  title: string;
  task: string;
  accepts: string[];
  rejects: string[];
  notations: string[];
  conditions: string[];
  text: string;
  notation: string;
  start: string;
  options: Record<string, string | boolean | number>;
  teaches: string;
}

/** Exercises with their solutions. */
export interface SolutionSheet {
  ok: true;
  exercises: SolvedExercise[];
}

/** A method that can be compared; ``usual`` ones are chosen first. */
export interface Contender {
  name: string;
  title: string;
  detail: string;
  source: string;
  group: string;
  usual: boolean;
}

/** The largest comparison. */
export interface CompareLimits {
  prompts: number;
  seeds: number;
  in_all: number;
}

/** The engines that can be audited: those installed, and how the others are installed. */
export interface AuditedEngines {
  installed: string[];
  missing: string[];
  install: string;
}

/** All methods, and the engines to audit. */
export interface Contenders {
  methods: Contender[];
  limits: CompareLimits;
  engines: AuditedEngines;
}

/** A small language with a prompt, for a comparison. */
export interface CompareSample {
  title: string;
  text: string;
  prompt: string;
  notation: string;
}

/** Small languages to compare, and the lines of a recorded comparison; empty without one. */
export interface CompareOpening {
  samples: CompareSample[];
  recorded: string;
}

/** A method and its distances from the model's own distribution, in nats; null for infinite. */
export interface Column {
  name: string;
  total_variation?: number | null;
  kl?: number | null;
  kl_back?: number | null;
}

/** A text and its probability by column. */
export interface LikelyText {
  text: string;
  p: number[];
}

/** The total variation of drawn texts from the model's own distribution, by forward passes.

    ``points`` are pairs of a number of passes and the distance; ``texts`` the number of texts at
    the last one. */
export interface DistanceCurve {
  name: string;
  texts: number;
  points: number[][];
}

/** The probability of each text of a finite language under each method. */
export interface Distribution {
  ok: true;
  prompt: string;
  columns: Column[];
  texts: LikelyText[];
  others: number[] | null;
  count: number;
  failed: Record<string, string>;
  spellings: number;
  curves: DistanceCurve[];
}

/** A shorter constraint with the same difference, and a program for the engine alone. */
export interface Reproduction {
  constraint: string;
  text: string;
  so_far: string;
  token: string | null;
  program: string;
  printed: string;
  confirmed: boolean;
}

/** The first token at which an engine's mask is wrong; null is the end of the text. */
export interface AuditFinding {
  kind: string;
  level: string;
  so_far: string;
  token: string | null;
  text: string;
  why: string;
  place: string;
  evidence: string;
  reproduction: Reproduction | null;
}

/** A difference of interpretation. */
export interface AuditPolicy {
  name: string;
  text: string;
}

/** One engine on the grammar. */
export interface EngineAudit {
  name: string;
  engine: string;
  version: string;
  status: string;
  reason: string;
  texts: number;
  mutants: number;
  masks: number;
  skipped: number;
  different: number;
  findings: AuditFinding[];
  policies: AuditPolicy[];
  cut: boolean;
  seconds: number;
}

/** The audits of all installed engines. */
export interface Audits {
  ok: true;
  audits: EngineAudit[];
}

/** How many bytes of a file have arrived. */
export interface ResultsPart {
  ok: true;
  received: number;
}

/** A column of results; ``kind``: bool, number, text, json, or empty for no values. */
export interface ResultsColumn {
  name: string;
  kind: string;
}

/** Why some rows failed, with their number and the key of the first. */
export interface ResultsReason {
  why: string;
  rows: number;
  first: string;
}

/** A row that could not be read. */
export interface BadResultsRow {
  row: number;
  why: string;
}

/** A results file that was read; ``file`` names it in further questions. */
export interface OpenedResults {
  ok: true;
  file: string;
  kind: string;
  settings: string[][];
  columns: ResultsColumn[];
  rows: number;
  failed: number;
  reasons: ResultsReason[];
  bad: BadResultsRow[];
  bad_rows: number;
  groups: string[];
  summary: string[][];
}

/** A row in the table, with its number; texts are cut. */
export interface ResultsRow {
  n: number;
  cells: any[];
}

/** A page of rows; ``lost``: the server no longer has the file, which is sent again. */
export interface ResultsRows {
  ok: true;
  lost: boolean;
  total: number;
  rows: ResultsRow[];
}

/** A value of an opened row. */
export interface ResultsValue {
  name: string;
  value: any;
}

/** The grammar of a row, and its prompt. */
export interface ResultsGrammar {
  text: string;
  notation: string;
  start: string;
  options: Record<string, string | boolean | number>;
  prompt: string;
}

/** A row with all of its values; ``tokens`` are the ids of its run, if it has them. */
export interface OpenedRow {
  ok: true;
  lost: boolean;
  values: ResultsValue[];
  grammar: ResultsGrammar | null;
  tokens: number[];
}

/** The distribution of a group's values; ``outside``: how many are beyond the whiskers. */
export interface ResultsBox {
  name: string;
  count: number;
  outside: number;
  low: number;
  first: number;
  median: number;
  third: number;
  high: number;
}

/** A box for each group; ``left`` groups have none. */
export interface ResultsPlot {
  ok: true;
  lost: boolean;
  groups: ResultsBox[];
  left: number;
}

/** Lines of CSV, and the offset of those that follow. */
export interface ResultsCsv {
  ok: true;
  lost: boolean;
  total: number;
  next: number;
  text: string;
}

/** One run of a comparison with all that is known of its tokens. */
export interface ComparedRun {
  ok: true;
  steps: Step[];
  model: string;
  constraint: string;
  lookahead: number | null;
  finish: boolean;
  monitor: string;
}

/** A run of a comparison begins; ``r`` is its number. */
export interface Began {
  k: "began";
  r: number;
  compile_ms: number;
}

/** A token of a comparison's run; marks are left out where they do not hold. */
export interface CompareStep {
  id: number;
  text?: string;
  hex?: string;
  end?: true;
  k: "step";
  r: number;
  s: number | null;
  m: number | null;
  forced?: boolean;
  cut?: boolean;
  skipped?: boolean;
}

/** Surprisal of some tokens, summed. */
export interface Surprisal {
  nats: number | null;
  tokens: number;
}

/** A run of a comparison and its measures; null for what was not measured.

    ``late`` has the surprisal of steps whose probability was not known when they were sent. */
export interface Ended {
  k: "ended";
  r: number;
  method: string;
  prompt: string;
  seed: number;
  text: string;
  valid: boolean;
  ended: boolean;
  stop: string;
  tokens: number;
  free_tokens: number;
  forced_tokens: number;
  free: Surprisal;
  forced: Surprisal;
  interventions: number;
  mask_bits: number | null;
  forward_passes: number;
  compile_ms: number | null;
  seconds: number | null;
  cpu_seconds: number | null;
  proper: boolean | null;
  perplexity: number | null;
  perplexity_free: number | null;
  perplexity_forced: number | null;
  tokens_per_second: number | null;
  words: string;
  late: ((number | null)[])[];
}

/** A run of a comparison that could not be made. */
export interface Failed {
  k: "failed";
  r: number;
  method: string;
  prompt: string;
  seed: number;
  why: string;
}

/** The end of a comparison, and the two lines of its summary. */
export interface CompareStop {
  k: "stop";
  good: boolean;
  words: string;
  verdict?: string[];
}

export type CompareRecord = Status | Start | Began | CompareStep | Ended | Failed | CompareStop | Error;

/** An example in the gallery. */
export interface ExampleName {
  name: string;
  title: string;
  group: string;
}

/** Settings of an example's runs. */
export interface Settings {
  small_tokens: boolean;
  monitor: string;
  temperature: number;
  seed: number;
  finish: boolean;
}

/** An example as the page opens it. */
export interface Example {
  name: string;
  title: string;
  note: string;
  notation: string;
  text: string;
  prompt: string;
  max_tokens: number;
  accepts: string[];
  rejects: string[];
  group: string;
  start: string;
  breaks: string[] | null;
  settings: Settings;
}

/** A method of constraining; ``deep`` where ``k`` can be set. */
export interface Method {
  name: string;
  title: string;
  source: string;
  deep: boolean;
}

/** What the page is opened with. */
export interface PageRecord {
  gallery: ExampleName[];
  first: Example | null;
  methods: Method[];
  space: string;
  results?: string;
}

/** Whether a model is loading, ready or failed. */
export interface ModelState {
  state: string;
  text: string;
  title: string;
  chat: boolean;
  most: number | null;
}

/** A model that can be chosen; ``about``: what to expect of it, or empty. */
export interface KnownModel {
  state: string;
  text: string;
  title: string;
  chat: boolean;
  most: number | null;
  name: string;
  about: string;
}

/** The chosen model and all others; ``compiling``: the engine's kernels are being compiled. */
export interface Models {
  state: string;
  text: string;
  title: string;
  chat: boolean;
  most: number | null;
  models: KnownModel[];
  may_open: boolean;
  compiling: boolean;
}

/** The name of a model on the page. */
export interface OpenedModel {
  name: string;
}

/** Names and values. */
export interface About {
  versions: string[][];
  limits: string[][];
}

/** The version and the address of the source. */
export interface Release {
  version: string;
  source: string;
}

/** A file. */
export interface File {
  name: string;
  type: string;
  base64: string;
}

/** What a replay would request: pictures by tab, the flags of its steps, the reasons of tokens.

    ``narrows``: whether the run may allow fewer tokens than the grammar. */
export interface ReplayDrawing {
  pictures: Record<string, (Record<string, any>)[]>;
  flags: (Record<string, any>)[];
  narrows: boolean;
  reasons: any[];
}

/** A page that plays a run; its recording goes in the place of ``mark``. */
export interface Replay {
  html: string;
  mark: string;
  drawn: ReplayDrawing;
  version: string;
}

/** A lesson in the list; ``steps`` are titles. */
export interface LessonEntry {
  name: string;
  title: string;
  aim: string;
  source: string;
  steps: string[];
}

/** A lesson with its shelf. */
export interface ShelvedLesson {
  name: string;
  title: string;
  aim: string;
  source: string;
  steps: string[];
  shelf: string;
}

/** All lessons. */
export interface LessonList {
  ok: true;
  lessons: ShelvedLesson[];
}

/** The language and the tokens of a step. */
export interface LessonWorld {
  text: string;
  notation: string;
  tokens: string[];
  merges: string[];
}

/** A table; the ``hidden`` columns are covered until the question is answered. */
export interface LessonTable {
  caption: string;
  heads: string[];
  rows: string[][];
  hidden: number[];
}

/** A question and the form of its answer. */
export interface LessonQuestion {
  ask: string;
  form: string;
  options: string[];
}

/** What a step opens in the workbench. */
export interface LessonOpening {
  text: string;
  notation: string;
  start: string;
  options: Record<string, string | boolean | number>;
  prompt: string;
  tab: string;
  name: string;
  tests: ExpectedText[];
}

/** One step of a lesson. */
export interface LessonPage {
  title: string;
  paragraphs: string[];
  source: string;
  figure: boolean;
  broad: boolean;
  explained: boolean;
  caption: string;
  given: LessonWorld;
  table: LessonTable | null;
  question: LessonQuestion | null;
  open: LessonOpening | null;
}

/** A lesson. */
export interface LessonContent {
  name: string;
  title: string;
  aim: string;
  source: string;
  steps: string[];
  ok: true;
  pages: LessonPage[];
}

/** What is lit in a picture, and what is in it (null for all), by the ids of its elements. */
export interface FilmView {
  lit: string[];
  arcs: string[];
  dead: string[];
  shown: string[] | null;
}

/** A line of chips under a picture. */
export interface FilmRow {
  name: string;
  chips: string[];
  now: number;
  next: number;
  bits: number[];
}

/** A token that can be taken. */
export interface FilmChoice {
  id: number;
  text: string;
  ok: boolean;
  why: string;
}

/** A token's probabilities before the mask and after it. */
export interface FilmBar {
  text: string;
  before: number;
  after: number | null;
  taken: boolean;
}

/** A moment of a film. */
export interface FilmFrame {
  say: string;
  good: boolean | null;
  only: number | null;
  rules: string[];
  views: FilmView[];
  rows: FilmRow[];
  choices: FilmChoice[];
  bars: FilmBar[];
}

/** A picture of a film. */
export interface FilmGraph {
  name: string;
  svg: string;
  centre: string;
  where: Record<string, string>;
  names: Record<string, string>;
  states: State[];
  edges: Edge[];
}

/** A film; no pictures where the page has them already. */
export interface FilmAnswer {
  ok: true;
  takes: string;
  opens_at: number;
  taken: number[];
  frames: FilmFrame[];
  graphs: FilmGraph[];
}

/** A construction; ``missing`` is the reason why the grammar has no film of it, or empty.

    One that ``exists`` may be too large for a film. */
export interface ConstructionEntry {
  name: string;
  title: string;
  exists: boolean;
  missing: string;
}

/** A part of a grammar that is a grammar itself: a rule, or a piece of a regex. */
export interface GrammarPart {
  key: string;
  title: string;
}

/** The constructions of a grammar. */
export interface ConstructionList {
  ok: true;
  constructions: ConstructionEntry[];
  parts: GrammarPart[];
}

/** Pictures for LaTeX. */
export interface TikzAnswer {
  ok: true;
  tikz: string;
}

/** Why an option is right or wrong. */
export interface Note {
  option: string;
  why: string;
}

/** What the engine says of an answer. */
export interface Judged {
  ok: true;
  right: boolean;
  say: string;
  notes: Note[];
}

/** A row of a syntax card: ``‹`` and ``›`` enclose the part that is to be replaced. */
export interface Construct {
  text: string;
  about: string;
  insert: string;
  example: string;
}

/** Constructs that belong together. */
export interface SyntaxGroup {
  title: string;
  rows: Construct[];
}

/** The constructs of a notation (``syntax_card.Card``). */
export interface SyntaxCard {
  groups: SyntaxGroup[];
}

/** What a script sends with each question. */
export interface Request {
  model?: string;
}

/** The name of an example. */
export interface ExampleRequest extends Request {
  name?: string;
}

/** A model's name or its id on the hub, and a token of the hub. */
export interface ModelRequest extends Request {
  name?: string;
  token?: string;
}

/** The name of an example with a recorded run. */
export interface RecordedRequest extends Request {
  example?: string;
}

/** The grammar in the editor. */
export interface TextRequest extends Request {
  text?: string;
  notation?: string;
  start?: string;
  options?: Record<string, string | number | boolean> | null;
  hole?: Record<string, string> | null;
}

/** A grammar, and the texts that are tried. */
export interface CheckRequest extends TextRequest {
  texts?: string[];
}

/** A grammar, and what it was before. */
export interface ChangeRequest extends TextRequest {
  before?: TextRequest;
}

/** A grammar, and the name of the notation or program that is wanted. */
export interface ConvertRequest extends TextRequest {
  to?: string;
}

/** A grammar, and the seed of its samples. */
export interface SampleRequest extends TextRequest {
  seed?: number;
}

/** A grammar, and the text in which its matches are searched. */
export interface SearchRequest extends TextRequest {
  searched?: string;
}

/** A grammar, and the size of the browser's box for its picture. */
export interface BoxRequest extends TextRequest {
  width?: number;
  height?: number;
}

/** The text of a drawn machine, or of a file. */
export interface MachineRequest extends Request {
  text?: string;
}

/** The text of a drawn machine, and a text that it reads. */
export interface PathRequest extends MachineRequest {
  read?: string;
}

/** A grammar, and what else restricts a run. */
export interface ConstrainedRequest extends TextRequest {
  constraint?: string;
  lookahead?: number | null;
  small_tokens?: boolean | null;
  reasoning?: Record<string, string | number> | null;
  finish?: boolean | null;
  monitor?: string;
}

/** What restricts a run, its text, and the tokens after it; null for the end. */
export interface ReasonsRequest extends ConstrainedRequest {
  so_far: string;
  tokens: (string | null)[];
}

/** What restricts a run, its text, and the token after it; null for the end.

    A test string is sent as a token after an empty text, with ``tested``: it may have any white
    space. */
export interface WhyRequest extends ConstrainedRequest {
  so_far?: string;
  token?: string | null;
  tested?: boolean | null;
}

/** The name of a notation; an unknown one has nothing to show. */
export interface NotationRequest extends Request {
  notation?: string;
}

/** A machine of a grammar, and the settings of its picture. */
export interface PictureRequest extends BoxRequest {
  tab?: string;
  of?: string;
  example?: string;
  centre?: string;
  so_far?: string | null;
  size?: number;
  chains?: boolean | null;
  unfolded_states?: string[];
  level?: string;
  masked?: RunRequest | null;
}

/** A picture, and the number, the name or the label of the states that are searched. */
export interface StateSearchRequest extends PictureRequest {
  query?: string;
}

/** A picture, and an edge of it, or ``parts`` of the edges that leave the current state. */
export interface EdgeRequest extends PictureRequest {
  source?: string;
  target?: string;
  parts?: number[];
}

/** A picture, and a state of it. */
export interface StateRequest extends PictureRequest {
  state?: string;
}

/** A grammar, and a text whose parse tree is drawn. */
export interface TreeRequest extends BoxRequest {
  so_far?: string;
  tokens?: number[];
  current?: number;
  which?: number;
  every?: boolean | null;
  unfolded?: string[];
}

/** A grammar, and the part of it that is constructed; empty for all of it. */
export interface ConstructionRequest extends TextRequest {
  part?: string;
}

/** A construction of a grammar; ``narrow`` for a page with little width. */
export interface FilmRequest extends ConstructionRequest {
  construction?: string;
  example?: string;
  narrow?: boolean;
}

/** A film, and the number of a frame. */
export interface FrameRequest extends FilmRequest {
  frame?: number;
}

/** The name of a lesson. */
export interface LessonRequest extends Request {
  lesson?: string;
}

/** A step of a lesson, by its number. */
export interface StepRequest extends LessonRequest {
  step?: number;
}

/** A step, and the reader's input: a text, token ids, or null for the lesson's. */
export interface GivenRequest extends StepRequest {
  given?: string | number[] | null;
}

/** A step with a figure; ``again`` if the page has its pictures. */
export interface FigureRequest extends GivenRequest {
  narrow?: boolean;
  again?: boolean;
}

/** A step, the tokens of the reader, and the id of a token after them. */
export interface LessonTokenRequest extends GivenRequest {
  token?: number;
}

/** A step with a question, and the answer: a text, or the numbers of options. */
export interface AnswerRequest extends StepRequest {
  answer: string | number[];
}

/** The name of an exercise, or the fragment of its link. */
export interface ExerciseRequest extends Request {
  exercise?: string;
}

/** An exercise, and a grammar that answers it. */
export interface AnswerCheckRequest extends ExerciseRequest, TextRequest {
}

/** A new exercise, whose solution is the grammar. */
export interface MakerRequest extends TextRequest {
  title?: string;
  task?: string;
  hint?: string;
  teaches?: string;
  accepts?: string[];
  rejects?: string[];
  notations?: string[];
  conditions?: Record<string, boolean | number | string>;
  begin?: string | null;
}

/** A course: its title, and the name or the link of an item on each line. */
export interface CourseItemsRequest extends Request {
  title?: string;
  items?: string;
}

/** The fragment of the link to a course. */
export interface CourseRequest extends Request {
  course?: string;
}

/** A grammar, a chat, and how tokens are drawn; a setting that is null is not used. */
export interface SampledRequest extends TextRequest {
  chat?: (Record<string, string>)[] | null;
  temperature?: number;
  seed?: number;
  top_k?: number | null;
  top_p?: number | null;
  min_p?: number | null;
  repetition_penalty?: number | null;
}

/** A requested comparison; its runs have the ``seeds`` from ``seed`` on.

    Raises: WorkbenchError for unknown methods, for none, and for too many tokens in all. */
export interface CompareRequest extends SampledRequest {
  prompts?: string[];
  methods?: string[];
  seeds?: number;
  seed?: number;
  max_tokens?: number;
}

/** A comparison, and whether more of a large language is computed. */
export interface DistributionRequest extends CompareRequest {
  further?: boolean;
}

/** A requested generation. */
export interface RunRequest extends ConstrainedRequest, SampledRequest {
  prompt?: string;
  max_tokens?: number;
  prefix?: number[];
  draft?: string;
}

/** A run of a comparison, with the name of its method. */
export interface ComparedRunRequest extends RunRequest {
  method?: string;
}

/** A part of a file of an upload. */
export interface PartRequest extends Request {
  upload?: string;
  file?: number;
  offset?: number;
  base64?: string;
}

/** The name of an upload, or ``served`` for the file that the page is served with. */
export interface OpenRequest extends Request {
  upload?: string;
  served?: boolean | null;
}

/** An open file by its name, and the filter of its rows. */
export interface RowsRequest extends Request {
  file?: string;
  wanted?: string;
}

/** Some of the rows in an order, those from ``offset`` on. */
export interface PageRequest extends RowsRequest {
  sort?: string;
  down?: boolean | null;
  offset?: number;
}

/** A row of a file, by its number. */
export interface RowRequest extends RowsRequest {
  n?: number;
}

/** A column whose values are plotted. */
export interface PlotRequest extends RowsRequest {
  column?: string;
}

/** A run, and the id of the token to take; null for a sampled one. */
export interface TakeRequest extends RunRequest {
  token?: number | null;
}

/** The settings of a run, and the text that is read with them. */
export interface ReadRequest extends RunRequest {
  read?: string;
}

/** A run, and the text of the tokens that are searched. */
export interface TokenSearchRequest extends RunRequest {
  query?: string;
}

/** A grammar, and which machine of it is wanted in which format. */
export interface MachineFileRequest extends TextRequest {
  machine: string;
  form: string;
}

/** A run, its tests, and the engine whose program is wanted too; empty for none. */
export interface CodeRequest extends RunRequest {
  tests?: (Record<string, string | null>)[];
  address?: string;
  example?: string;
  code?: string;
}

/** The settings of a run and of its pictures, the ids of its tokens, and their bytes. */
export interface ReplayRequest extends PictureRequest, RunRequest {
  ids?: number[];
  taken?: ((string | (string | null)[] | null)[])[];
}

/** The questions of the page. */
export interface Server {
  open_example(request: ExampleRequest, signal?: AbortSignal | null): Promise<Example>;
  open_model(request: ModelRequest, signal?: AbortSignal | null): Promise<OpenedModel>;
  model_state(request: Request, signal?: AbortSignal | null): Promise<Models>;
  recorded_run(request: RecordedRequest, signal?: AbortSignal | null): Promise<string>;
  compile_grammar(request: TextRequest, signal?: AbortSignal | null): Promise<Compiled>;
  check_texts(request: CheckRequest, signal?: AbortSignal | null): Promise<TestResults>;
  what_changed(request: ChangeRequest, signal?: AbortSignal | null): Promise<ChangeAnswer | Refusal>;
  convert_grammar(request: ConvertRequest, signal?: AbortSignal | null): Promise<Converted | Refusal>;
  lint_grammar(request: TextRequest, signal?: AbortSignal | null): Promise<LintAnswer | Refusal>;
  time_mask(request: TextRequest, signal?: AbortSignal | null): Promise<MaskTimes>;
  tell_in_words(request: TextRequest, signal?: AbortSignal | null): Promise<WordsAnswer | Refusal>;
  outline_rules(request: TextRequest, signal?: AbortSignal | null): Promise<OutlineAnswer | Refusal>;
  sample_texts(request: SampleRequest, signal?: AbortSignal | null): Promise<SampleAnswer | Refusal>;
  find_matches(request: SearchRequest, signal?: AbortSignal | null): Promise<Matches | Refusal>;
  draw_railroad(request: BoxRequest, signal?: AbortSignal | null): Promise<Picture | Refusal>;
  arrange_machine(request: MachineRequest, signal?: AbortSignal | null): Promise<Arranged | Refusal>;
  machine_from_file(request: MachineRequest, signal?: AbortSignal | null): Promise<MachineText | Refusal>;
  machine_path(request: PathRequest, signal?: AbortSignal | null): Promise<MachinePath | Refusal>;
  explain_tokens(request: ReasonsRequest, signal?: AbortSignal | null): Promise<Reasons>;
  why(request: WhyRequest, signal?: AbortSignal | null): Promise<Why | Refusal>;
  completions(request: NotationRequest, signal?: AbortSignal | null): Promise<Completions>;
  syntax_card(request: NotationRequest, signal?: AbortSignal | null): Promise<SyntaxCard>;
  draw_machine(request: PictureRequest, signal?: AbortSignal | null): Promise<Picture | Refusal>;
  draw_tikz(request: PictureRequest, signal?: AbortSignal | null): Promise<TikzAnswer | Refusal>;
  draw_flags(request: PictureRequest, signal?: AbortSignal | null): Promise<Flags | Refusal>;
  find_states(request: StateSearchRequest, signal?: AbortSignal | null): Promise<FoundStates>;
  about_edge(request: EdgeRequest, signal?: AbortSignal | null): Promise<AboutEdge>;
  about_state(request: StateRequest, signal?: AbortSignal | null): Promise<AboutState | Refusal>;
  draw_parse_tree(request: TreeRequest, signal?: AbortSignal | null): Promise<Picture | Refusal>;
  construction_list(request: ConstructionRequest, signal?: AbortSignal | null): Promise<ConstructionList | Refusal>;
  construction_film(request: FilmRequest, signal?: AbortSignal | null): Promise<FilmAnswer | Refusal>;
  frame_tikz(request: FrameRequest, signal?: AbortSignal | null): Promise<TikzAnswer | Refusal>;
  lesson_list(request: Request, signal?: AbortSignal | null): Promise<LessonList | Refusal>;
  lesson(request: LessonRequest, signal?: AbortSignal | null): Promise<LessonContent | Refusal>;
  lesson_figure(request: FigureRequest, signal?: AbortSignal | null): Promise<FilmAnswer | Refusal>;
  lesson_why(request: LessonTokenRequest, signal?: AbortSignal | null): Promise<Why | Refusal>;
  lesson_answer(request: AnswerRequest, signal?: AbortSignal | null): Promise<Judged | Refusal>;
  exercise_list(request: Request, signal?: AbortSignal | null): Promise<ExerciseList | Refusal>;
  exercise(request: ExerciseRequest, signal?: AbortSignal | null): Promise<OpenedExercise | Refusal>;
  check_exercise(request: AnswerCheckRequest, signal?: AbortSignal | null): Promise<ExerciseVerdict | Refusal>;
  exercise_answer(request: ExerciseRequest, signal?: AbortSignal | null): Promise<ModelAnswer | Refusal>;
  suggest_examples(request: TextRequest, signal?: AbortSignal | null): Promise<SuggestedExamples | Refusal>;
  make_exercise(request: MakerRequest, signal?: AbortSignal | null): Promise<MadeExercise | Refusal>;
  make_course(request: CourseItemsRequest, signal?: AbortSignal | null): Promise<MadeLink | Refusal>;
  course(request: CourseRequest, signal?: AbortSignal | null): Promise<CourseAnswer | Refusal>;
  solution_sheet(request: CourseItemsRequest, signal?: AbortSignal | null): Promise<SolutionSheet | Refusal>;
  contender_list(request: Request, signal?: AbortSignal | null): Promise<Contenders>;
  distribution(request: DistributionRequest, signal?: AbortSignal | null): Promise<Distribution | Refusal>;
  compared_run(request: ComparedRunRequest, signal?: AbortSignal | null): Promise<ComparedRun | Refusal>;
  compare_opening(request: Request, signal?: AbortSignal | null): Promise<CompareOpening>;
  audit_engines(request: TextRequest, signal?: AbortSignal | null): Promise<Audits | Refusal>;
  send_results(request: PartRequest, signal?: AbortSignal | null): Promise<ResultsPart | Refusal>;
  open_results(request: OpenRequest, signal?: AbortSignal | null): Promise<OpenedResults | Refusal>;
  results_rows(request: PageRequest, signal?: AbortSignal | null): Promise<ResultsRows | Refusal>;
  results_row(request: RowRequest, signal?: AbortSignal | null): Promise<OpenedRow | Refusal>;
  results_plot(request: PlotRequest, signal?: AbortSignal | null): Promise<ResultsPlot | Refusal>;
  results_csv(request: PageRequest, signal?: AbortSignal | null): Promise<ResultsCsv | Refusal>;
  turn(request: RunRequest, signal?: AbortSignal | null): Promise<NextAnswer | Refusal>;
  take_token(request: TakeRequest, signal?: AbortSignal | null): Promise<TakeAnswer | Refusal>;
  read_text(request: ReadRequest, signal?: AbortSignal | null): Promise<ReadText | Refusal>;
  read_prompt(request: RunRequest, signal?: AbortSignal | null): Promise<ReadPrompt | Refusal>;
  draft_models(request: Request, signal?: AbortSignal | null): Promise<DraftModels | Refusal>;
  find_tokens(request: TokenSearchRequest, signal?: AbortSignal | null): Promise<SearchAnswer | Refusal>;
  take_machine(request: MachineFileRequest, signal?: AbortSignal | null): Promise<File>;
  take_code(request: CodeRequest, signal?: AbortSignal | null): Promise<Record<string, string>>;
  take_replay(request: ReplayRequest, signal?: AbortSignal | null): Promise<Replay>;
  about(request: Request, signal?: AbortSignal | null): Promise<About>;
}
