import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../check.ts';

type Together = {
  readonly isSelfContained: (file: string) => boolean;
  readonly groupsOf: (files: readonly string[]) => readonly (readonly string[])[];
};
const { groupsOf, isSelfContained }: Together = await import(join(import.meta.dirname, 'together.mjs'));

describe('a process for several test files', (check) => {
  check('is shared by those that read files or serve requests in it', () => {
    for (const file of ['docs/links', 'core/http/client', 'bridge/service/auth', 'bridge/several-bridges/retries'])
      assert.ok(isSelfContained(`test/${file}.test.ts`), file);
  });
  check('is not for those that measure it, start others or replace a global, themselves or by what they import', () => {
    for (const file of ['gateway/text/views', 'bridge/http/event-loop', 'main/agent/arguments', 'console/page/request'])
      assert.not(isSelfContained(`test/${file}.test.ts`), file);
  });
  check('holds alone those that set the same count of bridges', () => {
    const one = ['auth', 'files'].map((name) => `test/bridge/service/${name}.test.ts`);
    const two = ['approvals', 'retries'].map((name) => `test/bridge/several-bridges/${name}.test.ts`);
    assert.equal(groupsOf([...one.slice(0, 1), ...two, ...one.slice(1)]), [one, two]);
  });
});
