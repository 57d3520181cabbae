import * as assert from 'uvu/assert';
import { parse } from 'valibot';
import { findGivenCalls } from '../../../src/bridge/agent/given-calls.ts';
import { MessageRecord } from '../../../src/bridge/agent/schema.ts';
import { describe } from '../../check.ts';

const info = (id: string, more: object = {}) => ({
  ...{ id, sessionID: 'ses_1', role: 'assistant', parentID: 'msg_1', time: { created: 1, completed: 2 } },
  ...more,
});
const call = (callID: string, status: string, isOfClient = true) => ({
  ...{ id: `prt_${callID}`, sessionID: 'ses_1', messageID: 'msg_2', type: 'tool', callID, tool: 'look' },
  state: { status, input: {}, output: '', error: '', ...(isOfClient ? { metadata: { clientTool: true } } : {}) },
});
const record = (given: object, ...parts: readonly object[]) => parse(MessageRecord, { info: given, parts });

describe('the calls that a client was given', (check) => {
  const paused = record(
    info('msg_2', { finish: 'tool-calls' }),
    call('own', 'running', false),
    call('a', 'running'),
    call('b', 'completed'),
    call('c', 'error'),
    call('d', 'pending'),
  );

  check('are found by the id of one of them, with what has become of each', () => {
    assert.equal(findGivenCalls([paused], ['b', 'unknown']), {
      ...{ messageID: 'msg_2', promptID: 'msg_1', callIDs: ['a', 'b', 'c'] },
      ...{ waiting: ['a'], unanswered: ['c'], isResumed: false, next: undefined },
    });
  });

  check('are none of the agent, and none that nobody waits for yet', () => {
    for (const id of ['own', 'd', 'unknown']) assert.is(findGivenCalls([paused], [id]), undefined);
  });

  check('are followed by the last message of their turn, not of another one', () => {
    const later = [record(info('msg_3')), record(info('msg_4')), record(info('msg_5', { parentID: 'msg_9' }))];
    assert.is(findGivenCalls([paused, ...later], ['a'])?.next?.id, 'msg_4');
  });

  check('are resumed where their prompt says that its turn went on after them', () => {
    const prompt = (time: object) => record({ id: 'msg_1', sessionID: 'ses_1', role: 'user', time });
    const isResumed = (time: object) => findGivenCalls([prompt(time), paused], ['a'])?.isResumed;
    assert.equal([{ created: 1 }, { created: 1, resumed: 1 }, { created: 1, resumed: 2 }].map(isResumed), [
      false,
      false,
      true,
    ]);
  });
});
