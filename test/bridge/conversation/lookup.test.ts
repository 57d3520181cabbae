import * as assert from 'uvu/assert';
import { createConversationIndex } from '../../../src/bridge/conversation/lookup.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { marked, OWNER } from './started/marked.ts';

const HOUR_MS = 3_600_000;

describe('conversations by their last request', (check) => {
  const clock = createFakeClock();
  const withRequests = () => {
    const index = createConversationIndex(clock, () => 'chat_new', { limit: 3, lifetimeMs: HOUR_MS });
    const idsOf = (digest: string, keyDigest?: string) =>
      index
        .byRequest({ owner: OWNER, mark: { digest, ...(keyDigest === undefined ? {} : { keyDigest }) } })
        .map(({ sessionID }) => sessionID);
    const put = (sessionID: string, digest: string, keyDigest?: string) =>
      index.put({
        ...marked({ digest, ...(keyDigest === undefined ? {} : { keyDigest }) }),
        sessionID,
        name: sessionID,
      });
    return { index, idsOf, put };
  };

  check('are those with the same digest, or with the same key whatever their digest', () => {
    const { idsOf, put } = withRequests();
    put('ses_1', 'one');
    put('ses_2', 'one');
    put('ses_3', 'one', 'key');
    assert.equal(idsOf('one').toSorted(), ['ses_1', 'ses_2']);
    assert.equal(idsOf('other', 'key'), ['ses_3']);
  });

  check('are found by the last request alone, and not once they are removed or have left for newer ones', () => {
    const { index, idsOf, put } = withRequests();
    put('ses_1', 'one');
    put('ses_1', 'two');
    assert.equal(idsOf('one'), []);
    assert.equal(idsOf('two'), ['ses_1']);
    for (const id of ['ses_2', 'ses_3', 'ses_4']) put(id, 'two');
    assert.equal(idsOf('two').toSorted(), ['ses_2', 'ses_3', 'ses_4']);
    index.remove('ses_3');
    assert.equal(idsOf('two').toSorted(), ['ses_2', 'ses_4']);
  });
});
