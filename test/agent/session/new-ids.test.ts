import * as assert from 'uvu/assert';
import type { Revert } from '../../../src/agent/protocol/types.ts';
import { createIDReplacement } from '../../../src/agent/session/new-ids.ts';
import { describe } from '../../check.ts';
import { idsFrom, sessionOf, userMessage } from '../store/samples.ts';

const MESSAGE = 'msg_000000000000AAAAAAAAAAAAAA';
const SESSION = 'ses_000000000000AAAAAAAAAAAAAA';

const revertOf = (revert: Revert) => {
  const renamed = createIDReplacement({ sessions: [{ id: SESSION, messages: [MESSAGE] }] }, idsFrom());
  const copy = renamed({ kind: 'session', session: sessionOf(SESSION, { revert }) });
  const reported = renamed({ kind: 'message', message: userMessage(MESSAGE, SESSION) });
  if (copy.kind !== 'session' || reported.kind !== 'message') throw new Error('They are of another kind');
  return { revert: copy.session.revert, messageID: reported.message.id };
};

describe('the copy of a session that was turned back', (check) => {
  check('is turned back to the copy of the message', () => {
    const { revert, messageID } = revertOf({ messageID: MESSAGE });
    assert.is.not(messageID, MESSAGE);
    assert.equal(revert, { messageID });
  });
  check('is not turned back to a part, whose copy has no id yet', () => {
    assert.is(revertOf({ messageID: MESSAGE, partID: 'prt_000000000000AAAAAAAAAAAAAA' }).revert, undefined);
  });
});
