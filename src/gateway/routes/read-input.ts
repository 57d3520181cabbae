import type { FindUnseen } from '../judge/chain/fitness.ts';
import { type ModelAlias, takesImages } from '../models.ts';
import { type InputRules, type ParsedItem, parseModerationItems } from './request.ts';

const NO_VISION = 'This model judges no images: use an alias with "vision": true, or send only texts';

/** Reads the `input` of a moderation for an alias. Throws as `parseModerationItems` does, and `backend-error`. */
export type ReadInput = (input: unknown, alias: ModelAlias, signal: AbortSignal) => Promise<readonly ParsedItem[]>;

type InputReaderNeeds = {
  readonly findUnseen: FindUnseen;
  readonly rules: Pick<InputRules, 'limits' | 'unjudged'>;
};

/** Creates the reader of inputs. It asks the server what a model sees only where there is an image. */
export const createInputReader =
  ({ findUnseen, rules }: InputReaderNeeds): ReadInput =>
  async (input, alias, signal) => {
    const blind = takesImages(alias) ? undefined : NO_VISION;
    const items = parseModerationItems(input, { ...rules, unseen: blind });
    if (items.every(({ image }) => image === undefined)) return items;
    const reason = await findUnseen(alias, signal);
    const unseen = reason === undefined ? undefined : `This model judges no images: ${reason}`;
    return unseen === undefined ? items : parseModerationItems(input, { ...rules, unseen });
  };
