import * as v from 'valibot';
import { parseJson } from '../core/json.ts';
import {
  type CommandResult,
  type CommandSettings,
  curlPost,
  type DemoCommand,
  quote,
  shorten,
  unexpected,
} from './command-line.ts';

const Refusal = v.object({ error: v.object({ code: v.string() }) });
const Answer = v.object({ choices: v.tuple([v.object({ message: v.object({ content: v.string() }) })]) });
const Events = v.object({ data: v.object({ items: v.array(v.object({ decision: v.string() })) }) });

type Message = readonly [role: 'user' | 'assistant', content: string];

/** Nothing listens there. */
const NOWHERE = 'http://localhost:9';
const VERSION = String.raw`sed -n 's/.*"config_version":\([0-9]*\).*/\1/p'`;

/** A chat of a user of the relay, past the bridge. */
const chatLine = ({ relay, relayKey }: CommandSettings, ...messages: readonly Message[]): string =>
  curlPost({
    url: `${relay}/v1/chat/completions`,
    key: relayKey,
    data: quote(JSON.stringify({ messages: messages.map(([role, content]) => ({ role, content })) })),
  });

const adminCurl = ({ relay, adminKey }: CommandSettings, path: string, more = ''): string =>
  `curl -s --noproxy '*' ${more}${relay}/api/v1/admin/prompt-audit/${path} -H ${quote(`x-api-key: ${adminKey}`)}`;

/** A chat while the relay asks no gateway, because its prompt audit is sent elsewhere, and one after it was sent back. */
const downLine = (facts: CommandSettings): string => {
  const body = String.raw`"{\"expected_config_version\":$version,\"endpoints\":[{\"id\":\"guard-1\",\"base_url\":\"$1\"}]}"`;
  const put = `${adminCurl(facts, 'config', '-o /dev/null -X PUT ')} -d ${body}`;
  const audit = `audit() { version=$(${adminCurl(facts, 'config')} | ${VERSION}); ${put}; }`;
  const chat = chatLine(facts, ['user', 'Good morning']);
  return `${audit}; audit ${NOWHERE}; ${chat}; audit ${facts.gateway}; ${chat}`;
};

const checkRefused =
  (expected: string) =>
  (output: string): CommandResult => {
    const code = parseJson(Refusal, output)?.error.code;
    return code === undefined ? unexpected(output) : { isAsExpected: code === expected, summary: code };
  };

const checkPassed = (output: string): CommandResult => {
  const content = parseJson(Answer, output)?.choices[0].message.content;
  return content === undefined ? unexpected(output) : { isAsExpected: true, summary: shorten(content) };
};

/** Expects a refusal while the audit asks no gateway, and after it an answer of the model. */
const checkDown = (output: string): CommandResult => {
  const [refusal = '', answer = ''] = output.split('\n');
  const refused = checkRefused('prompt_guard_unavailable')(refusal);
  const passed = checkPassed(answer);
  if (!refused.isAsExpected) return refused;
  return { isAsExpected: passed.isAsExpected, summary: `${refused.summary}, then: ${passed.summary}` };
};

/** Expects an answer of the model, and behind it the relay's events with a doubt as the newest. */
const checkDoubt = (output: string): CommandResult => {
  const [answer = '', events = ''] = output.split('\n');
  const passed = checkPassed(answer);
  const [newest] = parseJson(Events, events)?.data.items ?? [];
  if (!passed.isAsExpected || newest === undefined) return unexpected(output);
  return {
    isAsExpected: newest.decision === 'flag',
    summary: `${passed.summary} In the relay's events: ${newest.decision}`,
  };
};

/** Chats at the relay, one for each thing that may become of one: the two engines of its moderation ask the gateway. */
export const relayCommands = (facts: CommandSettings): readonly DemoCommand[] => [
  {
    title: 'A chat at the relay, whose content moderation asks the gateway and refuses it',
    line: chatLine(facts, ['user', 'I will kill you']),
    checkOutput: checkRefused('content_policy_violation'),
  },
  {
    title: 'The same in an earlier message, which only its prompt audit reads: it asks the gateway as a guard model',
    line: chatLine(facts, ['user', 'I will kill you'], ['assistant', 'No.'], ['user', 'Go on']),
    checkOutput: checkRefused('prompt_guard_blocked'),
  },
  {
    title: 'A chat at the relay that passes both',
    line: chatLine(facts, ['user', 'How do I kill a zombie process?']),
    checkOutput: checkPassed,
  },
  {
    title: "One that is controversial: it passes, and is in the relay's events",
    line: `${chatLine(facts, ['user', 'Shut up'])}; ${adminCurl(facts, 'events', String.raw`-w '\n' `)}`,
    checkOutput: checkDoubt,
  },
  {
    title:
      'A chat while the gateway is down for the prompt audit, which is refused, and one when it is back, which passes',
    line: downLine(facts),
    checkOutput: checkDown,
  },
];
