import { setNewest } from '../../core/bounded-map.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { JudgeUsage } from './state.ts';

/** Counts what the judge costs and how often it gives nothing usable, since the process started. */
export type UsageCounts = {
  readonly tokens: GatewayMetrics['tokens'];
  readonly unusable: (model: string, reason: string) => void;
  readonly read: () => JudgeUsage;
};

/** Reasons are few and our own; numbers in them would make each another one. */
const REASONS_LIMIT = 200;
const withoutNumbers = (reason: string): string => reason.replace(/\d+/g, 'n');

/** Creates counts that begin at zero. */
export const createUsageCounts = (): UsageCounts => {
  const tokens = new Map<string, JudgeUsage['tokens'][number]>();
  const unusable = new Map<string, JudgeUsage['unusable'][number]>();
  return {
    tokens(model, { prompt, output, cached = 0 }) {
      const sum = tokens.get(model) ?? { model, prompt: 0, completion: 0, cached: 0 };
      tokens.set(model, {
        model,
        prompt: sum.prompt + prompt,
        completion: sum.completion + output,
        cached: sum.cached + cached,
      });
    },
    unusable(model, given) {
      const reason = withoutNumbers(given);
      const key = `${model} ${reason}`;
      setNewest(unusable, [key, { model, reason, count: (unusable.get(key)?.count ?? 0) + 1 }], REASONS_LIMIT);
    },
    read: () => ({ tokens: [...tokens.values()], unusable: [...unusable.values()] }),
  };
};
