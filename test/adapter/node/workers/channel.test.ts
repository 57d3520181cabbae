import * as assert from 'uvu/assert';
import { createChannel } from '../../../../src/adapter/node/workers/channel.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { channelPair, settle } from './world.ts';

const deaf = { onNotice() {}, onQuestion: () => undefined };

describe('a channel between two processes', (check) => {
  check('carries notices and answers, and what one turn sends in one message', async () => {
    const notices: unknown[] = [];
    const clock = createFakeClock();
    const { left, messages } = channelPair(clock, deaf, {
      onNotice: (notice) => notices.push(notice),
      onQuestion: (question) => ({ heard: question }),
    });
    left.notify({ kind: 'one' });
    left.offer({ kind: 'two' });
    assert.equal(await left.ask({ kind: 'three' }, 100), { heard: { kind: 'three' } });
    assert.equal(notices, [{ kind: 'one' }, { kind: 'two' }]);
    assert.is(messages.length, 2);
    assert.is(clock.pending(), 0);
  });

  check('gives no answer where there is none: a bug at the other end, silence, or its end', async () => {
    const clock = createFakeClock();
    const failing = () => {
      throw new Error('bug');
    };
    const { left, cut } = channelPair(clock, deaf, { onNotice() {}, onQuestion: failing });
    assert.is(await left.ask({ kind: 'x' }, 100), undefined);
    cut();
    const silent = left.ask({ kind: 'x' }, 100);
    await clock.advance(100);
    assert.is(await silent, undefined);
    const ended = left.ask({ kind: 'x' }, 100);
    left.close();
    assert.equal([await ended, await left.ask({ kind: 'x' }, 100)], [undefined, undefined]);
    assert.is(clock.pending(), 0);
  });

  check('ignores what is no message of a channel', async () => {
    const notices: unknown[] = [];
    const onNotice = (notice: unknown) => notices.push(notice);
    const channel = createChannel({ clock: createFakeClock(), send() {}, onNotice, onQuestion: () => undefined });
    const strangers = [null, 'text', { event: 'listening' }, [['notice', 1, 2]], [['answer', 'x', 1]], [['order', {}]]];
    for (const stranger of strangers) channel.receive(stranger);
    channel.receive([['answer', 7, 1]]);
    assert.equal(notices, []);
  });

  check('holds no more than so many messages for a process that hangs, and goes on when that does', async () => {
    const sent: unknown[] = [];
    const dones: (() => void)[] = [];
    const send = (message: unknown, done: () => void): void => {
      sent.push(message);
      dones.push(done);
    };
    const channel = createChannel({ clock: createFakeClock(), send, ...deaf });
    for (let turn = 0; turn < 150; turn++) {
      channel.offer({ turn });
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.is(sent.length, 100);
    assert.is(await channel.ask({ kind: 'x' }, 1000), undefined);
    // What must not be lost is sent all the same.
    channel.notify({ kind: 'stop' });
    await settle();
    assert.is(sent.length, 101);
    for (const done of dones) done();
    channel.offer({ kind: 'again' });
    await settle();
    assert.is(sent.length, 102);
  });
});
