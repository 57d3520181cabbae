/** A guard model that the platform asks, under its names. */
export type AuditEndpoint = {
  readonly id: string;
  readonly name: string;
  readonly base_url: string;
  readonly model: string;
  readonly token: string;
  readonly enabled: boolean;
  /** Of the first endpoint: the time for all chunks of a prompt and all endpoints together. */
  readonly timeout_ms: number;
  /** Characters of a chunk, as Unicode counts them. */
  readonly input_limit: number;
};

/** The platform's settings of its prompt audit, under its names. Tests may change them. */
export type AuditSettings = {
  config_version: number;
  enabled: boolean;
  /** Whether a prompt waits for its audit. Without it, nothing is ever blocked. */
  blocking_enabled: boolean;
  store_pass_events: boolean;
  all_groups: boolean;
  exempt_user_ids: readonly number[];
  scanners: readonly string[];
  endpoints: readonly AuditEndpoint[];
};

/** The mode in which the audit runs, as the platform shows it. Nothing is blocked in any but the first. */
export const effectiveMode = (
  { enabled, blocking_enabled: isBlocking }: AuditSettings,
  isRiskControlOn: boolean,
): 'blocking' | 'async_audit' | 'off' => {
  if (!isRiskControlOn || !enabled) return 'off';
  return isBlocking ? 'blocking' : 'async_audit';
};

/** What became of a prompt. `unavailable` and `invalid`: it could not be judged, and does not reach the model. */
export type AuditDecision = 'allow' | 'flag' | 'block' | 'unavailable' | 'invalid';

/** A line of the platform's events: no text in this one. */
export type AuditEvent = { readonly id: number; readonly userId: number; readonly decision: AuditDecision };

/** All scanners of the platform, by the names that a guard model's categories are compared with. */
export const SCANNERS: readonly string[] = [
  'violent',
  'non violent illegal acts',
  'sexual content or sexual acts',
  'pii',
  'suicide self harm',
  'unethical acts',
  'politically sensitive topics',
  'copyright violation',
  'jailbreak',
];

/** An endpoint as the platform fills it in. */
export const auditEndpoint = (given: Pick<AuditEndpoint, 'base_url'> & Partial<AuditEndpoint>): AuditEndpoint => ({
  id: 'guard-1',
  name: 'guard',
  model: 'sileader/qwen3guard:0.6b',
  token: '',
  enabled: true,
  timeout_ms: 3000,
  input_limit: 4000,
  ...given,
});

/** Settings as a fresh platform has them: off. */
export const createAuditSettings = (): AuditSettings => ({
  config_version: 1,
  enabled: false,
  blocking_enabled: false,
  store_pass_events: false,
  all_groups: true,
  exempt_user_ids: [],
  scanners: SCANNERS,
  endpoints: [],
});
