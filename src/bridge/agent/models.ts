import type { Clock } from '../../core/clock.ts';
import { Fault } from '../../core/fault.ts';
import type { AgentClient, AgentModel, AgentModels } from './types.ts';

/** The agent's models, as clients name them. */
export type ModelCatalog = {
  /** The default first, then in the agent's order. */
  readonly list: () => Promise<readonly AgentModel[]>;
  /**
   * The model that is meant: by `provider/key`, by a key that only one provider has, or the default when none is named.
   * Faults with `model-not-found`.
   */
  readonly find: (name: string | undefined) => Promise<AgentModel>;
  /** The one for titles and other small work, else the given one. */
  readonly small: (otherwise: AgentModel) => Promise<AgentModel>;
};

/** An agent reads its models at its start; one that is started anew is noticed after this time. */
const KEPT_MS = 30_000;
/** How many names an error may list. */
const NAMED = 20;

export const modelNameOf = ({ providerID, modelID }: Pick<AgentModel, 'providerID' | 'modelID'>): string =>
  `${providerID}/${modelID}`;

export const createModelCatalog = (
  agent: AgentClient,
  clock: Clock,
  defaultModel: string | undefined,
): ModelCatalog => {
  let kept: { readonly models: Promise<AgentModels>; readonly until: number } | undefined;
  // Shared by all who ask at once, so it must not end with one of them: the agent's calls have a limit of their own.
  const models = (): Promise<AgentModels> => {
    if (kept !== undefined && clock.now() < kept.until) return kept.models;
    const asked = { models: agent.models(new AbortController().signal), until: clock.now() + KEPT_MS };
    kept = asked;
    asked.models.catch(() => {
      if (kept === asked) kept = undefined;
    });
    return asked.models;
  };
  const named = (known: AgentModels, name: string): AgentModel | undefined => {
    const whole = known.models.find((model) => modelNameOf(model) === name);
    if (whole !== undefined) return whole;
    const byKey = known.models.filter(({ modelID }) => modelID === name);
    return byKey.length === 1 ? byKey[0] : undefined;
  };
  const defaultOf = (known: AgentModels): AgentModel | undefined => {
    const name = defaultModel ?? known.defaultModel;
    return (
      (name === undefined ? undefined : named(known, name)) ??
      (defaultModel === undefined ? known.models[0] : undefined)
    );
  };
  return {
    async list() {
      const known = await models();
      const first = defaultOf(known);
      return first === undefined ? known.models : [first, ...known.models.filter((model) => model !== first)];
    },
    async find(name) {
      const known = await models();
      const found = name === undefined ? defaultOf(known) : named(known, name);
      if (found !== undefined) return found;
      throw new Fault({ kind: 'model-not-found', asked: name, valid: known.models.slice(0, NAMED).map(modelNameOf) });
    },
    async small(otherwise) {
      const known = await models();
      return (known.smallModel === undefined ? undefined : named(known, known.smallModel)) ?? otherwise;
    },
  };
};
