import { Fault } from '../../../../src/core/fault.ts';
import type { GatewayFault } from '../../../../src/gateway/errors.ts';
import type { PartialScores } from '../../../../src/gateway/judge/chain/decision.ts';
import type { Judge } from '../../../../src/gateway/judge/types.ts';
import { type JudgeKind, type ModelAlias, parseModelAliases } from '../../../../src/gateway/models.ts';
import { DEFAULT_POLICY } from '../../../../src/gateway/policy/policy.ts';

/** Three categories are enough. */
export const POLICY = { categories: DEFAULT_POLICY.categories.slice(0, 3) };
/** The names of those categories. */
export const NAMES = POLICY.categories.map(({ name }) => name);
/** What a judge covers, and what it says. */
export type Fake = { readonly covers: readonly boolean[]; readonly says: PartialScores | GatewayFault };

/** Judges by kind that say the same about every text, and the models that were asked, in order. */
export const fakes = (judges: Partial<Record<JudgeKind, Fake>>) => {
  const asked: string[] = [];
  const judgeOf = (kind: JudgeKind): Judge => {
    const { covers, says }: Fake = judges[kind] ?? { covers: [true, true, true], says: [0, 0, 0] };
    return {
      covers,
      async judge(_, { model }) {
        asked.push(model);
        await Promise.resolve();
        if ('kind' in says) throw new Fault<GatewayFault>(says);
        return { scores: says, scoreType: kind === 'prompt' ? 'judged' : 'probability' };
      },
    };
  };
  return { asked, judgeOf };
};

/** An alias of a table. */
export const aliasOf = (table: Readonly<Record<string, unknown>>, name = 'a'): ModelAlias => {
  const alias = parseModelAliases(JSON.stringify(table)).get(name);
  if (alias === undefined) throw new Error('Expected the alias');
  return alias;
};

/** An alias with two judges. */
export const PAIR = { a: { model: 'guard', judge: 'llama-guard', second: 'b' }, b: 'large' };
