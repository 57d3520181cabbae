import { isRecord } from '../../core/json.ts';

/** What the relay sends, before anything is known of it. */
export type Facts = Readonly<Record<string, unknown>>;

type Row = readonly [isOpen: boolean, what: string, whereAndRemedy: string];

const linesOf = (engine: string, page: string, rows: readonly Row[]): readonly string[] =>
  rows.flatMap(([isOpen, what, remedy]) => (isOpen ? [`${engine} ${what}. ${page}, ${remedy}.`] : []));

const itemsOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Newer releases can leave users out, under names that differ: whatever is named so counts, and so does a filter of users. */
const leavesOutUsers = (config: Facts): boolean =>
  Object.entries(config).some(([name, value]) => {
    if (name === 'user_filter') return isRecord(value) && value.type !== 'all';
    return /exempt|whitelist/.test(name) && (value === true || itemsOf(value).length > 0);
  });

/** Every engine can leave out groups and users. */
const scopeRows = (config: Facts): readonly Row[] => [
  [config.all_groups !== true, 'leaves out groups', 'all_groups: set it to true'],
  [leavesOutUsers(config), 'leaves out users', 'exempt users: remove them'],
];

const looseThresholds = ({ thresholds }: Facts, largest: number): string => {
  const loose = Object.entries(isRecord(thresholds) ? thresholds : { all: undefined }).filter(
    ([, threshold]) => typeof threshold !== 'number' || threshold > largest,
  );
  return loose.map(([name]) => (/^[a-z/-]{1,40}$/.test(name) ? name : 'another')).join(', ');
};

const isFrozen = (key: unknown, now: number): boolean =>
  isRecord(key) &&
  (key.status === 'frozen' || (typeof key.frozen_until === 'string' && Date.parse(key.frozen_until) > now));

/** The platform's longest, and more than the gateway takes. */
const TIMEOUT_MS = 30_000;

/** What is open in the first engine, from `risk-control/config` and `risk-control/status`. A line holds no text of the relay. */
export const contentFindings = (
  config: Facts,
  status: Facts,
  { now, largestThreshold }: { readonly now: number; readonly largestThreshold: number },
): readonly string[] => {
  const { mode, base_url: url, model, timeout_ms: timeoutMs, sample_rate: sampled, model_filter: models } = config;
  const loose = looseThresholds(config, largestThreshold);
  const keys = itemsOf(status.api_key_statuses);
  const frozen = keys.filter((key) => isFrozen(key, now)).length;
  const passing = frozen === keys.length ? 'everything passes now' : 'errors of the others let everything pass';
  const isWordsOnly = config.keyword_blocking_mode === 'keyword_only';
  const isElsewhere = typeof url !== 'string' || /^https:\/\/api\.openai\.com\b/i.test(url);
  const isOtherModel = typeof model !== 'string' || !/^(?:omni|text)-moderation-/.test(model);
  const isHasty = typeof timeoutMs !== 'number' || timeoutMs < TIMEOUT_MS;
  return linesOf('content moderation', 'Risk control', [
    [
      status.risk_control_enabled !== true,
      'and prompt audit are off',
      'risk_control_enabled: switch it on in the system settings of the web interface (a PUT changes other settings)',
    ],
    [config.enabled !== true, 'is off', 'enabled: set it to true'],
    [mode !== 'pre_block', 'blocks nothing', 'mode: set it to pre_block'],
    [isWordsOnly, 'only looks for words', 'keyword_blocking_mode: set it to keyword_and_api'],
    [isElsewhere, 'asks OpenAI and no gateway', "base_url: set it to the gateway's address"],
    [/\/v1\/*$/i.test(String(url)), 'asks at a wrong path', 'base_url: leave out the /v1 at its end'],
    [isOtherModel, 'asks for another kind of model', 'model: set it to omni-moderation-latest'],
    [keys.length === 0, 'has no key of the gateway', 'api_keys: add one'],
    [
      frozen > 0,
      `has ${frozen} of ${keys.length} keys frozen: ${passing}`,
      'api_keys: mend the cause, then test the keys without a prompt (POST risk-control/api-keys/test with {})',
    ],
    [isHasty, 'passes what takes longer than its time', `timeout_ms: set it to ${TIMEOUT_MS}`],
    [loose !== '', `passes scores over ${largestThreshold} (${loose})`, 'thresholds: lower them'],
    [typeof sampled === 'number' && sampled < 100, 'judges a sample only', 'sample_rate: set it to 100'],
    [isRecord(models) && models.type !== 'all', 'leaves out models', 'model_filter: set its type to all'],
    ...scopeRows(config),
  ]);
};

/** How many kinds of harm the platform knows. */
const SCANNERS = 9;

/** What is open in the second engine, from `prompt-audit/config`. */
export const auditFindings = (config: Facts): readonly string[] =>
  linesOf('prompt audit', 'Prompt audit', [
    [
      config.effective_mode !== 'blocking',
      config.effective_mode === 'async_audit' ? 'only notes what it finds' : 'is off',
      'enabled, blocking_enabled: set both to true, and switch on risk_control_enabled',
    ],
    [
      config.blocking_latest_turn_only === true,
      'reads the latest turn only',
      'blocking_latest_turn_only: switch it off',
    ],
    [itemsOf(config.scanners).length < SCANNERS, 'blocks some kinds of harm only', 'scanners: switch all on'],
    ...scopeRows(config),
  ]);
