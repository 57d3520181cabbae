import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { worstTexts } from '../../gateway/harness/worst-texts.ts';
import { fetchText, moderate, sendPieces } from '../client.ts';
import { heapOption } from '../memory.ts';
import { withGateway } from './world.ts';

/** How many large texts were decoded, by place. */
const decodedAt = async (address: string): Promise<Readonly<Record<string, number>>> => {
  const { text } = await fetchText(`${address}/metrics`);
  const counts = text.matchAll(/^gatehouse_large_text_duration_seconds_count\{place="([\w-]+)"\} (\d+)/gm);
  return Object.fromEntries([...counts].map(([, place, count]) => [place, Number(count)]));
};

describe('the Node bundle', (check) => {
  check('decodes large texts in a thread that is in the same file, and short ones without it', () =>
    withGateway({}, async ({ gateway }) => {
      assert.is((await moderate(gateway.address, { input: 'good morning' })).status, 200);
      assert.equal(await decodedAt(gateway.address), {});
      const [text = ''] = worstTexts(20_000);
      const answer = await moderate(gateway.address, { input: text });
      assert.is(answer.status, 200);
      assert.is(answer.headers.get('x-moderation-hidden'), 'decoded');
      assert.equal(await decodedAt(gateway.address), { thread: 1 });
      assert.not.match(gateway.stderr(), 'views-thread-died');
      gateway.signal('SIGTERM');
      assert.equal(await gateway.ended, { code: 0, signal: null });
    }),
  );
  check('leaves the memory that its thread may take out of what request bodies may take', () =>
    withGateway({ variables: { NODE_OPTIONS: heapOption(256) } }, async ({ gateway }) => {
      const sending = { framing: 'declared', pieces: 2, pieceBytes: 524_288, pauseMs: 1000 } as const;
      const statuses = await Promise.all(Array.from({ length: 12 }, () => sendPieces(gateway.address, sending)));
      const refused = statuses.filter((status) => status === 503).length;
      // A tenth of 159 MB would be more than twelve bodies of a MiB; without 63 MB for the thread it is nine.
      assert.is(refused, 3, statuses.join());
    }),
  );
});
