import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { COMPILE_CACHE } from '../../compile-cache.ts';

const PROGRAM = join(import.meta.dirname, '../../../src/main/gatehouse.ts');
const PLAIN = 'expected no arguments, only environment variables';

/** The error of a command that is refused. */
const errorOf = (...words: readonly string[]): string => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', PROGRAM, ...words], {
    env: { PATH: process.env.PATH ?? '', ...COMPILE_CACHE },
    encoding: 'utf8',
  });
  assert.equal([status, stdout], [1, ''], words.join(' '));
  return stderr.trimEnd();
};

describe('a wrong argument', (check) => {
  check('is refused with the variable that it stands for, and with its value only if that is a number', () => {
    for (const [words, expected] of [
      [['gateway', '--port', '9000'], `gateway: ${PLAIN}: PORT=9000; see --help`],
      [['gateway', '--port=9000'], `gateway: ${PLAIN}: PORT=9000; see --help`],
      [['gateway', '-prot', '9000'], `gateway: ${PLAIN}: PORT=9000; see --help`],
      [['gateway', 'PORT=9000'], `gateway: ${PLAIN}: PORT=9000; see --help`],
      [['gateway', '--log-level', 'debug'], `gateway: ${PLAIN}: LOG_LEVEL=...; see --help`],
      [['gateway', '--moderation-api-keys', 'canary'], `gateway: ${PLAIN}: MODERATION_API_KEYS=...; see --help`],
      [['gateway', 'canary'], `gateway: ${PLAIN}; see --help`],
      [['agent', '--port', '4001'], `agent: ${PLAIN}: PORT=4001; see --help`],
      [['bridge', '--bridge-api-keys'], `bridge: ${PLAIN}: BRIDGE_API_KEYS=...; see --help`],
      [['console', '--host'], `console: ${PLAIN}: HOST=...; see --help`],
      [['relay-admin', '--relay-timeout-ms', '5'], `relay-admin: ${PLAIN}: RELAY_TIMEOUT_MS=5; see --help`],
      [
        ['agent', 'sesions'],
        'agent: expected one of sessions, export, import, prune; the nearest is sessions; see gatehouse agent --help',
      ],
    ] as const)
      assert.is(errorOf(...words), `gatehouse ${expected}`);
  });
});
