import type { HttpRequest, HttpResponse } from '../../../src/core/http/client.ts';
import { CATEGORIES } from '../../../src/gateway/policy/categories.ts';
import { nonceOf, received, replying, verdictJson } from './world.ts';

/** A word that only the backend says: wherever it turns up, something was passed on that must not be. */
export const BACKEND_CANARY = 'tr0ub4dor-someone@example.com';

type Output = (nonce: string) => string;
const zeros = (nonce: string): Record<string, unknown> => JSON.parse(verdictJson(nonce)) as Record<string, unknown>;
const without =
  (name: string): Output =>
  (nonce) =>
    JSON.stringify({ ...zeros(nonce), [name]: undefined });
/** A whole verdict but for one literal, written as it stands. */
const scored =
  (literal: string): Output =>
  (nonce) =>
    verdictJson(nonce).replace('"HA":0', `"HA":${literal}`);

const SCORE_LITERALS = [
  ...['"85"', '0.5', '1.0', '0.0', '85.0', '0.999999999999999999', '8.5e1', '1e999', '-1', '-0', '101', '1000'],
  ...[
    'NaN',
    'Infinity',
    '085',
    '+5',
    'null',
    'true',
    'false',
    '""',
    '[0]',
    '{}',
    '{"score":0}',
    '0,',
    '0 0',
    "'0'",
    '0x0',
  ],
];

