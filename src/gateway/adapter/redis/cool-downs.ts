import * as v from 'valibot';
import type { Clock } from '../../../core/clock.ts';
import { parseJson } from '../../../core/json.ts';
import { COOL_DOWN_REASONS, type KeyChange, MAX_REST_MS, type SharedCoolDown } from '../../../llm/key-state.ts';
import type { SharedState } from '../../shared-state.ts';
import type { RedisConnection } from './connection.ts';

const Ms = v.pipe(v.number(), v.finite(), v.minValue(0));

/** The message that a replica publishes, and stores in Redis while the cool-down lasts. `restMs` 0 ends a cool-down. */
const RestMessage = v.object({
  from: v.string(),
  fingerprint: v.string(),
  reason: v.picklist(COOL_DOWN_REASONS),
  restMs: Ms,
  strikes: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
});
type RestMessage = v.InferOutput<typeof RestMessage>;

/** Longer than any cool-down, so that the set of keys outlives each of them. */
const LIST_LIFETIME_MS = MAX_REST_MS + 3_600_000;

/**
 * A shorter cool-down never replaces a longer one, and a rest by hand ends by hand alone. The set may fail (`pcall`): publishing
 * is more important.
 */
const PUBLISH = `
local rest = tonumber(ARGV[1])
if rest == 0 then
  local kept = redis.pcall('GET', KEYS[1])
  local isByHand = type(kept) == 'string' and string.find(kept, '"reason":"manual"', 1, true)
  if ARGV[4] == 'manual' or not isByHand then
    redis.call('DEL', KEYS[1])
    redis.pcall('SREM', KEYS[2], ARGV[2])
  end
elseif redis.call('PTTL', KEYS[1]) < rest then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[1])
  redis.pcall('SADD', KEYS[2], ARGV[2])
  redis.pcall('PEXPIRE', KEYS[2], ${LIST_LIFETIME_MS})
end
return redis.call('PUBLISH', KEYS[2], ARGV[3])
`;

type RedisCoolDownsParts = {
  readonly connection: RedisConnection;
  readonly clock: Clock;
  /** The name of the channel, and also of the key that holds the set of backend keys that may be cooling down. */
  readonly channel: string;
  readonly prefix: string;
  /** The id of this replica, to recognize its own messages. */
  readonly replica: string;
};

/** Shares cool-downs of backend keys. Changes that could not be published are published when Redis is back, if still valid. */
export const createRedisCoolDowns = (needs: RedisCoolDownsParts): SharedState['coolDowns'] => {
  const { connection, clock, channel, prefix, replica } = needs;
  const listeners: ((rest: SharedCoolDown) => void)[] = [];
  const unpublished = new Map<string, { readonly change: KeyChange; readonly at: number }>();
  /** For each running load, the keys that have changed since it began. */
  const loads = new Set<Set<string>>();
  const noteChange = (fingerprint: string): void => {
    for (const changed of loads) changed.add(fingerprint);
  };

  const publishChange = async (change: KeyChange): Promise<void> => {
    const { fingerprint, state, strikes, reason = 'burst' } = change;
    const restMs = state === 'active' ? 0 : Math.ceil(change.coolDownMs);
    const message: RestMessage = { from: replica, fingerprint, reason, restMs, strikes };
    const entry = { change, at: clock.now() };
    unpublished.set(fingerprint, entry);
    noteChange(fingerprint);
    const reply = await connection.run((redis) =>
      redis.eval(PUBLISH, 2, prefix + fingerprint, channel, restMs, fingerprint, JSON.stringify(message), reason),
    );
    // A newer change of this key may have been added meanwhile, and must stay.
    if (reply !== undefined && unpublished.get(fingerprint) === entry) unpublished.delete(fingerprint);
  };

  const adopt = ({ fingerprint, reason, restMs, strikes }: Omit<RestMessage, 'from'>): void => {
    for (const listener of listeners) listener({ fingerprint, reason, coolDownMs: restMs, strikes });
  };

  const load = async (fingerprint: string, changed: ReadonlySet<string>): Promise<void> => {
    const key = prefix + fingerprint;
    const [text, leftMs = 0] = await Promise.all([
      connection.run((redis) => redis.get(key)),
      connection.run((redis) => redis.pttl(key)),
    ]);
    const rest = typeof text === 'string' ? parseJson(RestMessage, text) : undefined;
    // A value without a lifetime (-1) is not ours, this replica knows its own cool-downs, and one may have ended meanwhile.
    if (rest?.fingerprint !== fingerprint || rest.from === replica || leftMs <= 0 || changed.has(fingerprint)) return;
    adopt({ ...rest, restMs: leftMs });
  };
  const loadAll = async (): Promise<void> => {
    const changed = new Set<string>();
    loads.add(changed);
    const fingerprints = (await connection.run((redis) => redis.smembers(channel))) ?? [];
    await Promise.all(fingerprints.map((fingerprint) => load(fingerprint, changed)));
    loads.delete(changed);
  };

  const publishUnpublished = async (): Promise<void> => {
    const now = clock.now();
    const still = [...unpublished.values()].flatMap(({ change, at }) => {
      const coolDownMs = change.coolDownMs - Math.max(0, now - at);
      return change.state === 'active' || coolDownMs > 0 ? [{ ...change, coolDownMs }] : [];
    });
    unpublished.clear();
    await Promise.all(still.map(publishChange));
  };

  connection.onUp(async () => {
    await publishUnpublished();
    await loadAll();
  });
  connection.onMessage((text) => {
    const rest = parseJson(RestMessage, text);
    if (rest === undefined || rest.from === replica) return;
    noteChange(rest.fingerprint);
    adopt(rest);
  });

  return {
    publish(change) {
      if (change.state === 'cooling' || change.state === 'active') publishChange(change);
    },
    subscribe(listener) {
      listeners.push(listener);
      if (connection.isUp()) loadAll();
    },
    // What is published while Redis is lost reaches the others when it is back.
    scope: () => (connection.isUp() ? 'replicas' : 'process'),
  };
};
