import { errorCode } from '../../adapter/node/error-code.ts';
import { ConfigError } from '../../core/config.ts';
import { type BoundedLines, openBoundedLines } from '../../gateway/adapter/bounded-lines.ts';
import type { GatewayConfig } from '../../gateway/settings/config.ts';

/** Opens the file for disagreements of the shadow; undefined where none is set. Throws a `ConfigError` when it cannot be written. */
export const openShadowFile = async (
  { shadow }: Pick<GatewayConfig, 'shadow'>,
  onLost: (code: string) => void,
): Promise<BoundedLines | undefined> => {
  if (shadow?.file === undefined) return undefined;
  const { path, limitBytes } = shadow.file;
  try {
    return await openBoundedLines({ path, limitBytes, onLost });
  } catch (error) {
    const code = errorCode(error) ?? 'unknown';
    throw new ConfigError([
      `MODERATION_SHADOW: file: expected the path of a file that this user alone may read and write, in a directory that exists (${code})`,
    ]);
  }
};