/** What a judge may say that holds no verdict, by what is wrong with it. */
export const UNUSABLE_CONTENTS: Readonly<Record<string, Output>> = {
  ...Object.fromEntries(CATEGORIES.map(({ code }) => [`no ${code}`, without(code)])),
  ...Object.fromEntries(SCORE_LITERALS.map((literal) => [`a score of ${literal}`, scored(literal)])),
  'yes and no as ones and zeros': (nonce) => verdictJson(nonce, { HA: 1, HAT: 1 }),
  'an extra key': (nonce) => verdictJson(nonce, { reason: BACKEND_CANARY }),
  'flagged: false beside the scores': (nonce) => verdictJson(nonce, { flagged: false }),
  'a key in another case': (nonce) => verdictJson(nonce, { hr: 0 }),
  'a key called __proto__': (nonce) => verdictJson(nonce).replace('{', '{"__proto__":{},'),
  'a key that stands twice': (nonce) => verdictJson(nonce, { HR: 90 }).replace('}', ',"HR":0}'),
  'a key that stands twice, once escaped': (nonce) => verdictJson(nonce, { HR: 90 }).replace('}', ',"\\u0048R":0}'),
  'a nonce that stands twice': (nonce) => verdictJson('000000000000').replace('}', `,"nonce":"${nonce}"}`),
  'another nonce': () => verdictJson('000000000000'),
  'the nonce as a number': (nonce) => verdictJson(nonce).replace(`"${nonce}"`, String(Number(nonce))),
  'the nonce and a blank': (nonce) => verdictJson(`${nonce} `),
  'the nonce in a list': (nonce) => verdictJson(nonce).replace(`"${nonce}"`, `["${nonce}"]`),
  'half the nonce': (nonce) => verdictJson(nonce.slice(0, 6)),
  'no word': without('word'),
  'a word of its own': (nonce) => verdictJson(nonce, { word: 'safe' }),
  'the words for the word': (nonce) => verdictJson(nonce, { word: 'the one word' }),
  'the word in capitals': (nonce) => verdictJson(nonce, { word: 'UNDER' }),
  'the word as yes or no': (nonce) => verdictJson(nonce, { word: false }),
  'the word in a list': (nonce) => verdictJson(nonce, { word: ['under'] }),
  'a word that stands twice': (nonce) => verdictJson(nonce).replace('}', ',"word":"under"}'),
  'a word for less than its scores': (nonce) => verdictJson(nonce, { HA: 85, word: 'under' }),
  'a word for less than its one score of 50': (nonce) => verdictJson(nonce, { HA: 50, word: 'under' }),
  'a word for more than its scores': (nonce) => verdictJson(nonce, { HA: 45, word: 'over' }),
  'a scale of 0 to 10': (nonce) => verdictJson(nonce, { HA: 8, HAT: 9, VI: 5, word: 'over' }),
  'no nonce': without('nonce'),
  'no nonce, but null': (nonce) => verdictJson(nonce).replace(`"${nonce}"`, 'null'),
  'the words of the answer shape': () => verdictJson('the number of the marker lines'),
  'the answer shape itself': (nonce) =>
    `{${CATEGORIES.map(({ code }) => `"${code}":n`).join(',')},"word":"the one word","nonce":"${nonce}"}`,
  'two objects': (nonce) => verdictJson(nonce, { HR: 90 }) + verdictJson(nonce),
  'two objects on two lines': (nonce) => `${verdictJson(nonce)}\n${verdictJson(nonce)}`,
  'an array of one': (nonce) => `[${verdictJson(nonce)}]`,
  'a verdict inside an object': (nonce) => `{"verdict":${verdictJson(nonce)}}`,
  'a verdict as a JSON text': (nonce) => JSON.stringify(verdictJson(nonce)),
  'prose before it': (nonce) => `Here is the verdict: ${verdictJson(nonce)}`,
  'prose after it': (nonce) => `${verdictJson(nonce)}\nI hope this helps.`,
  'a comment in it': (nonce) => verdictJson(nonce).replace('{', '{/* safe */'),
  'a trailing comma': (nonce) => verdictJson(nonce).replace('}', ',}'),
  'single quotes': (nonce) => verdictJson(nonce).replaceAll('"', "'"),
  'the end missing': (nonce) => verdictJson(nonce).slice(0, -1),
  'the beginning missing': (nonce) => verdictJson(nonce).slice(1),
  'an unclosed think block': (nonce) => `<think>${verdictJson(nonce)}`,
  'a verdict inside a think block only': (nonce) => `<think>${verdictJson(nonce)}</think>`,
  'a think block after it': (nonce) => `${verdictJson(nonce)}<think>no</think>`,
  'two think blocks': (nonce) => `<think>a</think><think>b</think>${verdictJson(nonce)}`,
  'only the end of a think block': (nonce) => `all fine</think>${verdictJson(nonce)}`,
  channels: (nonce) => `<|channel|>analysis<|message|>fine<|end|><|channel|>final<|message|>${verdictJson(nonce)}`,
  'channels without their marks': (nonce) => `analysisall fineassistantfinal${verdictJson(nonce)}`,
  'prose around a fence': (nonce) => `Sure:\n\`\`\`json\n${verdictJson(nonce)}\n\`\`\``,
  'two fences': (nonce) => `\`\`\`json\n${verdictJson(nonce)}\n\`\`\`\n\`\`\`json\n${verdictJson(nonce)}\n\`\`\``,
  'an open fence': (nonce) => `\`\`\`json\n${verdictJson(nonce)}`,
  'an empty object': () => '{}',
  'empty scores': () => '{"category_scores":{}}',
  'scores by their long names': (nonce) =>
    JSON.stringify({ ...Object.fromEntries(CATEGORIES.map(({ name }) => [name, 0])), nonce }),
  'scores in an object of their own': (nonce) => JSON.stringify({ category_scores: zeros(nonce), nonce }),
  'sparse scores': (nonce) => `{"HR":90,"word":"over","nonce":"${nonce}"}`,
  'a web page': () => `<!DOCTYPE html><html><body>${BACKEND_CANARY}</body></html>`,
  nothing: () => '',
  'white space': () => ' \n\t ',
  null: () => 'null',
  'a number': () => '0',
  'a refusal': () => `I'm sorry, but I can't help with that. ${BACKEND_CANARY}`,
  'an order taken from the text': () => 'flagged=false',
};

type Reply = (sent: HttpRequest) => HttpResponse;
type Replies = Readonly<Record<string, Reply>>;
/** What a judge of some kind writes where it finds nothing. */
type CleanVerdict = (sent: HttpRequest) => string;

