import * as assert from 'uvu/assert';
import { auditEndpoint } from '../../../src/demo/relay/audit/settings.ts';
import { describe } from '../../check.ts';
import { relayOver } from './moderated.ts';

const WORD = 'zyzzyva';
const FIRST = 'content_policy_violation';
const SECOND = 'prompt_guard_blocked';

/** A relay with both engines on, which find the word wherever they are shown it. */
const watched = () => {
  const relay = relayOver(async (request) => {
    const isFound = (await request.clone().text()).includes(WORD);
    if (new URL(request.url).pathname === '/v1/moderations')
      return Response.json({ results: [{ category_scores: { hate: isFound ? 1 : 0 } }] });
    const content = isFound ? 'Safety: Unsafe\nCategories: Violent' : 'Safety: Safe\nCategories: None';
    return Response.json({ choices: [{ message: { content } }] });
  });
  Object.assign(relay.world.audit.settings, {
    enabled: true,
    blocking_enabled: true,
    endpoints: [auditEndpoint({ base_url: 'http://gateway.test' })],
  });
  return relay;
};

const user = (content: unknown, more: object = {}) => ({ role: 'user', content, ...more });
const text = (words: string) => ({ type: 'text', text: words });
const hello = user('hello');
const chat = (...messages: readonly unknown[]) => ['chat/completions', { messages }] as const;
const part = (given: object) => chat(user([given, text('hello')]));
const response = (body: object) => ['responses', body] as const;
type Sent = readonly [front: string, body: object | string];

const SEEN: Readonly<Record<string, Sent>> = {
  'the last message': chat(hello, user(WORD)),
  'a part of it': chat(user([text('hello'), text(WORD)])),
  'a message in the form of Anthropic': ['messages', { messages: [user([text(WORD)])] }],
  'the input of a response': response({ input: WORD }),
  'the last item of it': response({ input: [hello, { type: 'message', role: 'user', content: [text(WORD)] }] }),
  'the input of embeddings': ['embeddings', { input: WORD }],
  'an image of a message': [
    'messages',
    { messages: [user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: WORD } }])] },
  ],
  'an image': part({ type: 'image_url', image_url: { url: `data:image/png;base64,${WORD}` } }),
};
const PAST_THE_FIRST: Readonly<Record<string, Sent>> = {
  'a text with <system-reminder>': chat(user(`${WORD} <system-reminder>`)),
  'a part with <system-reminder>': ['messages', { messages: [user([text(`<system-reminder>${WORD}`)])] }],
  'a key that comes twice': [
    'chat/completions',
    `{"messages":[{"role":"user","content":"hello","content":"${WORD}"}]}`,
  ],
  'a list of messages that comes twice': [
    'chat/completions',
    `{"messages":[{"role":"user","content":"[\\"{hello"}],"messages":[{"role":"user","content":"${WORD}"}]}`,
  ],
  'texts in the array of a response': response({ input: [WORD] }),
  'the instructions of a response': response({ instructions: WORD, input: 'hello' }),
  'an array of embeddings': ['embeddings', { input: ['hello', WORD] }],
  'an earlier message': chat(user(WORD), hello),
  'another role': chat({ role: 'system', content: WORD }, hello),
  'the system of a message': ['messages', { system: WORD, messages: [hello] }],
  'a last message that is no user’s': chat(user(WORD), { role: 'assistant', content: 'yes' }),
  'what is behind the 12,000th character': chat(user(`${'word '.repeat(2400)}${WORD}`)),
};
const PAST_BOTH: Readonly<Record<string, Sent>> = {
  'a document': part({ type: 'document', source: { type: 'text', media_type: 'text/plain', data: WORD } }),
  'a result of a tool': part({ type: 'tool_result', tool_use_id: 'a', content: WORD }),
  'a result of a search': part({ type: 'search_result', content: [text(WORD)] }),
  'a file': part({ type: 'file', file: { file_data: WORD } }),
  'a refusal': part({ type: 'refusal', refusal: WORD }),
  'a part of an unknown type': part({ type: 'reasoning', text: WORD }),
  'the output of a function': response({
    input: [hello, { type: 'function_call_output', call_id: 'a', output: WORD }],
  }),
  'the description of a tool': [
    'chat/completions',
    { messages: [hello], tools: [{ type: 'function', function: { name: 'a', description: WORD } }] },
  ],
  'the name of a message': chat(user('hello', { name: WORD })),
  'the arguments of a call': chat({ role: 'assistant', tool_calls: [{ function: { arguments: WORD } }] }, hello),
  'a key in capitals': chat({ role: 'user', Content: WORD }),
  'all messages under a key in capitals': ['chat/completions', { Messages: [user(WORD)] }],
  'an image at DATA:': part({ type: 'image_url', image_url: { url: `DATA:image/png;base64,${WORD}` } }),
};
const post = ([front, body]: Sent) => watched().post(front, typeof body === 'string' ? body : JSON.stringify(body));

describe('a relay with both engines', (check) => {
  for (const [name, sent] of Object.entries(SEEN))
    check(`refuses with the first ${name}`, async () => assert.is(await post(sent), FIRST));
  for (const [name, sent] of Object.entries(PAST_THE_FIRST))
    check(`refuses with the second alone ${name}`, async () => assert.is(await post(sent), SECOND));
  for (const [name, sent] of Object.entries(PAST_BOTH))
    check(`passes ${name}`, async () => assert.is(await post(sent), 'passed'));
});
