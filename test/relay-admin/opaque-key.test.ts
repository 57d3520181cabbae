import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { createWorld, resultOf } from './harness/world.ts';

/** A key in the form of words, which nothing but its own text shows to be one. */
const KEY = 'quiet.river.under.stone.bridge.in.march';
const START = KEY.slice(0, 8);

const started = () => {
  const world = createWorld();
  world.control.setKey(KEY);
  return { control: world.control, admin: world.start({ variables: { RELAY_ADMIN_API_KEY: KEY } }) };
};

describe('an admin key that looks like no secret', (check) => {
  check('leaves no part in what read shows, wherever a text is cut', async () => {
    const { control, admin } = started();
    for (const length of [0, 350, 370, 380, 395, 1590, 3980]) {
      control.account(1).error_message = `${'busy '.repeat(length / 5)}${KEY} again`;
      const shown = JSON.stringify(await resultOf(admin, 'read', { path: 'accounts/1' }));
      assert.match(shown, length === 0 ? '[redacted] again' : 'busy');
      assert.not.match(shown, START);
    }
  });
  check('leaves no part behind a blob that is replaced by a word', async () => {
    const { control, admin } = started();
    control.account(1).error_message = `${'a1B2'.repeat(994)} ${KEY}`;
    const shown = JSON.stringify(await resultOf(admin, 'read', { path: 'accounts/1' }));
    assert.match(shown, '[redacted]');
    assert.not.match(shown, START);
  });
  check('leaves no part in a name that another tool cuts, nor where the relay has cut it', async () => {
    const { control, admin } = started();
    const { email } = control.user(2);
    for (const username of [`${'bob '.repeat(10)}${KEY}`, `${KEY.slice(0, 20)}…`, KEY]) {
      control.user(2).username = username;
      const { user } = await resultOf(admin, 'find_user', { email });
      assert.match(JSON.stringify(user), '[redacted]');
      assert.not.match(JSON.stringify(user), START);
    }
  });
});
