import OpenAI from 'openai';
import * as assert from 'uvu/assert';
import { answer, text } from '../../../src/demo/model/reply.ts';
import { describe } from '../../check.ts';
import { awaitedLater } from '../agent/process.ts';
import { isNoTitle, until } from '../agent/world.ts';
import { begunTogether } from '../together.ts';
import { asked } from './clients.ts';
import { ask, askChat, askResponses, chatOf, chunksIn, eventsIn, matchesIn, strictly } from './raw.ts';
import { BRIDGE_KEY, type BridgeProcess, inBridgeWorld } from './world.ts';

/** All of these mostly wait, so they wait together. */
const together = begunTogether();
const SILENCE_MS = 15_000;
/** An answer that takes longer to begin than a heartbeat. */
const LATE = answer([{ kind: 'wait', ms: SILENCE_MS }, ...text('At last.')]);

/** What three clients are told: two as it stands, and one that reads it with the official library. */
const allOf = async (bridge: BridgeProcess) => {
  const openai = new OpenAI({ baseURL: bridge.baseURL, apiKey: BRIDGE_KEY });
  const messages = [{ role: 'user' as const, content: 'hello' }];
  const [chat, responses, collected] = await Promise.all([
    askChat(bridge).then(({ ended }) => ended),
    askResponses(bridge).then(({ ended }) => ended),
    openai.chat.completions.stream({ model: 'demo/main', messages }).finalContent(),
  ]);
  return { chat, responses, collected };
};

describe('the bytes of a stream in which nothing is said for long', (check) => {
  check(
    'are a comment now and then, an empty chunk where clients receive no comments, or none, as the bridge is told',
    together(
      inBridgeWorld({}, async ({ bridge, startBridge, model }) => {
        model.alwaysReply(LATE, isNoTitle);
        const [chunking, silent] = await Promise.all(
          ['chunk', 'off'].map((BRIDGE_HEARTBEAT) => startBridge({ BRIDGE_HEARTBEAT })),
        );
        if (chunking === undefined || silent === undefined) throw new Error('Expected two more bridges');
        const [commented, chunked, untouched] = await Promise.all([
          allOf(bridge),
          allOf(chunking),
          askChat(silent).then(({ ended }) => ended),
        ]);

        for (const bytes of [commented.chat, commented.responses]) assert.equal(strictly(bytes).comments, [': ping']);
        assert.is(matchesIn(chunksIn(strictly(commented.chat).reported)), 'At last.');
        assert.is(commented.collected, 'At last.');

        const { reported, comments } = strictly(chunked.chat);
        const chunks = chunksIn(reported);
        assert.equal(comments, []);
        assert.equal(chunks[1]?.choices[0], { index: 0, delta: {}, logprobs: null, finish_reason: null });
        assert.is(chunks[1]?.id, chunks[0]?.id);
        assert.is(matchesIn(chunks), 'At last.');
        // There is no such event among those of responses.
        assert.equal(strictly(chunked.responses).comments, [': ping']);
        assert.is(chunked.collected, 'At last.');

        const without = strictly(untouched);
        const empty = chunksIn(without.reported).filter(
          ({ choices }) => Object.keys(choices[0]?.delta ?? {}).length === 0,
        );
        assert.equal([without.comments, empty.length], [[], 1]);
      }),
    ),
  );
});

const STOP_LIMIT_MS = 10_000;
const ENDING_LIMIT_MS = 20_000;
/** Says a little and then nothing, until nobody listens. */
const HANGING = answer([...text('so far '), { kind: 'hang' }]);

const stopping = async ({ running }: BridgeProcess, signal: NodeJS.Signals) => {
  const startedAt = performance.now();
  // Ended the hard way when it does not end by itself: that signal is then told.
  const timer = setTimeout(() => running.signal('SIGKILL'), ENDING_LIMIT_MS);
  running.signal(signal);
  const ended = await running.ended;
  clearTimeout(timer);
  return { ...ended, tookMs: performance.now() - startedAt };
};

/** A whole answer, asked for and not waited for. */
const begun = (bridge: BridgeProcess, body: object = chatOf()) =>
  awaitedLater(ask(bridge, '/v1/chat/completions', body));

