import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { MessageRecord } from '../../../../src/bridge/agent/schema.ts';
import { rebuildResponse } from '../../../../src/bridge/openai/responses/rebuild/rebuild.ts';
import { describe } from '../../../check.ts';
import { responseID } from './world.ts';

const SESSION = 'ses_1';
let parts = 0;
const part = (messageID: string, more: object) => {
  parts += 1;
  return { id: `prt_${parts}`, sessionID: SESSION, messageID, ...more };
};
const user = (id: string, ...more: object[]) => ({
  info: { id, sessionID: SESSION, role: 'user' },
  parts: more.map((one) => part(id, one)),
});
const assistant = (id: string, parentID: string, info: object, ...more: object[]) => ({
  info: {
    id,
    sessionID: SESSION,
    role: 'assistant',
    parentID,
    providerID: 'acme',
    modelID: 'small',
    time: { created: 5000, completed: 9900 },
    tokens: { input: 10, output: 4, reasoning: 1, cache: { read: 2, write: 3 } },
    finish: 'stop',
    ...info,
  },
  parts: more.map((one) => part(id, one)),
});
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, time: { start: 1, end: 2 }, ...more });
const thought = (words: string) => ({ ...text(words), type: 'reasoning' });
const tool = (state: object) => ({ type: 'tool', callID: `call_${parts}`, tool: 'relay-admin_list_users', state });

const records = (...given: object[]) => v.parse(v.array(MessageRecord), given);
const PLACE = {
  responseID: responseID(),
  promptID: 'msg_u1',
  requestedSeconds: undefined,
  nowSeconds: 77,
  isBusy: false,
  isBackground: false,
  answersBefore: 0,
  conversationName: undefined,
  approvalRequests: [],
  showsReasoning: true,
};
const stored = (...given: object[]) => rebuildResponse(records(...given), PLACE);
const running = (...given: object[]) => rebuildResponse(records(...given), { ...PLACE, isBusy: true });
const outputOf = (...given: object[]) => linesOf(stored(...given));
const linesOf = (made: ReturnType<typeof stored>) =>
  (made?.output ?? []).map((item) => {
    const [content] = item.type === 'message' ? item.content : [];
    if (content?.type === 'output_text') return `${item.id.split('_resp')[0]} ${item.status} ${content.text}`;
    if (item.type === 'reasoning') return `${item.id.split('_resp')[0]} ${item.summary[0]?.text}`;
    if (item.type !== 'mcp_call') return `${item.id.split('_resp')[0]} ${item.status}`;
    return `${item.id.split('_resp')[0]} ${item.status} ${item.output ?? item.error?.content[0]?.text}`;
  });

const ASKED = user('msg_u1', text('Users?'));
const DONE = { status: 'completed', input: { page: 1 }, output: 'five' };
const LOOKS = assistant('msg_a1', 'msg_u1', { finish: 'tool-calls' }, thought('Hm'), text('I look.'), tool(DONE));
const FIVE = assistant('msg_a2', 'msg_u1', {}, text('Five.'));

