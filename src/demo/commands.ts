import * as v from 'valibot';
import { parseJson } from '../core/json.ts';
import { DEMO_MODEL_NAME } from './agent-config.ts';

/** Whether a command's output is as expected, and a short summary of it. */
type CommandResult = { readonly isAsExpected: boolean; readonly summary: string };

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
  readonly key: string;
  /** The Node that runs this: another one of the path may be too old. */
  readonly node: string;
  /** Where the npm package `openai` is found; none where it is not. */
  readonly openaiDirectory: string | undefined;
};

/** The demo's recharge. */
export const RECHARGE = { email: 'alice@example.com', amount: '2.5' } as const;
/** The session of the recharge and its approval. */
const CONVERSATION = 'recharge-alice';
/** Prints the id of the last open permission request of the agent's list. */
const LAST_ID = String.raw`sed -n 's/.*"id":"\(per_[^"]*\)".*/\1/p'`;
const SHOWN_CHARS = 160;

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** A shell word, quoted where necessary. */
const shellWord = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : quote(text));
const shorten = (text: string): string => text.replace(/\s+/g, ' ').trim().slice(0, SHOWN_CHARS);

type Post = { readonly url: string; readonly key: string; readonly headers?: string; readonly data: string };
const curlPost = ({ url, key, headers = '', data }: Post): string =>
  `curl -s --noproxy '*' -w '\\n' ${url} -H ${quote(`Authorization: Bearer ${key}`)} -H 'Content-Type: application/json' ${headers}-d ${data}`;

const Verdict = v.object({
  results: v.tuple([v.object({ flagged: v.boolean(), category_scores: v.record(v.string(), v.number()) })]),
});
const Refusal = v.object({ error: v.object({ code: v.string() }) });
const Chat = v.object({
  model: v.string(),
  choices: v.tuple([v.object({ message: v.object({ content: v.string() }) })]),
});

/** The line with an error, or else the beginning. */
const summarise = (output: string): string => shorten(/^.*\b\w*Error\b.*$/m.exec(output)?.[0] ?? output) || 'no output';
const unexpected = (output: string): CommandResult => ({ isAsExpected: false, summary: summarise(output) });

const checkFlagged =
  (expected: boolean) =>
  (output: string): CommandResult => {
    const result = parseJson(Verdict, output)?.results[0];
    if (result === undefined) return unexpected(output);
    const [[category, score] = ['none', 0]] = Object.entries(result.category_scores).sort(([, a], [, b]) => b - a);
    return { isAsExpected: result.flagged === expected, summary: `flagged ${result.flagged}, ${category} ${score}` };
  };

/** Expects an answer with a line that begins with `expected`. */
const checkAnswer =
  (expected: string) =>
  (output: string): CommandResult => {
    const chat = parseJson(Chat, output);
    if (chat === undefined) return unexpected(output);
    const { content } = chat.choices[0].message;
    const place = content.indexOf(expected);
    if (place === -1) return unexpected(content);
    const [line = ''] = content.slice(place).split('\n');
    return { isAsExpected: chat.model === DEMO_MODEL_NAME, summary: `${chat.model}: ${shorten(line)}` };
  };

/** Expects the relay's refusal. */
const checkRefused = (output: string): CommandResult => {
  const code = parseJson(Refusal, output)?.error.code;
  return code === undefined ? unexpected(output) : { isAsExpected: code === 'content_policy_violation', summary: code };
};

const checkStart =
  (expected: string) =>
  (output: string): CommandResult => ({ isAsExpected: output.startsWith(expected), summary: summarise(output) });

const moderationLine = ({ gateway, key }: CommandSettings, input: string): string =>
  curlPost({ url: `${gateway}/v1/moderations`, key, data: quote(JSON.stringify({ input })) });

/** A chat with one message. The text stands in single quotes already, so that a shell's variable can stand in it. */
const chatLine = ({ bridge, key }: CommandSettings, content: string): string =>
  curlPost({
    url: `${bridge}/v1/chat/completions`,
    key,
    headers: `-H 'x-session-id: ${CONVERSATION}' `,
    data: `'{"messages":[{"role":"user","content":"${content}"}]}'`,
  });

/** A chat of a user of the relay, past the bridge. */
const relayChatLine = ({ relay, relayKey }: CommandSettings, content: string): string =>
  curlPost({
    url: `${relay}/v1/chat/completions`,
    key: relayKey,
    data: quote(JSON.stringify({ messages: [{ role: 'user', content }] })),
  });

const openAiChatLine = ({ bridge, key, node, openaiDirectory }: CommandSettings): string => {
  const place = openaiDirectory === undefined ? '' : `cd ${shellWord(openaiDirectory)} && `;
  const options = `{ baseURL: ${JSON.stringify(`${bridge}/v1`)}, apiKey: ${JSON.stringify(key)} }`;
  const asked = `{ model: "${DEMO_MODEL_NAME}", messages: [{ role: "user", content: "Good morning" }] }`;
  const program = `import OpenAI from "openai"; const openai = new OpenAI(${options}); const { model, choices } = await openai.chat.completions.create(${asked}); console.log(model + ": " + choices[0].message.content);`;
  return `${place}${shellWord(node)} --input-type=module -e ${quote(program)}`;
};

/** Six commands, to be run in order: the fifth approves the fourth's permission request. */
export const demoCommands = (facts: CommandSettings): readonly DemoCommand[] => [
  { title: 'A text that is flagged', line: moderationLine(facts, 'I will kill you'), checkOutput: checkFlagged(true) },
  {
    title: 'A text that is clean',
    line: moderationLine(facts, 'How do I kill a zombie process?'),
    checkOutput: checkFlagged(false),
  },
  {
    title: `A chat through the bridge with an OpenAI client${facts.openaiDirectory === undefined ? ' (first: npm install openai)' : ''}`,
    line: openAiChatLine(facts),
    ...(facts.openaiDirectory === undefined ? { missing: 'the npm package openai is not installed here' } : {}),
    checkOutput: checkStart(`${DEMO_MODEL_NAME}: You said: "Good morning"`),
  },
  {
    title: 'A recharge: the agent hands it to its maintainer agent, which asks for approval first',
    line: chatLine(facts, `recharge ${RECHARGE.email} by ${RECHARGE.amount}`),
    checkOutput: checkAnswer('The agent asks for approval: relay-admin_recharge'),
  },
  {
    title: 'Its approval, with the id of the permission request, read from the agent. Only this sends the recharge',
    line: `id=$(curl -s --noproxy '*' ${facts.agent}/permission | ${LAST_ID}); ${chatLine(facts, "approve '$id'")}`,
    checkOutput: checkAnswer(`Verified: ${RECHARGE.amount} was added for ${RECHARGE.email}`),
  },
  {
    title: 'A chat at the relay, which asks the gateway and refuses it',
    line: relayChatLine(facts, 'I will kill you'),
    checkOutput: checkRefused,
  },
];
