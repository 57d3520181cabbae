import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as assert from 'uvu/assert';
import { describe, thorough } from '../../check.ts';
import { KEY } from '../harness/canaries.ts';
import { httpCall, wordOf } from '../harness/http-calls.ts';
import { httpTools, SHORT_LIMIT_MS, withElsewhere, withFront, withHttpWorld } from '../harness/http-world.ts';
import { goodArguments, TOOLS, type ToolName } from '../harness/tool-arguments.ts';

type Oddity = readonly [string, string | undefined];

/** What a socket may say in place of an answer. Nothing at all is silence. */
const ODDITIES: readonly Oddity[] = [
  ['silence', undefined],
  ['half a head', 'HTTP/1.1 200 OK\r\ncontent-ty'],
  ['a body that does not come', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"code":0'],
  ['chunks that do not end', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"c\r\n'],
  ['a chunk that is none', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'],
  ['no HTTP', `SSH-2.0-${KEY}\r\n`],
  ['a status that is none', `HTTP/1.1 ${'9'.repeat(20)} ${KEY}\r\n\r\n`],
  ['a head without end', `HTTP/1.1 200 OK\r\n${`x-echo: ${KEY}\r\n`.repeat(2000)}`],
  ['only interim answers', 'HTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\n'.repeat(2000)],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}'],
  ['two answers', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'],
];

const LOOKS = 20;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What is really held: the least of some looks, because buffers are given back a while after their garbage is collected. */
const heldBytes = async (): Promise<number> => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  let least = Number.POSITIVE_INFINITY;
  for (let look = 0; look < LOOKS; look += 1) {
    await turn();
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    least = Math.min(least, heapUsed + arrayBuffers);
  }
  return least;
};

describe('answers without end or measure', (check) => {
  for (const [what, outputText] of ODDITIES)
    check(`${what} is given up in time, and the next call works`, async () => {
      const tryOut = (name: ToolName) =>
        withFront(async (front) => {
          const tools = httpTools(front.origin, SHORT_LIMIT_MS);
          const given = await goodArguments(tools.patient.admin, name);
          front.meddle = ({ socket }) => {
            if (outputText !== undefined) socket.write(outputText);
            return true;
          };
          await httpCall(tools, name, given);
          front.meddle = () => false;
          assert.is((await httpCall(tools.patient, 'read', { path: 'users' })).kind, 'done');
        });
      await Promise.all(TOOLS.map(tryOut));
    });
  check('of fifty megabytes cost no memory that stays', () =>
    withHttpWorld(async (world) => {
      world.control.useRouteFault('huge', Infinity);
      await world.admin.call('read', { path: 'users' }, new AbortController().signal);
      const beforeBytes = await heldBytes();
      for (let call = 0; call < thorough(1, 20); call += 1) {
        const answer = await world.admin.call('read', { path: 'users' }, new AbortController().signal);
        assert.match(answer.kind === 'failed' ? answer.text : '', /^UPSTREAM_CONTRACT: .* more than these tools take/);
      }
      const moreBytes = (await heldBytes()) - beforeBytes;
      assert.ok(moreBytes < 20 * 1024 * 1024, `${moreBytes} bytes more`);
      const health = await httpCall(world, 'health', {});
      assert.is(health.kind === 'done' && health.result.reason, 'too_large');
      world.control.clearFaults();
      assert.is((await httpCall(world, 'read', { path: 'users' })).kind, 'done');
    }),
  );
  check('no one at all at the address is an answer, too', async () => {
    let origin = '';
    await withElsewhere(async (elsewhere) => {
      origin = elsewhere.origin;
    });
    const tools = httpTools(origin);
    for (const name of TOOLS.filter((one) => one !== 'recharge')) {
      const given = await goodArguments(tools.admin, name);
      const answer = await httpCall(tools, name, given);
      const isOwn = ['describe', 'health', 'model_control_options'].includes(name);
      assert.is(wordOf(answer), isOwn ? 'done' : 'UPSTREAM_UNAVAILABLE', name);
    }
  });
});
