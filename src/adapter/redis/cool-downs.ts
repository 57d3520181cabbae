import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { parseJson } from '../../core/json.ts';
import type { SharedState } from '../../gateway/app.ts';
import type { KeyChange, SharedCoolDown } from '../../llm/key-pool.ts';
import type { RedisLink } from './connection.ts';

const Ms = v.pipe(v.number(), v.finite(), v.minValue(0));

/** What one replica tells the others, and what stands in Redis while a rest runs. `restMs` 0 ends a rest. */
const RestMessage = v.object({
  from: v.string(),
  fingerprint: v.string(),
  reason: v.picklist(['auth', 'quota', 'burst']),
  restMs: Ms,
  strikes: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
});
type RestMessage = v.InferOutput<typeof RestMessage>;

/** Longer than any rest, so that the list of keys outlives every rest it leads to. */
const LIST_LIFETIME_MS = 7_200_000;

/** A rest in the store never becomes shorter by a shorter one. What the list is for is less than telling the others. */
const TELL = `
local rest = tonumber(ARGV[1])
if rest == 0 then
  redis.call('DEL', KEYS[1])
  redis.pcall('SREM', KEYS[2], ARGV[2])
elseif redis.call('PTTL', KEYS[1]) < rest then
  redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[1])
  redis.pcall('SADD', KEYS[2], ARGV[2])
  redis.pcall('PEXPIRE', KEYS[2], ${LIST_LIFETIME_MS})
end
return redis.call('PUBLISH', KEYS[2], ARGV[3])
`;

export type RedisCoolDownsNeeds = {
  readonly link: RedisLink;
  readonly clock: Clock;
  /** Names the channel, and in Redis' other space of names the list of keys that may rest. */
  readonly channel: string;
  readonly prefix: string;
  /** Tells this replica's messages from those of others. */
  readonly replica: string;
};

/** Cool-downs of backend keys in common. What could not be told is told when Redis is back, as far as it still holds. */
export const createRedisCoolDowns = (needs: RedisCoolDownsNeeds): SharedState['coolDowns'] => {
  const { link, clock, channel, prefix, replica } = needs;
  const adopters: ((rest: SharedCoolDown) => void)[] = [];
  const untold = new Map<string, { readonly change: KeyChange; readonly at: number }>();
  /** For each load under way, the keys of which there has been news since it began. */
  const loads = new Set<Set<string>>();
  const noteNews = (fingerprint: string): void => {
    for (const news of loads) news.add(fingerprint);
  };

  const tell = async (change: KeyChange): Promise<void> => {
    const { fingerprint, state, strikes, reason = 'burst' } = change;
    const restMs = state === 'active' ? 0 : Math.ceil(change.coolDownMs);
    const message: RestMessage = { from: replica, fingerprint, reason, restMs, strikes };
    const entry = { change, at: clock.now() };
    untold.set(fingerprint, entry);
    noteNews(fingerprint);
    const told = await link.ask((redis) =>
      redis.eval(TELL, 2, prefix + fingerprint, channel, restMs, fingerprint, JSON.stringify(message)),
    );
    // Meanwhile there may be newer news of this key, which has to stay.
    if (told !== undefined && untold.get(fingerprint) === entry) untold.delete(fingerprint);
  };

  const adopt = ({ fingerprint, reason, restMs, strikes }: Omit<RestMessage, 'from'>): void => {
    for (const take of adopters) take({ fingerprint, reason, coolDownMs: restMs, strikes });
  };

  const load = async (fingerprint: string, news: ReadonlySet<string>): Promise<void> => {
    const key = prefix + fingerprint;
    const [text, leftMs = 0] = await Promise.all([
      link.ask((redis) => redis.get(key)),
      link.ask((redis) => redis.pttl(key)),
    ]);
    const rest = typeof text === 'string' ? parseJson(RestMessage, text) : undefined;
    // Without a life time (-1) it is none of ours; its own rests this replica knows; and news may have told of its end.
    if (rest?.fingerprint !== fingerprint || rest.from === replica || leftMs <= 0 || news.has(fingerprint)) return;
    adopt({ ...rest, restMs: leftMs });
  };
  const loadAll = async (): Promise<void> => {
    const news = new Set<string>();
    loads.add(news);
    const fingerprints = (await link.ask((redis) => redis.smembers(channel))) ?? [];
    await Promise.all(fingerprints.map((fingerprint) => load(fingerprint, news)));
    loads.delete(news);
  };

  const tellUntold = async (): Promise<void> => {
    const now = clock.now();
    const still = [...untold.values()].flatMap(({ change, at }) => {
      const coolDownMs = change.coolDownMs - Math.max(0, now - at);
      return change.state === 'active' || coolDownMs > 0 ? [{ ...change, coolDownMs }] : [];
    });
    untold.clear();
    await Promise.all(still.map(tell));
  };

  link.onUp(async () => {
    await tellUntold();
    await loadAll();
  });
  link.onMessage((text) => {
    const rest = parseJson(RestMessage, text);
    if (rest === undefined || rest.from === replica) return;
    noteNews(rest.fingerprint);
    adopt(rest);
  });

  return {
    publish(change) {
      if (change.state === 'cooling' || change.state === 'active') tell(change);
    },
    subscribe(take) {
      adopters.push(take);
      if (link.isUp()) loadAll();
    },
  };
};