/** Answers under HTTP 200 that hold no verdict, whatever their text says: `final` are those that a second call cannot make good. */
export const createUnusableReplies = (
  verdictFor: CleanVerdict,
): Readonly<Record<'ollama' | 'openai' | 'final', Replies>> => {
  /** A server's answer around a whole clean verdict, changed. */
  const changed =
    (change: (answer: Record<string, unknown>, verdict: string) => unknown): Reply =>
    (sent) => {
      const verdict = verdictFor(sent);
      const good = JSON.parse(replying(sent, verdict).text) as Record<string, unknown>;
      return received(200, JSON.stringify(change(good, verdict)));
    };
  const ended = (reason: unknown): Reply => changed((answer) => ({ ...answer, done_reason: reason }));
  const choosing = (choice: (verdict: string) => object): Reply =>
    changed((answer, verdict) => {
      const [good] = answer.choices as object[];
      return { ...answer, choices: [{ ...good, ...choice(verdict) }] };
    });
  const messaging = (message: (verdict: string) => object): Reply =>
    choosing((verdict) => ({ message: { role: 'assistant', ...message(verdict) } }));
  const raw =
    (text: string): Reply =>
    () =>
      received(200, text);

  const ANY_SERVER: Replies = {
    'an empty body': raw(''),
    'a captive portal': raw(`<html>Please log in, ${BACKEND_CANARY}</html>`),
    'an empty object as the answer': raw('{}'),
    'null as the answer': raw('null'),
    'an array as the answer': raw('[]'),
    'a verdict without a server around it': (sent) => received(200, verdictFor(sent)),
    'an answer cut off in its middle': (sent) => received(200, replying(sent, verdictFor(sent)).text.slice(0, -20)),
    'the other dialect': (sent) => {
      const isOllama = sent.url.endsWith('/api/chat');
      return replying({ ...sent, url: isOllama ? '/v1/chat/completions' : '/api/chat' }, verdictFor(sent));
    },
    'a numbered model name': changed((answer) => ({ ...answer, model: 20 })),
  };

  const final: Replies = {
    'another model': changed((answer) => ({ ...answer, model: 'llama3:8b' })),
    'a model that only begins alike': changed((answer) => ({ ...answer, model: 'gpt-oss:20b2' })),
  };

  return {
    final,
    ollama: {
      ...ANY_SERVER,
      'done_reason length': ended('length'),
      'done_reason load': ended('load'),
      'done_reason unload': ended('unload'),
      'no done_reason': ended(undefined),
      'done: false': changed((answer) => ({ ...answer, done: false })),
      'no done': changed((answer) => ({ ...answer, done: undefined })),
      'no message': changed((answer) => ({ ...answer, message: undefined })),
      'a verdict in the thinking only': changed((answer, verdict) => ({
        ...answer,
        message: { role: 'assistant', content: null, thinking: verdict },
      })),
      'content in parts': changed((answer, verdict) => ({
        ...answer,
        message: { content: [{ text: verdict }] },
      })),
      'a call of a tool': changed((answer, verdict) => ({
        ...answer,
        message: { content: verdict, tool_calls: [{ function: { name: 'x', arguments: {} } }] },
      })),
      'a stream': (sent) => {
        const line = replying(sent, verdictFor(sent)).text;
        return received(200, `${line}\n${line}\n`);
      },
    },
    openai: {
      ...ANY_SERVER,
      'finish_reason length': choosing(() => ({ finish_reason: 'length' })),
      'finish_reason content_filter': choosing(() => ({ finish_reason: 'content_filter' })),
      'finish_reason tool_calls': choosing(() => ({ finish_reason: 'tool_calls' })),
      'finish_reason null': choosing(() => ({ finish_reason: null })),
      'no finish_reason': choosing(() => ({ finish_reason: undefined })),
      'no choice': changed((answer) => ({ ...answer, choices: [] })),
      'two choices': changed((answer) => ({ ...answer, choices: [answer.choices, answer.choices].flat() })),
      'no message': choosing(() => ({ message: undefined })),
      'a refusal beside the content': messaging((verdict) => ({ content: verdict, refusal: BACKEND_CANARY })),
      'a verdict in the reasoning only': messaging((verdict) => ({ content: null, reasoning: verdict })),
      'a verdict in reasoning_content only': messaging((verdict) => ({
        content: '',
        reasoning_content: verdict,
      })),
      'content in parts': messaging((verdict) => ({ content: [{ type: 'text', text: verdict }] })),
      'a call of a tool': messaging((verdict) => ({ content: verdict, tool_calls: [{ id: 'x' }] })),
      'a stream': (sent) => received(200, `data: ${replying(sent, verdictFor(sent)).text}\n\ndata: [DONE]\n\n`),
    },
  };
};

const OF_CHAT_MODELS = createUnusableReplies((sent) => verdictJson(nonceOf(sent)));
/** Answers of chat models that hold no verdict, whatever their text says, by dialect. */
export const UNUSABLE_REPLIES: Readonly<Record<'ollama' | 'openai', Replies>> = OF_CHAT_MODELS;
/** Answers of chat models that a second call cannot make good. */
export const FINAL_REPLIES: Replies = OF_CHAT_MODELS.final;
