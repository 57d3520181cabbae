import * as assert from 'uvu/assert';
import type { AgentEvent } from '../../../src/agent/protocol/events.ts';
import type { AssistantMessage, Part } from '../../../src/agent/protocol/types.ts';
import { createKnownSteps } from '../../../src/agent/turns/output/known-steps.ts';
import { describe } from '../../check.ts';

const SESSION = 'ses_1';
const STEP: AssistantMessage = {
  ...{ id: 'msg_2', sessionID: SESSION, role: 'assistant', parentID: 'msg_1', mode: 'build', agent: 'build' },
  ...{ modelID: 'main', providerID: 'demo', path: { cwd: '/', root: '/' }, time: { created: 1 }, cost: 0 },
  tokens: { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 }, total: 2 },
};
const ENDED: AssistantMessage = { ...STEP, finish: 'tool-calls', time: { created: 1, completed: 2 } };
const place = { sessionID: SESSION, messageID: STEP.id };
const textPart = (text: string, end?: number): Part => ({
  ...{ ...place, id: 'prt_1', type: 'text', text },
  time: { start: 1, ...(end === undefined ? {} : { end }) },
});
const call = { ...place, id: 'prt_2', type: 'tool', callID: 'call', tool: 'weather' } as const;
const PENDING: Part = { ...call, state: { status: 'pending', input: {}, raw: '' } };
const RUNNING: Part = { ...call, state: { status: 'running', input: {}, title: 'weather', time: { start: 1 } } };

const updated = (part: Part): AgentEvent => ({
  ...{ id: 'evt_1', type: 'message.part.updated' },
  properties: { sessionID: SESSION, part, time: 1 },
});
const informed = (info: AssistantMessage): AgentEvent => ({
  ...{ id: 'evt_1', type: 'message.updated' },
  properties: { sessionID: SESSION, info },
});

describe('the known steps of a prompt', (check) => {
  check('lose nothing to events that are older than what was read', () => {
    const steps = createKnownSteps('msg_1', 0);
    steps.load([{ info: ENDED, parts: [textPart('hello', 2), RUNNING] }]);
    const all = steps.entriesAfter(0, undefined);
    assert.equal(
      all.map(({ type }) => type),
      ['text', 'text-ended', 'call', 'step'],
    );
    const older = [informed(STEP), updated(textPart('')), updated(PENDING)];
    for (const event of older) {
      assert.is(steps.take(event), 'none');
      assert.equal(steps.entriesAfter(0, undefined), all);
    }
  });

  check('follow events that are newer', () => {
    const steps = createKnownSteps('msg_1', 0);
    steps.load([{ info: STEP, parts: [textPart(''), PENDING] }]);
    const newer = [updated(textPart('hello', 2)), updated(RUNNING), informed(ENDED)];
    assert.equal(
      newer.map((event) => steps.take(event)),
      ['changed', 'changed', 'completed'],
    );
    assert.is(steps.entriesAfter(0, undefined).length, 4);
  });
});
