import * as v from 'valibot';
import { parseJson } from '../core/json.ts';
import { DEMO_MODEL_NAME } from './agent-config.ts';
import {
  type CommandResult,
  type CommandSettings,
  curlPost,
  type DemoCommand,
  quote,
  shellWord,
  shorten,
  summariseOutput,
  unexpected,
} from './command-line.ts';
import { relayCommands } from './relay-commands.ts';

/** The demo's recharge. */
export const RECHARGE = { email: 'alice@example.com', amount: '2.5' } as const;
/** The session of the recharge and its approval. */
const CONVERSATION = 'recharge-alice';
/** Prints the id of the last open permission request of the agent's list. */
const LAST_ID = String.raw`sed -n 's/.*"id":"\(per_[^"]*\)".*/\1/p'`;
const Verdict = v.object({
  results: v.tuple([v.object({ flagged: v.boolean(), category_scores: v.record(v.string(), v.number()) })]),
});
const Chat = v.object({
  model: v.string(),
  choices: v.tuple([v.object({ message: v.object({ content: v.string() }) })]),
});

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

const checkStart =
  (expected: string) =>
  (output: string): CommandResult => ({ isAsExpected: output.startsWith(expected), summary: summariseOutput(output) });

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

const openAiChatLine = ({ bridge, key, node, openaiDirectory }: CommandSettings): string => {
  const place = openaiDirectory === undefined ? '' : `cd ${shellWord(openaiDirectory)} && `;
  const options = `{ baseURL: ${JSON.stringify(`${bridge}/v1`)}, apiKey: ${JSON.stringify(key)} }`;
  const asked = `{ model: "${DEMO_MODEL_NAME}", messages: [{ role: "user", content: "Good morning" }] }`;
  const program = `import OpenAI from "openai"; const openai = new OpenAI(${options}); const { model, choices } = await openai.chat.completions.create(${asked}); console.log(model + ": " + choices[0].message.content);`;
  return `${place}${shellWord(node)} --input-type=module -e ${quote(program)}`;
};

/** Ten commands, to be run in order: the fifth approves the fourth's permission request, and the last five are chats at the relay. */
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
    line: `id=$(curl -s --noproxy '*' ${facts.agent}/permission | ${LAST_ID}); if [ -n "$id" ]; then ${chatLine(facts, "approve '$id'")}; else echo 'No request waits for approval: run the command before this one first'; fi`,
    checkOutput: checkAnswer(`Verified: ${RECHARGE.amount} was added for ${RECHARGE.email}`),
  },
  ...relayCommands(facts),
];
