import type { Clock } from '../../core/clock.ts';
import { type AuditEvent, type AuditSettings, createAuditSettings } from './audit/settings.ts';
import { createModerationSettings, type ModerationOutcome, type ModerationSettings } from './moderation/client.ts';
import { createModerationKey, type ModerationKey } from './moderation/keys.ts';
import { type DemoAccount, seedAccounts } from './records/accounts.ts';
import { type DemoChannel, type DemoGroup, seedChannels, seedGroups } from './records/models.ts';
import { DEMO_ADMIN_KEY } from './records/secrets.ts';
import { type DemoUser, type HistoryRow, seedHistory, seedUsers } from './records/users.ts';

export type HealthAnswer = 'ok' | 'html' | 'json-200-not-ok' | 'down-404';

/** A completed change of balance; `amount` is a signed decimal text. */
export type Credit = {
  readonly userId: number;
  readonly amount: string;
  readonly notes: string;
  readonly idempotencyKey: string | null;
};

/** Settings that the relay reads with every request. */
type RelaySettings = {
  adminKey: string;
  /** The routes, such as `GET users/:id`, that the key may not use: newer releases have keys with fewer rights. */
  forbidden: RegExp | undefined;
  areTermsAccepted: boolean;
  /** The switch of both engines of its moderation, which its web interface alone changes safely. */
  isRiskControlOn: boolean;
  arePlanted: boolean;
  health: HealthAnswer;
  /** While it is down only the health answers, which does not look at it. */
  isDatabaseDown: boolean;
  /** Groups of the newer releases have `model_allowlist` where older ones have `models_list_config`. */
  hasModelAllowlist: boolean;
  version: string;
};

/** What the relay knows of its moderation: a line of the log for each input that was checked. */
export type RelayModeration = {
  readonly settings: ModerationSettings;
  readonly keys: ModerationKey[];
  readonly logs: { readonly userId: number; readonly action: ModerationOutcome['action']; readonly at: number }[];
};

/** The second engine of the relay's moderation, and what it has decided. */
export type RelayAudit = { readonly settings: AuditSettings; readonly events: AuditEvent[] };

/** Everything that the demo relay holds in memory. A change shows with the next request. */
export type RelayWorld = {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly settings: RelaySettings;
  readonly users: DemoUser[];
  readonly history: HistoryRow[];
  readonly accounts: DemoAccount[];
  readonly groups: DemoGroup[];
  readonly channels: DemoChannel[];
  readonly credits: Credit[];
  readonly moderation: RelayModeration;
  readonly audit: RelayAudit;
};

type WorldNeeds = {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly adminKey?: string | undefined;
  readonly moderationKeys?: readonly string[] | undefined;
};

export const createRelayWorld = ({
  clock,
  newId,
  adminKey = DEMO_ADMIN_KEY,
  moderationKeys = ['demo'],
}: WorldNeeds): RelayWorld => ({
  clock,
  newId,
  settings: {
    adminKey,
    forbidden: undefined,
    areTermsAccepted: true,
    isRiskControlOn: false,
    arePlanted: true,
    health: 'ok',
    isDatabaseDown: false,
    hasModelAllowlist: false,
    version: '0.1.179',
  },
  users: seedUsers(clock.now()),
  history: seedHistory(clock.now()),
  accounts: seedAccounts(clock.now()),
  groups: seedGroups(),
  channels: seedChannels(),
  credits: [],
  moderation: {
    settings: createModerationSettings(),
    keys: moderationKeys.map(createModerationKey),
    logs: [],
  },
  audit: { settings: createAuditSettings(), events: [] },
});

/** The time in the platform's form. */
export const currentTime = ({ clock }: RelayWorld): string => new Date(clock.now()).toISOString();

/** The user, after the spending since the last request about them. Deleted users are not found. */
export const touchUser = (world: RelayWorld, id: number | undefined): DemoUser | undefined => {
  const user = world.users.find((one) => one.id === id && one.deleted_at === null);
  if (user !== undefined && user.running_debit !== 0n) {
    user.balance -= user.running_debit;
    user.last_used_at = currentTime(world);
  }
  return user;
};

/** Adds a line to the history, with a code of its own. */
export const addHistory = (
  { history, clock, newId }: RelayWorld,
  row: Pick<HistoryRow, 'used_by' | 'type' | 'value' | 'notes'>,
): void => {
  const id = history.reduce((largest, one) => Math.max(largest, one.id), 0) + 1;
  history.push({ ...row, id, code: newId(), used_at: new Date(clock.now()).toISOString() });
};
