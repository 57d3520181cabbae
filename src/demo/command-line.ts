/** Whether a command's output is as expected, and a short summary of it. */
export type CommandResult = { readonly isAsExpected: boolean; readonly summary: string };

/** A shell command of the demo, and the check of its output. */
export type DemoCommand = {
  readonly title: string;
  readonly line: string;
  readonly checkOutput: (output: string) => CommandResult;
  /** A requirement that this machine lacks, if any. */
  readonly missing?: string;
};

export type CommandSettings = {
  readonly gateway: string;
  readonly agent: string;
  readonly bridge: string;
  readonly relay: string;
  /** A user's key for chats at the relay. */
  readonly relayKey: string;
  /** Opens the relay's admin API. */
  readonly adminKey: string;
  readonly key: string;
  /** The Node that runs this: another one of the path may be too old. */
  readonly node: string;
  /** Where the npm package `openai` is found; none where it is not. */
  readonly openaiDirectory: string | undefined;
};

const SHOWN_CHARS = 160;

/** A text in single quotes, for a shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** A shell word, quoted where necessary. */
export const shellWord = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : quote(text));
/** The beginning of a text, on one line. */
export const shorten = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS);

type Post = { readonly url: string; readonly key: string; readonly headers?: string; readonly data: string };
/** A POST of a JSON body, whose answer ends with a line break. */
export const curlPost = ({ url, key, headers = '', data }: Post): string =>
  `curl -s --noproxy '*' -w '\\n' ${url} -H ${quote(`Authorization: Bearer ${key}`)} -H 'Content-Type: application/json' ${headers}-d ${data}`;

/** The line with an error, or else the beginning. */
export const summariseOutput = (output: string): string =>
  shorten(/^.*\b\w*Error\b.*$/m.exec(output)?.[0] ?? output) || 'no output';
/** An output that was not promised. */
export const unexpected = (output: string): CommandResult => ({
  isAsExpected: false,
  summary: summariseOutput(output),
});
