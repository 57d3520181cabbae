import { untilAborted } from '../../core/async.ts';
import { Fault } from '../../core/fault.ts';
import type { FindModelTraits } from '../../llm/model-traits.ts';
import type { GatewayFault } from '../errors.ts';
import { unseenReason } from '../judge/chain/fitness.ts';
import { judgesOf, type ModelAlias, takesImages } from '../models.ts';
import { type InputRules, type ParsedItem, parseModerationItems } from './request.ts';

const NO_VISION = 'This model judges no images: use an alias with "vision": true, or send only texts';

/** Reads the `input` of a moderation for an alias. Throws as `parseModerationItems` does, and `backend-error`. */
export type ReadInput = (input: unknown, alias: ModelAlias, signal: AbortSignal) => Promise<readonly ParsedItem[]>;

type InputReaderNeeds = {
  readonly findTraits: FindModelTraits;
  readonly rules: Pick<InputRules, 'limits' | 'unjudged'>;
};

/** Creates the reader of inputs. It asks the server what a model sees only where there is an image. */
export const createInputReader = ({ findTraits, rules }: InputReaderNeeds): ReadInput => {
  /** Why one of the alias's models that are sent images sees none, as its server says. Ollama leaves such an image out, and answers. */
  const findUnseen = async (alias: ModelAlias, signal: AbortSignal): Promise<string | undefined> => {
    for (const judge of judgesOf(alias).filter(({ vision }) => vision === true)) {
      const traits = await untilAborted(findTraits(judge.model), signal);
      const reason = 'it could not be asked whether its model sees images';
      if (traits === undefined) throw new Fault<GatewayFault>({ kind: 'backend-error', reason });
      const unseen = unseenReason(judge, traits);
      if (unseen !== undefined) return `This model judges no images: ${unseen}`;
    }
    return undefined;
  };

  return async (input, alias, signal) => {
    const blind = takesImages(alias) ? undefined : NO_VISION;
    const items = parseModerationItems(input, { ...rules, unseen: blind });
    if (items.every(({ image }) => image === undefined)) return items;
    const unseen = await findUnseen(alias, signal);
    return unseen === undefined ? items : parseModerationItems(input, { ...rules, unseen });
  };
};
