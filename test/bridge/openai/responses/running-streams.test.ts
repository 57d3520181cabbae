import * as assert from 'uvu/assert';
import { createRunningStreams } from '../../../../src/bridge/openai/responses/running-streams.ts';
import { describe } from '../../../check.ts';

const streamAgain = () => new Response();
const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('the streams of responses that are made here', (check) => {
  check('hold the request that began one, not those that join it', async () => {
    const streams = createRunningStreams();
    const ended = Promise.withResolvers<void>();
    const answer = { responseID: async () => 'resp_a', ended: () => ended.promise };
    streams.add(answer, 'owner', streamAgain, never);
    await turn();
    streams.add(answer, 'owner', () => new Response(), never);
    await turn();
    assert.is(streams.find('resp_a', 'owner'), streamAgain);
    assert.is(streams.find('resp_a', 'another'), undefined);
    ended.resolve();
    await turn();
    assert.is(streams.find('resp_a', 'owner'), undefined);
  });

  check('hold no request whose client leaves before its response has begun', async () => {
    const streams = createRunningStreams();
    const begun = Promise.withResolvers<string>();
    const left = new AbortController();
    const answer = { responseID: () => begun.promise, ended: () => new Promise<void>(() => {}) };
    streams.add(answer, 'owner', streamAgain, left.signal);
    left.abort();
    begun.resolve('resp_a');
    await turn();
    assert.is(streams.find('resp_a', 'owner'), undefined);
  });
});