describe('stopping the bridge bundle', (check) => {
  check(
    'by SIGTERM, SIGINT or SIGHUP takes no time when nothing is under way',
    together(
      inBridgeWorld({}, async ({ bridge: first, startBridge, model }) => {
        model.alwaysReply('Good day.', isNoTitle);
        for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
          const bridge = signal === 'SIGTERM' ? first : await startBridge();
          const { ended } = await askChat(bridge);
          await ended;
          await (await bridge.send('/v1/models')).json();
          const { code, tookMs } = await stopping(bridge, signal);
          assert.is(code, 0, `${signal}: ${bridge.running.stderr()}`);
          assert.ok(tookMs < 3000, `${signal}: ${Math.round(tookMs)} ms`);
          assert.match(bridge.running.stderr(), /"event":"stopped"\}\n$/);
        }
      }),
    ),
  );

  check(
    'lets answers come to their end that take a moment',
    together(
      inBridgeWorld({}, async ({ bridge, model }) => {
        model.alwaysReply(answer([...text('so far '), { kind: 'wait', ms: 1500 }, ...text('so good.')]), isNoTitle);
        const whole = begun(bridge);
        const chat = await askChat(bridge);
        await until('it has begun', () => /so f/.test(chat.bytes().toString()));
        const { code, tookMs } = await stopping(bridge, 'SIGTERM');
        assert.is(code, 0, bridge.running.stderr());
        assert.ok(tookMs < 5000, `${Math.round(tookMs)} ms`);
        const { reported } = strictly(await chat.ended);
        assert.equal([matchesIn(chunksIn(reported)), reported.at(-1)?.data], ['so far so good.', '[DONE]']);
        assert.match((await (await whole).ended).toString(), 'so far so good.');
      }),
    ),
  );

  check(
    'ends the others with a last word, and their runs at the agent where the policy is to abort, and takes no new ones',
    together(
      inBridgeWorld({ bridge: { BRIDGE_ON_DISCONNECT: 'abort' } }, async (world) => {
        const { bridge, model } = world;
        model.alwaysReply(HANGING, isNoTitle);
        const [chat, response] = await Promise.all([askChat(bridge), askResponses(bridge)]);
        const whole = begun(bridge);
        await until('all of them run', () => asked(world).length === 3);
        const over = stopping(bridge, 'SIGTERM');
        await bridge.running.outputMatching(/"event":"stopping"/);
        assert.not.ok(
          await fetch(`${bridge.address}/ready`).then(
            ({ ok }) => ok,
            () => false,
          ),
        );
        const { code, signal, tookMs } = await over;
        assert.equal([code, signal], [0, null], bridge.running.stderr());
        assert.ok(tookMs < STOP_LIMIT_MS, `${Math.round(tookMs)} ms`);
        const { reported } = strictly(await chat.ended);
        assert.match(
          reported.at(-1)?.data ?? '',
          /^\{"error":\{"message":"[^"]+","type":"server_error","param":null,"code":"unavailable"/,
        );
        const events = eventsIn(strictly(await response.ended).reported);
        assert.equal(
          events.slice(-2).map(({ type }) => type),
          ['error', 'response.failed'],
        );
        const { response: refused, ended } = await whole;
        assert.is(refused.statusCode, 503);
        assert.match((await ended).toString(), '"code":"unavailable"');
        await until('nobody listens to the model', () => asked(world).every((one) => one.isAborted()));
        assert.not.match(bridge.running.stderr(), '"event":"bug"');
      }),
    ),
  );

  check(
    'leaves the runs of the others to the agent by default, where the same request finds them again',
    together(
      inBridgeWorld({}, async ({ bridge, model, startBridge }) => {
        model.alwaysReply(answer([{ kind: 'wait', ms: 13_000 }, ...text('at last')]), isNoTitle);
        const body = chatOf();
        const left = begun(bridge, body);
        await until('it runs', () => asked({ model }).length === 1);
        const { code } = await stopping(bridge, 'SIGTERM');
        assert.is(code, 0, bridge.running.stderr());
        assert.is((await left).response.statusCode, 503);
        const again = await begun(await startBridge(), body);
        assert.match((await again.ended).toString(), 'at last');
        assert.is(asked({ model }).length, 1);
      }),
    ),
  );

  check(
    'by two signals at once is one stop, and by a later one ends at once with 1',
    together(
      inBridgeWorld({}, async (world) => {
        const { bridge, model } = world;
        model.alwaysReply(HANGING, isNoTitle);
        const { ended } = await askChat(bridge);
        await until('it runs', () => asked(world).length === 1);
        bridge.running.signal('SIGTERM');
        await bridge.running.outputMatching(/"event":"stopping"/);
        bridge.running.signal('SIGINT');
        await new Promise((resolve) => setTimeout(resolve, 600));
        assert.is(bridge.running.child.exitCode, null);
        const { code, tookMs } = await stopping(bridge, 'SIGTERM');
        assert.is(code, 1);
        assert.ok(tookMs < 2000, `${Math.round(tookMs)} ms`);
        await ended;
      }),
    ),
  );
});
