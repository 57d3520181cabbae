import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** A preview as the agent server puts it beside the arguments of a recharge. */
export const PREVIEW = {
  token:
    'rp1.2.1250000000.350000000.0f3ac1d2b3e4.aa11bb22cc33.1795422000000.5f0c7c1e8a554a1e9a556f6f3c1d2b10.Xk2bVQ7wq3nA1s8eRtY6uI',
  shown: {
    summary: 'Add 12.5 to the balance of mara (mara@example.com)',
    user: { email: 'mara@example.com', username: 'mara', status: 'active', role: 'user' },
    warnings: [{ code: 'running_usage', text: 'The user is using the relay right now: the balance moves by itself.' }],
  },
  figures: {
    amount: '12.5',
    balance_now: '3.5',
    balance_after: '16',
    expires_at: new Date(Date.now() + 280_000).toISOString(),
  },
};

const HOUR_MS = 3_600_000;

/** Writes a journal with a recharge in doubt, a refused one and verified ones. */
export const writeJournal = (file: string): void => {
  const lines: object[] = [{ kind: 'seal', secret: 'canary-journal-secret-0123456789abcdef' }];
  const add = (index: number, amount: string, before: string, settlement: object): void => {
    const by = `writer-${index}`;
    const at = Date.now() - (index + 1) * 7 * HOUR_MS;
    const marker = `rc_${hash('sha256', by).slice(0, 16)}`;
    const [token, key] = [hash('sha256', `token ${by}`), hash('sha256', `key ${by}`)];
    lines.push({ kind: 'claim', at, by, token, key, marker, userId: index + 2, amount, balanceBefore: before });
    lines.push({ kind: 'settlement', at: at + 900, by, ...settlement });
  };
  for (let index = 7; index > 1; index--) {
    const before = (index * 1.37).toFixed(2);
    const result = { balance_after: (Number(before) + 5 * index).toFixed(2) };
    add(index, String(5 * index), before, { state: 'verified', isAccepted: true, result });
  }
  add(1, '500', '0.25', { state: 'not_applied', isAccepted: false, status: 409 });
  add(0, '12.5', '3.5', { state: 'accepted_unverified', isAccepted: false, doubt: 'no-answer' });
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`, { mode: 0o600 });
};
