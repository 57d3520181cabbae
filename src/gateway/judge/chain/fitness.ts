import { untilAborted } from '../../../core/async.ts';
import { Fault } from '../../../core/fault.ts';
import type { FindModelTraits } from '../../../llm/model-traits.ts';
import type { ModelTraits } from '../../../llm/types.ts';
import type { GatewayFault } from '../../errors.ts';
import { type JudgeKind, judgesOf, type ModelAlias } from '../../models.ts';

/** What an alias cannot do with its model. `isUseless`: it can give no verdict at all. Texts are our own. */
type Unfitness = { readonly reason: string; readonly isUseless: boolean };

const NO_SYSTEM =
  'its chat template drops the system message, which is the policy; give the model a template (TEMPLATE in its Modelfile)';
const NO_THINKING = 'the model does not think, and every call with "think" is refused; remove it from the alias';
const NO_VISION = 'the model sees no images, so that images are refused; remove "vision" from the alias';
const UNKNOWN_VISION =
  'the server does not tell whether the model sees images, so that they are refused; with "vision": "force" they are sent all the same';

/** Their chat templates hold all of their instructions. */
const WITHOUT_SYSTEM: readonly JudgeKind[] = ['qwen3guard', 'llama-guard'];

/** Families of models whose names tell how they are asked, as letters and digits. */
const FAMILIES: readonly (readonly [name: RegExp, judge: JudgeKind])[] = [
  [/qwen3guard/, 'qwen3guard'],
  [/llamaguard/, 'llama-guard'],
  [/shieldgemma/, 'shieldgemma'],
  [/granite\d*guardian/, 'granite-guardian'],
  [/gptoss/, 'prompt'],
];

/** A warning where the model's name says that it is asked in another form: each of its answers would be unusable. */
const otherForm = ({ model, judge }: ModelAlias): string | undefined => {
  const letters = model.toLowerCase().replace(/[^a-z\d]/g, '');
  const named = FAMILIES.find(([name]) => name.test(letters))?.[1];
  if (named === undefined || named === judge) return undefined;
  return `by its name the model is for "judge": "${named}", and not "${judge}", whose form it was not trained on: expect unusable answers; correct "judge" or "model" of the alias`;
};

/** Why images of this alias are not sent; undefined when the model sees them, or the operator says so. */
const unseenReason = ({ vision }: Pick<ModelAlias, 'vision'>, traits: ModelTraits): string | undefined => {
  if (vision !== true || traits.vision === true) return undefined;
  return traits.vision === false ? NO_VISION : UNKNOWN_VISION;
};

/** Why one of an alias's models that are sent images sees none, as its server says. Throws `backend-error` where that cannot be asked. */
export type FindUnseen = (alias: ModelAlias, signal: AbortSignal) => Promise<string | undefined>;

/** Creates the question to servers whether models see images. Ollama leaves out an image that its model does not see, and answers. */
export const createFindUnseen =
  (findTraits: FindModelTraits): FindUnseen =>
  async (alias, signal) => {
    for (const judge of judgesOf(alias).filter(({ vision }) => vision === true)) {
      const traits = await untilAborted(findTraits(judge.model), signal);
      const reason = 'it could not be asked whether its model sees images';
      if (traits === undefined) throw new Fault<GatewayFault>({ kind: 'backend-error', reason });
      const unseen = unseenReason(judge, traits);
      if (unseen !== undefined) return unseen;
    }
    return undefined;
  };

/** What is wrong between an alias and its model: by its name, and by what its server reports. What is not known is not wrong. */
export const findUnfitness = (alias: ModelAlias, traits: ModelTraits): readonly Unfitness[] => {
  const found: Unfitness[] = [];
  if (traits.dropsSystem === true && !WITHOUT_SYSTEM.includes(alias.judge))
    found.push({ reason: NO_SYSTEM, isUseless: true });
  if (traits.thinking === false && alias.think !== undefined && alias.think !== false)
    found.push({ reason: NO_THINKING, isUseless: true });
  const other = otherForm(alias);
  if (other !== undefined) found.push({ reason: other, isUseless: false });
  const unseen = unseenReason(alias, traits);
  if (unseen !== undefined) found.push({ reason: unseen, isUseless: false });
  return found;
};
