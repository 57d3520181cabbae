import * as assert from 'uvu/assert';
import { createAiModel } from '../../../src/agent/model/ai-sdk.ts';
import { ModelError } from '../../../src/agent/model/types.ts';
import { answer, calls, type Piece, type ScriptedReply, silence, text } from '../../../src/demo/model/reply.ts';
import { describe, rejection } from '../../check.ts';
import type { ModelControl } from '../../demo/model/control.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { createStopwatch } from '../../stopwatch.ts';
import { ADAPTERS, collected, createModelWorld, question, target, until } from '../harness/model-world.ts';

const PROMPT_MS = 100;
const LEFT = new Error('The caller left');
const hang: Piece = { kind: 'hang' };

const STAGES: readonly (readonly [string, ScriptedReply])[] = [
  ['before the answer begins', silence],
  ['before its first word', answer([hang])],
  ['in its text', answer([...text('one', 'two'), hang])],
  ['in its calls', answer([...calls({ name: 'time', arguments: {} }), hang])],
];
const settled = () => new Promise((resolve) => setTimeout(resolve, 30));
/** Until the backend has been asked, and what follows from that has come to rest. */
const asked = async (control: ModelControl): Promise<void> => {
  await until(() => control.requests().length > 0, 'the request');
  await settled();
};
const left = (control: ModelControl): Promise<void> =>
  until(() => control.requests()[0]?.isAborted() === true, 'the backend to hear of it');

describe('a caller who leaves', (check) => {
  for (const npm of ADAPTERS) {
    for (const [stage, reply] of STAGES) {
      check(`${stage} is let go at once with their own reason, and the backend learns of it (${npm})`, async () => {
        const { ask, control } = createModelWorld();
        control.addReply(reply);
        const leaving = new AbortController();
        const failing = rejection(ask({ target: target({ npm }) }, leaving.signal));
        await asked(control);
        assert.is(control.requests()[0]?.isAborted(), false);
        const waited = createStopwatch();
        leaving.abort(LEFT);
        assert.is(await failing, LEFT);
        assert.ok(waited() < PROMPT_MS);
        await left(control);
      });
    }
  }

  for (const [stage, reply] of STAGES) {
    check(`${stage} is let go at once, even if the backend does not care`, async () => {
      // The signal never reaches it.
      const { ask, control } = createModelWorld(
        (direct) =>
          (url, { signal: _, ...init }) =>
            direct(url, { ...init, signal: new AbortController().signal }),
      );
      control.addReply(reply);
      const leaving = new AbortController();
      const failing = rejection(ask({}, leaving.signal));
      await asked(control);
      const waited = createStopwatch();
      leaving.abort(LEFT);
      assert.is(await failing, LEFT);
      assert.ok(waited() < PROMPT_MS);
    });
  }

  check('before asking makes no request', async () => {
    const { ask, control } = createModelWorld();
    assert.is(await rejection(ask({}, AbortSignal.abort(LEFT))), LEFT);
    assert.is(control.requests().length, 0);
  });

  check('receives not another word, however much has come by then', async () => {
    const { model, control } = createModelWorld();
    control.addReply(answer(text(...Array.from({ length: 100 }, () => 'word '))));
    const leaving = new AbortController();
    const events = model(question(), leaving.signal)[Symbol.asyncIterator]();
    await events.next();
    await settled();
    leaving.abort(LEFT);
    assert.is(await rejection(events.next()), LEFT);
  });

  check('by not listening to the end ends the call to the backend', async () => {
    const { model, control } = createModelWorld();
    control.addReply(answer([...text('one'), hang]));
    for await (const _ of model(question(), new AbortController().signal)) break;
    await left(control);
  });

  check('leaves no timer and no listener behind', async () => {
    const { ask, control, clock } = createModelWorld();
    const leaving = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = leaving.signal;
    leaving.signal.addEventListener = (...given: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(leaving.signal, given);
    };
    leaving.signal.removeEventListener = (...given: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(leaving.signal, given);
    };
    control.addReply(answer(text('one', 'two')));
    await ask({}, leaving.signal);
    await settled();
    assert.is(clock.pending(), 0);
    assert.is(listeners, 0);
  });
});

