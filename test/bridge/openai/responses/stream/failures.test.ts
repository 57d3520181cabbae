import * as assert from 'uvu/assert';
import { createResponse } from '../../../../../src/bridge/openai/responses/response.ts';
import type { OutputEvent } from '../../../../../src/bridge/output.ts';
import { Fault } from '../../../../../src/core/fault.ts';
import { describe, rejection } from '../../../../check.ts';
import { FAILURE, failed, reporting, textEvents } from '../../../harness/recorded-outputs.ts';
import { startOf } from '../world.ts';
import { read } from './world.ts';

describe('the events of a response that fails', (check) => {
  check('are an error, which every client receives, and the failed response', async () => {
    const { events, names } = await read(reporting(textEvents('a', 'Hel'), failed()));
    assert.equal(names.slice(-2), ['error', 'failed']);
    const { sequence_number: _number, ...error } = events.at(-2);
    const members = { code: FAILURE.code, message: FAILURE.message, param: null };
    assert.equal(error, { type: 'error', ...members, error: { type: 'server_error', ...members } });
    const { status, error: why, output } = events.at(-1).response;
    assert.equal([status, why, output.length], ['failed', { code: FAILURE.code, message: FAILURE.message }, 1]);
  });

  check('come after an item in any case, or some clients have the turn run again', async () => {
    const { names } = await read(reporting(failed()));
    assert.is(names[2], 'output_item.added');
    assert.equal(names.slice(-3), ['output_item.done', 'error', 'failed']);
  });

  check('show nothing of a bug, and pass it on', async () => {
    async function* broken(): AsyncGenerator<OutputEvent> {
      yield { kind: 'text', id: 'a', text: 'Hel' };
      throw new Error('secret');
    }
    const { events, names, thrown } = await read(broken());
    assert.equal(names.slice(-3), ['output_item.done', 'error', 'failed']);
    assert.is(events.at(-1).response.output[0].status, 'incomplete');
    assert.is(events.at(-2).code, 'internal_error');
    assert.not.match(JSON.stringify(events), 'secret');
    assert.instance(thrown, Error);
  });

  check('take an answer that just ends for a bug', async () => {
    const { names, thrown } = await read(reporting(textEvents('a', 'Hel')));
    assert.is(names.at(-1), 'failed');
    assert.instance(thrown, Error);
  });

  check('say no more to a client that left', async () => {
    async function* left(): AsyncGenerator<OutputEvent> {
      yield* reporting(textEvents('a', 'Hel'));
      throw new Fault({ kind: 'client-left' });
    }
    const { names, thrown } = await read(left());
    assert.equal([names.at(-1), thrown], ['output_item.done', undefined]);
  });
});

describe('a response in one piece', (check) => {
  check('is the fault of a failure, which is not retryable', async () => {
    const thrown = await rejection(createResponse(reporting(textEvents('a', 'Hel'), failed()), startOf()));
    assert.equal((thrown as Fault).detail, { kind: 'agent-failed', ...FAILURE, isRetryable: false });
  });

  check('takes an answer that just ends for a bug', async () => {
    const thrown = await rejection(createResponse(reporting(textEvents('a', 'Hel')), startOf()));
    assert.not.instance(thrown, Fault);
  });
});
