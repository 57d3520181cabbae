import type { GuardModelKind } from '../../../../src/gateway/judge/guard-model/taxonomy.ts';
import { guarding, isGuardCall } from '../../harness/guard-face.ts';
import { GUARD_MODELS, guardReplying, isGuardModelCall } from '../../harness/guard-models.ts';
import { type Answer, gatewayOver, judging } from '../../harness/world.ts';

/** A gateway with a guard model first, and a chat model that finds nothing for what it does not cover. */
export const guardedBy = (
  kind: GuardModelKind,
  answer: Answer,
  variables: Readonly<Record<string, string>> = {},
  entry: Readonly<Record<string, unknown>> = {},
) => {
  const { model } = GUARD_MODELS[kind];
  const table = { guarded: { model, judge: kind, second: 'moderation-fast', guard: 'text', ...entry } };
  const world = gatewayOver(
    (sent) => {
      if (isGuardModelCall(sent)) return answer(sent);
      return isGuardCall(sent) ? guarding()(sent) : judging()(sent);
    },
    { variables: { MODERATION_MODELS: JSON.stringify(table), ...variables } },
  );
  return { ...world, guardCalls: () => world.calls.filter(isGuardModelCall) };
};

/** A guard model that says this. */
export const saying =
  (content: string, places?: readonly Readonly<Record<string, number>>[]): Answer =>
  (sent) =>
    guardReplying(sent, content, places);

/** A request to that gateway. */
export const ASK = { model: 'guarded', input: 'some text' };