describe('the connection of a whole answer', (check) => {
  /** Anthropic's stream says that an answer is whole before the body ends. */
  const askWithRest = async () => {
    let signal = new AbortController().signal;
    const rest = Promise.withResolvers<void>();
    const world = createModelWorld((direct) => async (url, init) => {
      signal = init.signal;
      const { status, ok, headers, body } = await direct(url, init);
      const held = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({ flush: () => rest.promise });
      return { status, ok, headers, body: body?.pipeThrough(held) ?? null };
    });
    world.control.addReply(answer(text('one')));
    const events = world.model(
      question({ target: target({ npm: '@ai-sdk/anthropic' }) }),
      new AbortController().signal,
    );
    for await (const { kind } of events) if (kind === 'finished') break;
    await settled();
    return { ...world, signal, endBody: rest.resolve };
  };

  check('is used again: what comes after the answer is read', async () => {
    const { clock, signal, endBody } = await askWithRest();
    assert.is(signal.aborted, false);
    endBody();
    await settled();
    assert.is(clock.pending(), 0);
    assert.is(signal.aborted, false);
  });

  check('is closed where the backend does not end it within a second', async () => {
    const { clock, signal } = await askWithRest();
    await clock.advance(1000);
    assert.is(signal.aborted, true);
    await settled();
    assert.is(clock.pending(), 0);
  });
});

describe('a backend that is silent', (check) => {
  for (const [stage, reply] of STAGES) {
    check(`${stage} is given up after five minutes`, async () => {
      const { problem, control, clock } = createModelWorld();
      control.addReply(reply);
      const failing = problem();
      await asked(control);
      await clock.advance(299_000);
      assert.is(control.requests()[0]?.isAborted(), false);
      await clock.advance(1_000);
      const found = await failing;
      assert.equal([found.kind, found.isRetryable], ['network', true]);
      assert.is(found.message, 'The provider "acme" was silent for 300000 ms');
      await left(control);
      assert.is(clock.pending(), 0);
    });
  }

  check('is not one that speaks slowly: each piece of an answer starts the time again', async () => {
    const { ask, control, clock } = createModelWorld();
    const slow: Piece = { kind: 'wait', ms: 200_000 };
    control.addReply(answer([...text('a'), slow, ...text('b'), slow, ...text('c')]));
    const answered = ask();
    await asked(control);
    for (let round = 0; round < 5; round++) {
      await settled();
      await clock.advance(100_000);
    }
    assert.is((await answered).at(-1)?.kind, 'finished');
  });

  check('is one that sends nothing but comments', async () => {
    const { problem, control, clock } = createModelWorld();
    const slow: Piece = { kind: 'wait', ms: 200_000 };
    control.addReply(answer([...text('a'), slow, { kind: 'raw', text: ': still here\n\n' }, slow, ...text('b')]));
    const failing = problem();
    await asked(control);
    for (let round = 0; round < 3; round++) {
      await settled();
      await clock.advance(100_000);
    }
    assert.is((await failing).message, 'The provider "acme" was silent for 300000 ms');
  });

  check('is not one whose caller is slow', async () => {
    const { model, control, clock } = createModelWorld();
    control.addReply(answer(text('a', 'b')));
    const seen: string[] = [];
    for await (const event of model(question(), new AbortController().signal)) {
      seen.push(event.kind);
      await clock.advance(400_000);
    }
    assert.equal(seen, ['text', 'text', 'finished']);
  });

  check('may be so for as long as it is configured, or for ever', async () => {
    const clock = createFakeClock();
    const limitsOf = (headerMs: number) => () => ({ headerMs, gapMs: 0, wholeMs: 0 });
    const never = () => new Promise<Response>(() => {});
    const impatient = createAiModel({ fetcher: never, clock, version: '1', limitsFor: limitsOf(50) });
    const failing = rejection(collected(impatient(question(), new AbortController().signal)));
    await settled();
    await clock.advance(50);
    assert.instance(await failing, ModelError);
    const patient = createAiModel({ fetcher: never, clock, version: '1', limitsFor: limitsOf(0) });
    const leaving = new AbortController();
    const asked = rejection(collected(patient(question(), leaving.signal)));
    await settled();
    assert.is(clock.pending(), 0);
    leaving.abort(LEFT);
    assert.is(await asked, LEFT);
  });
});

describe('a request on its way', (check) => {
  for (const npm of ADAPTERS)
    check(`is told when the connection has it, and the model is silent yet (${npm})`, async () => {
      const { ask, control } = createModelWorld();
      control.addReply(silence);
      const leaving = new AbortController();
      let sent = 0;
      const onSent = (): void => {
        sent += 1;
      };
      const failing = rejection(ask({ target: target({ npm }), onSent }, leaving.signal));
      await asked(control);
      assert.is(sent, 1);
      leaving.abort(LEFT);
      assert.is(await failing, LEFT);
    });
});