describe('a response that is made again', (check) => {
  check('holds the conversation in its turn, under the ids that were reported', () => {
    assert.equal(outputOf(ASKED, LOOKS, FIVE), [
      'rs_0 Hm',
      'msg_1 completed I look.',
      'mcp_2 completed five',
      'msg_3 completed \n\nFive.',
    ]);
  });

  check('knows its model, its times and what the whole turn cost', () => {
    const made = stored(ASKED, LOOKS, FIVE) as Record<string, unknown>;
    assert.equal(
      [made.id, made.model, made.status, made.created_at, made.completed_at],
      [responseID(), 'acme/small', 'completed', 5, 9],
    );
    assert.equal(made.usage, {
      input_tokens: 30,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 6 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 40,
    });
  });

  check('holds nothing of other turns', () => {
    const before = [user('msg_u0', text('Hi')), assistant('msg_a0', 'msg_u0', {}, text('Hello'))];
    const after = [user('msg_u2', text('More')), assistant('msg_a3', 'msg_u2', {}, text('Six'))];
    assert.equal(outputOf(...before, ASKED, FIVE, ...after), ['msg_0 completed Five.']);
    const replayed = user('msg_u2', text('Earlier ...', { synthetic: true }), text('More'));
    assert.equal(outputOf(ASKED, FIVE, replayed, assistant('msg_a3', 'msg_u2', {}, text('Six'))), [
      'msg_0 completed Five.',
    ]);
  });

  check('goes on where the agent made a summary in between, and leaves that out', () => {
    const summary = [
      user('msg_u2', { type: 'compaction' }),
      assistant('msg_a3', 'msg_u2', { summary: true }, text('So far ...')),
      user('msg_u3', text('Go on', { synthetic: true })),
      assistant('msg_a4', 'msg_u3', {}, text('Five.')),
    ];
    assert.equal(outputOf(ASKED, LOOKS, ...summary).at(-1), 'msg_3 completed \n\nFive.');
  });

  check('leaves out what is hidden, empty, or not known yet', () => {
    const hidden = [text('a', { synthetic: true }), text('b', { ignored: true }), text(''), { type: 'step-start' }];
    const waiting = tool({ status: 'pending', input: {} });
    assert.equal(outputOf(ASKED, assistant('msg_a1', 'msg_u1', {}, ...hidden, waiting, text('Five.'))), [
      'msg_0 completed Five.',
    ]);
  });

  check('reports a call that failed', () => {
    const broken = tool({ status: 'error', input: {}, error: 'no such' });
    assert.is(outputOf(ASKED, assistant('msg_a1', 'msg_u1', {}, broken))[0], 'mcp_0 failed no such');
  });

  check('is under way while its turn is', () => {
    const runningAnswer = assistant(
      'msg_a1',
      'msg_u1',
      { time: { created: 5000 } },
      text('Fi', { time: { start: 1 } }),
    );
    assert.equal(
      [running(ASKED, runningAnswer)?.status, linesOf(running(ASKED, runningAnswer))],
      ['in_progress', ['msg_0 in_progress Fi']],
    );
    const made = running(ASKED);
    assert.equal([made?.status, made?.output, made?.created_at, made?.model], ['in_progress', [], 77, '']);
  });

  check('is under way between two steps, and failed where its agent ended before it had answered', () => {
    assert.equal([running(ASKED, LOOKS)?.status, stored(ASKED, LOOKS, FIVE)?.status], ['in_progress', 'completed']);
    const broken = stored(ASKED, assistant('msg_a1', 'msg_u1', { time: { created: 5000 } }, text('Fi')));
    assert.equal([broken?.status, broken?.error?.code], ['failed', 'agent_interrupted']);
  });

  check('is cancelled where it was made in the background and aborted', () => {
    const error = { name: 'MessageAbortedError', data: { message: 'Aborted' } };
    const aborted = records(ASKED, assistant('msg_a1', 'msg_u1', { error }, text('Fi')));
    assert.is(rebuildResponse(aborted, { ...PLACE, isBackground: true })?.status, 'cancelled');
  });

  check('has the value alone where it had to be one, and not the call that gave it', () => {
    const value = { status: 'completed', input: { city: 'Oslo' }, output: 'ok' };
    const call = { type: 'tool', callID: 'call_value', tool: 'StructuredOutput', state: value };
    const wrong = { ...call, callID: 'call_wrong', state: { status: 'error', input: {}, error: 'city is missing' } };
    const answer = assistant('msg_a1', 'msg_u1', {}, thought('Hm'), text('I say.'), tool(DONE), wrong, call);
    assert.equal(outputOf(ASKED, answer), ['rs_0 Hm', 'mcp_1 completed five', 'msg_2 completed {"city":"Oslo"}']);
  });

  check('is incomplete where the answer was cut off, and failed where the turn failed', () => {
    const cut = stored(ASKED, assistant('msg_a1', 'msg_u1', { finish: 'length' }, text('Fi')));
    assert.equal([cut?.status, cut?.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
    const error = { name: 'ContextOverflowError', data: { message: 'too long' } };
    const broken = stored(ASKED, assistant('msg_a1', 'msg_u1', { error, time: { created: 1 } }, text('Fi')));
    assert.equal(
      [broken?.status, (broken?.error as { code: string } | null)?.code],
      ['failed', 'context_length_exceeded'],
    );
  });

  check('is nothing where its turn is not among the messages any more', () => {
    assert.is(stored(user('msg_u2', text('More'))), undefined);
    assert.is(stored(), undefined);
  });
});
