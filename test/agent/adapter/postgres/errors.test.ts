import * as assert from 'uvu/assert';
import { explainPostgresError } from '../../../../src/agent/adapter/postgres/errors.ts';
import { ConfigError } from '../../../../src/core/config.ts';
import { describe } from '../../../check.ts';

const failing = (code: string): Error => Object.assign(new Error('words with a secret in them'), { code });

describe('what is wrong with a PostgreSQL at the first connection', (check) => {
  for (const [code, words] of [
    ['ECONNREFUSED', 'expected a database that can be reached (ECONNREFUSED)'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'expected a certificate that can be trusted (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'expected a certificate that can be trusted (ERR_TLS_CERT_ALTNAME_INVALID)'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'expected a certificate that can be trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)'],
    ['CERT_HAS_EXPIRED', 'expected a certificate that can be trusted (CERT_HAS_EXPIRED)'],
    ['3D000', 'expected a database that is there'],
  ] as const) {
    check(`is reported in a helpful text: ${code}`, () => {
      const reported = explainPostgresError(failing(code));
      assert.equal(reported instanceof ConfigError && reported.problems, [`AGENT_DATABASE_URL: ${words}`]);
    });
  }

  for (const code of ['ECONNRESET', 'EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER']) {
    check(`names TLS when the address requires it: ${code}`, () => {
      const reported = explainPostgresError(failing(code), true);
      assert.equal(reported instanceof ConfigError && reported.problems, [
        `AGENT_DATABASE_URL: expected a database that can be reached with TLS, as sslmode asks; it may have none (${code})`,
      ]);
    });
  }

  check('does not name TLS when the address does not require it, or no server listens', () => {
    for (const [code, requiresTls] of [
      ['ECONNRESET', false],
      ['ECONNREFUSED', true],
    ] as const) {
      const reported = explainPostgresError(failing(code), requiresTls);
      assert.equal(reported instanceof ConfigError && reported.problems, [
        `AGENT_DATABASE_URL: expected a database that can be reached (${code})`,
      ]);
    }
  });

  check('stays as it was when it is none of that', () => {
    const bug = failing('42601');
    assert.is(explainPostgresError(bug), bug);
  });
});
