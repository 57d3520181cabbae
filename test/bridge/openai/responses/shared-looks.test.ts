import * as assert from 'uvu/assert';
import { NO_ECHO } from '../../../../src/bridge/openai/responses/echo.ts';
import { toResponseObject } from '../../../../src/bridge/openai/responses/response.ts';
import { createSharedLooks } from '../../../../src/bridge/openai/responses/resumed-stream.ts';
import { describe, rejection } from '../../../check.ts';

const facts = { id: 'resp_a', model: 'acme/small', createdSeconds: 1, echo: { ...NO_ECHO, isBackground: true } };
const response = toResponseObject(facts, { kind: 'running', output: [] });

describe('the looks at a response that is streamed again', (check) => {
  check('are one for all its streams in an interval of the clock, and go on without those that leave', async () => {
    let nowMs = 1000;
    const shareLooks = createSharedLooks({ now: () => nowMs });
    const looks: PromiseWithResolvers<{ response: typeof response; isHeld: boolean }>[] = [];
    const look = () => {
      const made = Promise.withResolvers<{ response: typeof response; isHeld: boolean }>();
      looks.push(made);
      return made.promise;
    };
    const left = new AbortController();
    const never = new AbortController().signal;
    const leaving = rejection(shareLooks('a', look)(left.signal));
    const streams = Array.from({ length: 200 }, () => shareLooks('a', look)(never));
    assert.is(looks.length, 1);
    left.abort(new Error('left'));
    assert.is((await leaving) instanceof Error, true);
    nowMs = 1200;
    const later = shareLooks('a', look)(never);
    const another = shareLooks('b', look)(never);
    assert.is(looks.length, 3);
    for (const { resolve } of looks) resolve({ response, isHeld: false });
    assert.is(new Set(await Promise.all(streams)).size, 1);
    await Promise.all([later, another]);
    void shareLooks('a', look)(never);
    assert.is(looks.length, 4);
  });
});
