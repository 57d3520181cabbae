import * as assert from 'uvu/assert';
import { EMPTY_FINGERPRINT } from '../../../src/bridge/conversation/fingerprint.ts';
import { addExchange } from '../../../src/bridge/conversation/match.ts';
import type { RequestMark } from '../../../src/bridge/conversation/types.ts';
import { describe } from '../../check.ts';
import { marked, TOKEN } from './started/marked.ts';

/** What the mark says of an answer that is recorded, where a client read it when it ended or none did. */
const isUnreadAfter = (mark: Partial<RequestMark>, hadReader: boolean): boolean | undefined => {
  const exchange = {
    ...{ promptText: 'hi', files: [], answerText: 'hello', promptID: 'msg_1', isStopped: false, paused: undefined },
    ...{ responseID: `resp_1_${TOKEN.slice(0, 12)}`, isUnread: !hadReader },
  };
  const extended = { fingerprint: EMPTY_FINGERPRINT, tail: [], beforeAnswer: '', answerText: '' };
  return addExchange(marked(mark), exchange, extended).request?.isUnread;
};

describe('an answer that is recorded', (check) => {
  const left = { by: 'here', atMs: 1 };

  check('was read if a client read it when it ended', () => {
    assert.is(isUnreadAfter({ readers: ['here'] }, true), undefined);
    assert.is(isUnreadAfter({ readers: [], left }, false), true);
  });

  check('was not read if that client has left before it was stored', () =>
    assert.is(isUnreadAfter({ readers: [], left }, true), true),
  );

  check('was read if a client has all of it from another bridge', () =>
    assert.is(isUnreadAfter({ readers: [], left, isUnread: false }, false), false),
  );
});
